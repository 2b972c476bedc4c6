#pragma once
// ExampleSets: the two sets of texts of the dialog of a prior from examples: files, folders and traces that were added,
// what could not be read, and which of them are held out. Thread: the window thread.

#include <QGroupBox>
#include <QLabel>
#include <QPushButton>
#include <QTableWidget>

#include "widgets/exampleswork.h"
#include "widgets/numberfield.h"

namespace counterpoint::widgets {

class ExampleSets : public QGroupBox {
    Q_OBJECT
  public:
    ExampleSets(model::Document& document, ExamplesWork& work, QWidget* parent = nullptr);
    void refresh();
    /// How the texts were split, in words.
    std::string splitInWords() const;

  private:
    QPushButton* button(const char* name, const QString& text, const QString& help, std::function<void()> run);
    QLayout* makeTexts();
    QLayout* makeSplit();
    void ask(std::optional<bool> preferred, bool folder);
    void refreshSources();
    void refreshTraces();
    model::Document& m_document;
    ExamplesWork& m_work;
    bool m_filling = false;
    QTableWidget *m_sources, *m_traces;
    QLabel *m_problems, *m_split;
    NumberField *m_every, *m_seed;
    QPushButton* m_remove;
};

}  // namespace counterpoint::widgets
