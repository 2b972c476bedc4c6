#include "widgets/exampleparts.h"

#include "widgets/attempt.h"

namespace counterpoint::widgets {

QLabel* sentenceLabel(const char* name) {
    auto* label = new QLabel;
    label->setObjectName(QLatin1String(name));
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    return label;
}

QPushButton* dialogButton(model::Document& document, const char* about, const char* name, const QString& text,
                          const QString& help, std::function<void()> run) {
    auto* made = named(new QPushButton(text), name, help);
    made->setAutoDefault(false);
    QObject::connect(made, &QPushButton::clicked, made,
                     [&document, about, run = std::move(run)] { attempt(document, run, about); });
    return made;
}

}  // namespace counterpoint::widgets
