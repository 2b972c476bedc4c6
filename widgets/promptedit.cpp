#include "widgets/promptedit.h"

#include <QKeyEvent>
#include <QSignalBlocker>

#include "widgets/attempt.h"
#include "widgets/palette.h"

namespace counterpoint::widgets {

PromptEdit::PromptEdit(model::Document& document, QWidget* parent) : QPlainTextEdit(parent), m_document(document) {
    setObjectName(QStringLiteral("prompt"));
    setAccessibleName(tr("Prompt"));
    setPlaceholderText(tr("Write how the text begins; Ctrl+Enter decodes"));
    setUndoRedoEnabled(false);
    setTabChangesFocus(true);
    connect(this, &QPlainTextEdit::textChanged, this, &PromptEdit::write);
    connect(&m_document, &model::Document::sessionChanged, this, &PromptEdit::read);
    read();
}

QSize PromptEdit::sizeHint() const { return {400, 2 * fontMetrics().lineSpacing() + 2 * spacing::normal}; }
QSize PromptEdit::minimumSizeHint() const { return {120, fontMetrics().lineSpacing() + 2 * spacing::normal}; }

void PromptEdit::write() {
    attempt(m_document, [this] {
        model::Session session = m_document.session();
        session.prompt = toPlainText().toStdString();
        session.promptIds.reset();
        m_document.setSession(std::move(session), "prompt");
    });
}

void PromptEdit::read() {
    const QString prompt = QString::fromStdString(m_document.session().prompt);
    if (prompt == toPlainText()) return;
    const QSignalBlocker quiet(this);
    setPlainText(prompt);
}

bool PromptEdit::event(QEvent* event) {
    if (event->type() == QEvent::ShortcutOverride) {
        auto* key = static_cast<QKeyEvent*>(event);
        if (key->matches(QKeySequence::Undo) || key->matches(QKeySequence::Redo)) {
            event->ignore();
            return false;
        }
    }
    return QPlainTextEdit::event(event);
}

void PromptEdit::keyPressEvent(QKeyEvent* event) {
    const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (enter && event->modifiers().testFlag(Qt::ControlModifier)) return Q_EMIT decodeRequested();
    if (event->matches(QKeySequence::Undo) || event->matches(QKeySequence::Redo)) return event->ignore();
    QPlainTextEdit::keyPressEvent(event);
}

void PromptEdit::focusOutEvent(QFocusEvent* event) {
    m_document.endMerge();
    QPlainTextEdit::focusOutEvent(event);
}

}  // namespace counterpoint::widgets
