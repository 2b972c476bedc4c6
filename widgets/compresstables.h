#pragma once
// The tables of the compression dialog: the levels, and each prior under one bit. Thread: the window thread.

#include <span>

#include "model/bankcompress.h"
#include "widgets/numbertable.h"

namespace counterpoint::widgets {

/// Levels 0 to 3, as high as they are; null: nothing is known yet.
void fillLevels(QTableWidget& table, const model::CompressionReport* report);
/// By column `sortBy` of the numbers (-1: as they stand); the first 500.
void fillPriors(QTableWidget& table, std::span<const model::PriorOneBit> priors, int sortBy, bool descending);

}  // namespace counterpoint::widgets
