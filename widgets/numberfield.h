#pragma once
// NumberField: a line edit for one number, read and written in the widget's own locale ("0,75" in German is 0.75);
// files never see its text (HAZARDS A1). Text that is no number, NaN or outside the bounds is refused with a reason and
// the old value comes back. Integers are exact to 64 bits. Thread: the window thread.

#include <QLineEdit>
#include <cstdint>

namespace counterpoint::widgets {

class NumberField : public QLineEdit {
    Q_OBJECT
  public:
    NumberField(double minimum, double maximum, bool integer, QWidget* parent = nullptr);
    double value() const { return m_value; }
    std::uint64_t integer() const { return m_integer; }
    void setValue(double value);           ///< no signal
    void setInteger(std::uint64_t value);  ///< no signal
    /// The text of a value in this field's locale.
    QString textOf(double value) const;

  Q_SIGNALS:
    void edited();                        ///< a person gave a new value
    void refused(const QString& reason);  ///< one sentence

  protected:
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    void commit();
    void write();
    QString read(const QString& text);  ///< empty: taken; else the reason
    double m_minimum, m_maximum, m_value = 0;
    bool m_isInteger;
    std::uint64_t m_integer = 0;
};

}  // namespace counterpoint::widgets
