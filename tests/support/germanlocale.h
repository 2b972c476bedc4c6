#pragma once
// A locale with decimal commas for tests (HAZARDS A1): the system's de_DE.UTF-8, else one made in a scratch folder.

#include <QProcess>
#include <QTemporaryDir>

#include <clocale>

namespace counterpoint::tests {

/// The process speaks German while this lives; `on` is false where no such locale can be had.
class GermanLocale {
  public:
    GermanLocale() {
        on = std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
        if (!on && m_made.isValid()) {
            QProcess::execute(QStringLiteral("localedef"), {QStringLiteral("-i"), QStringLiteral("de_DE"), QStringLiteral("-f"),
                                                            QStringLiteral("UTF-8"), m_made.filePath(QStringLiteral("de_DE.UTF-8"))});
            qputenv("LOCPATH", m_made.path().toLocal8Bit());
            on = std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
        }
        on = on && std::localeconv()->decimal_point[0] == ',';
    }
    ~GermanLocale() {
        std::setlocale(LC_ALL, "C");
        qunsetenv("LOCPATH");
    }
    GermanLocale(const GermanLocale&) = delete;
    GermanLocale& operator=(const GermanLocale&) = delete;
    bool on = false;

  private:
    QTemporaryDir m_made;
};

}  // namespace counterpoint::tests
