#pragma once
// ValueSlider: a slider and a number field for one value. A drag gives moved() at every place it passes and one
// settled() at its end; a key, a click on the groove and a typed number give moved() and settled() at once. Wheel only
// with focus, so that scrolling a panel moves no dial. Thread: the window thread.

#include <QSlider>
#include <QWidget>
#include <cstdint>

#include "widgets/numberfield.h"

namespace counterpoint::widgets {

struct ValueRange {
    double minimum = 0, maximum = 1, step = 0.01;  ///< what the slider spans
    double fieldMinimum = 0, fieldMaximum = 1;     ///< what the field takes
    bool integer = false, logarithmic = false;
    bool slider = true;  ///< false: the field alone (a seed)
};

class ValueSlider : public QWidget {
    Q_OBJECT
  public:
    ValueSlider(const QString& name, const ValueRange& range, QWidget* parent = nullptr);
    double value() const { return m_field->value(); }
    std::uint64_t integer() const { return m_field->integer(); }
    void setValue(double value);
    void setInteger(std::uint64_t value);
    QSlider* slider() { return m_slider; }
    NumberField* field() { return m_field; }

  Q_SIGNALS:
    void moved();
    void settled();
    void refused(const QString& reason);

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    int toTick(double value) const;
    double toValue(int tick) const;
    void place();
    ValueRange m_range;
    QSlider* m_slider = nullptr;
    NumberField* m_field;
};

}  // namespace counterpoint::widgets
