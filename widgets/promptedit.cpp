#include "widgets/promptedit.h"

#include <QAbstractTextDocumentLayout>
#include <QKeyEvent>
#include <QSignalBlocker>
#include <QTextBlock>
#include <algorithm>
#include <cmath>
#include <utility>

#include "widgets/attempt.h"
#include "widgets/palette.h"

namespace counterpoint::widgets {
namespace {

constexpr int kSeenLines = 3, kMostLines = 6;  // never fewer where there are as many; grows by itself up to
constexpr int kFrame = 2 * 3;                  // border and padding of the style sheet

/// SPEC.md 2: scoring goes over a recording's own tokens, unless the session names ids.
bool scoresRecording(const model::Session& session) {
    if (session.mode != model::Mode::Score || session.promptIds) return false;
    for (std::size_t i = 0; i < session.sourceCount(); ++i)
        if (session.uses(i) && session.resolve(session.source(i).path).extension() == ".safetensors") return true;
    return false;
}

QString idsText(const std::vector<compute::TokenId>& ids) {
    constexpr std::size_t kShown = 200;
    QStringList words;
    for (std::size_t i = 0; i < std::min(ids.size(), kShown); ++i) words << QString::number(ids[i]);
    if (ids.size() > kShown) words << QStringLiteral("…");
    return words.join(QLatin1Char(' '));
}

}  // namespace

PromptEdit::PromptEdit(model::Document& document, QWidget* parent) : QPlainTextEdit(parent), m_document(document) {
    setObjectName(QStringLiteral("prompt"));
    setAccessibleName(tr("Prompt"));
    setUndoRedoEnabled(false);
    setTabChangesFocus(true);
    connect(this, &QPlainTextEdit::textChanged, this, &PromptEdit::write);
    connect(&m_document, &model::Document::sessionChanged, this, &PromptEdit::read);
    connect(&m_document, &model::Document::traceSelected, this, &PromptEdit::read);
    connect(QPlainTextEdit::document()->documentLayout(), &QAbstractTextDocumentLayout::documentSizeChanged, this,
            [this] {
                if (std::exchange(m_lines, lines()) != lines()) updateGeometry();
            });
    read();
}

/// Of the text as it is broken here.
int PromptEdit::lines() const { return std::max(1, static_cast<int>(document()->size().height())); }

int PromptEdit::heightOf(int lines) const {
    const QTextBlock first = QPlainTextEdit::document()->firstBlock();
    const int broken = std::max(1, first.lineCount());
    const double margin = QPlainTextEdit::document()->documentMargin();
    // The last block has a margin of its own below it, without which a bar to scroll by appears.
    const double tall = blockBoundingRect(first).height() - (first.next().isValid() ? 0 : margin);
    const double line = std::max(1.0 * fontMetrics().height(), tall / broken);
    return static_cast<int>(std::ceil(lines * line + 3 * margin)) + kFrame;
}

QSize PromptEdit::sizeHint() const { return {400, heightOf(std::clamp(lines(), 1, kMostLines))}; }
QSize PromptEdit::minimumSizeHint() const { return {120, heightOf(std::clamp(lines(), 1, kSeenLines))}; }

void PromptEdit::write() {
    attempt(m_document, [this] {
        model::Session session = m_document.session();
        session.prompt = toPlainText().toStdString();
        session.promptIds.reset();
        m_document.setSession(std::move(session), "prompt");
    });
}

void PromptEdit::read() {
    const model::Session& session = m_document.session();
    const bool recorded = scoresRecording(session);
    QString prompt = QString::fromStdString(session.prompt), why = tr("Write how the text begins; Ctrl+Enter decodes");
    if (recorded) {
        const model::Trace* trace = m_document.trace();
        prompt.clear();
        if (trace != nullptr && trace->decodedWith.mode == model::Mode::Score)
            prompt = trace->tokenizer != nullptr ? QString::fromStdString(trace->text()) : idsText(trace->tokens);
        why = tr("The text of the recording is scored as it is; it stands here then");
    } else if (session.promptIds) {
        prompt.clear();
        why = tr("The prompt of this session is %1 ids: %2. What is written here takes their place.")
                  .arg(session.promptIds->size())
                  .arg(idsText(*session.promptIds));
    }
    setReadOnly(recorded);
    setPlaceholderText(why);
    setToolTip(recorded ? tr("The recording's own text: it is scored and cannot be edited") : QString());
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
