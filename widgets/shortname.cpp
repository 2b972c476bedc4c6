#include "widgets/shortname.h"

#include "compute/printable.h"

namespace counterpoint::widgets {

QString told(const std::string& text) { return words(compute::printable(text)); }

QString shortened(const QString& name, int letters) {
    if (name.size() <= letters) return name;
    qsizetype head = (letters - 1) * 2 / 3, tail = letters - 1 - head;
    if (name.at(head - 1).isHighSurrogate()) --head;  // no half of a letter
    if (name.at(name.size() - tail).isLowSurrogate()) --tail;
    return name.left(head) + QChar(0x2026) + name.right(tail);
}

QString shortened(const std::string& name, int letters) { return shortened(told(name), letters); }

QString breakable(const QString& text) {
    constexpr int kLongestWord = 16;
    QString out;
    int word = 0;
    for (const QChar c : text) {
        word = c.isSpace() ? 0 : word + 1;
        if (word > kLongestWord && !c.isLowSurrogate()) {
            out += QChar(0x200B);
            word = 1;
        }
        out += c;
    }
    return out;
}

}  // namespace counterpoint::widgets
