#pragma once
// PromptEdit: the session's prompt, from one line to several as the text has them. Typing is one undo step until the
// focus leaves; undo and redo are the document's, not the editor's own. Ctrl+Enter asks for a decode. Where a recording
// is scored, its own text stands here and cannot be edited; where the session names ids, a word says so.
// Thread: the window thread.

#include <QPlainTextEdit>

#include "model/document.h"

namespace counterpoint::widgets {

class PromptEdit : public QPlainTextEdit {
    Q_OBJECT
  public:
    explicit PromptEdit(model::Document& document, QWidget* parent = nullptr);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

  Q_SIGNALS:
    void decodeRequested();

  protected:
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

  private:
    void write();
    void read();
    int lines() const;
    int heightOf(int lines) const;
    model::Document& m_document;
    int m_lines = 1;
};

}  // namespace counterpoint::widgets
