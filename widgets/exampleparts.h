#pragma once
// What the dialogs of priors (from examples, compression) have in common: how a sentence, a field and a button are
// made. Thread: the window thread.

#include <QLabel>
#include <QPushButton>
#include <functional>

#include "model/document.h"

namespace counterpoint::widgets {

/// A sentence that wraps.
QLabel* sentenceLabel(const char* name);

template <class Field>
Field* named(Field* field, const char* name, const QString& help) {
    field->setObjectName(QLatin1String(name));
    field->setToolTip(help);
    field->setAccessibleName(help);
    return field;
}

/// What `run` throws becomes a notice about the operation `about`.
QPushButton* dialogButton(model::Document& document, const char* about, const char* name, const QString& text,
                          const QString& help, std::function<void()> run);

}  // namespace counterpoint::widgets
