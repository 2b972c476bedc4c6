#pragma once
// A token of the distribution on its way to a prior, as drag and drop carries it. Thread: the window thread.

#include <QMimeData>
#include <QString>
#include <optional>

#include "compute/step.h"

namespace counterpoint::widgets {

constexpr const char* kTokenMime = "application/x-counterpoint-token";

inline QMimeData* tokenMime(compute::TokenId token, const QString& label) {
    auto* data = new QMimeData;
    data->setData(QLatin1String(kTokenMime), QByteArray::number(token));
    data->setText(label);
    return data;
}

inline std::optional<compute::TokenId> tokenOf(const QMimeData* data) {
    bool ok = false;
    const int token = data->data(QLatin1String(kTokenMime)).toInt(&ok);
    return ok && token >= 0 ? std::optional(token) : std::nullopt;
}

}  // namespace counterpoint::widgets
