#pragma once
// TextPanel: the prompt, the tokens, and between them one line of choices: the trace (branches as a tree with their
// dials), the measure that colours the tokens with its scale, and what is exact and what is teacher-forced (R3).
// Thread: the window thread.

#include <QBoxLayout>
#include <QComboBox>
#include <QLabel>
#include <QWidget>

#include "widgets/promptedit.h"
#include "widgets/tokenstrip.h"

namespace counterpoint::widgets {

class ScaleBar;

class TextPanel : public QWidget {
    Q_OBJECT
  public:
    explicit TextPanel(model::Document& document, QWidget* parent = nullptr);
    PromptEdit& prompt() { return *m_prompt; }
    TokenStrip& strip() { return *m_strip; }

  protected:
    void resizeEvent(QResizeEvent* event) override;

  private:
    void fitBar();
    void readTraces();
    void readView();
    void readFlip();
    model::Document& m_document;
    PromptEdit* m_prompt;
    TokenStrip* m_strip;
    QComboBox *m_traces, *m_measure;
    ScaleBar* m_scale;
    QBoxLayout* m_bar;
    QLabel* m_flip;
};

}  // namespace counterpoint::widgets
