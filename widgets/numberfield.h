#pragma once
// NumberField: a line edit for one number, written with a dot and a real minus sign in every locale, as tables and
// plots are; a comma is read as the decimal mark too ("0,75" is 0.75, HAZARDS A1), but not before three digits, where
// it may mean thousands. Text that is no number, NaN or outside the bounds is refused with a reason and the old value
// comes back. A value outside the bounds that is there already (a session may hold any weight) is shown as it is: from
// 1e6 on and below 1e-4 in scientific form. What shows is the value or ends in "…", or has the decimals it was asked for:
// the other digits are told on hover and stand there while it is edited. Integers are exact to 64 bits. Thread: the window thread.

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
    /// How many decimals show at most while it is not edited (as formatNumber shows them); −1: all.
    void setDecimals(int decimals);
    /// At least two decimals, else as many as give the value back; "1e300", "1e−5".
    static QString textOf(double value);
    /// What a person typed as a number within bounds; empty: `value` has it, else the reason why not.
    static QString readNumber(const QString& text, double minimum, double maximum, double& value);

  Q_SIGNALS:
    void edited();                        ///< a person gave a new value
    void refused(const QString& reason);  ///< one sentence

  protected:
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    void commit();
    void write();
    QString shown(const QString& whole) const;
    QString read(const QString& text);  ///< empty: taken; else the reason
    double m_minimum, m_maximum, m_value = 0;
    bool m_isInteger;
    int m_decimals = -1;
    std::uint64_t m_integer = 0;
};

}  // namespace counterpoint::widgets
