#include "widgets/routingbinding.h"

#include <QRegularExpression>
#include <QStringList>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "compute/dial.h"
#include "compute/error.h"
#include "widgets/palette.h"

namespace counterpoint::widgets {
namespace {

using compute::DialKind;
using compute::DialSpec;
using compute::OrderedJson;

constexpr const char* kSentences = "sentences";
enum GroupKind { Windows, Sentences, List };

const OrderedJson& memberOf(const OrderedJson& json, const std::string& key) {
    static const OrderedJson kNull;
    if (!json.is_object()) return kNull;
    const auto found = json.find(key);
    return found == json.end() ? kNull : *found;
}

QStringList choicesOf(const DialSpec& spec) {
    return QString::fromUtf8(spec.choices.data(), static_cast<qsizetype>(spec.choices.size())).split(QLatin1Char('|'));
}

OrderedJson& objectOf(OrderedJson& json) {
    if (!json.is_object()) json = OrderedJson::object();
    return json;
}

QStringList parts(const QString& list) {
    static const QRegularExpression kBetween(QStringLiteral("[\\s,;]+"));
    return list.split(kBetween, Qt::SkipEmptyParts);
}

std::int64_t wholeOf(const QString& text, const char* what, const char* expected) {
    bool ok = false;
    const int value = text.toInt(&ok);
    if (!ok || value < 0)
        throw compute::Error({.where = {},
                              .what = "'" + text.toStdString() + "' is no " + what,
                              .expected = expected,
                              .found = {},
                              .advice = {},
                              .details = {}});
    return value;
}

}  // namespace

DialValue routingValue(const OrderedJson& routing, std::string_view id) {
    const DialSpec& spec = compute::routingDial(id);
    const OrderedJson& written = memberOf(routing, std::string(id));
    DialValue value{.real = spec.initial, .integer = static_cast<std::uint64_t>(spec.initial)};
    if (written.is_null()) return value;
    if (id == "groups") {
        value.real = written == kSentences ? Sentences : List;
    } else if (spec.kind == DialKind::Choice) {
        const auto at = written.is_string()
                            ? choicesOf(spec).indexOf(QString::fromStdString(written.get<std::string>()))
                            : 1;  // a list of pairs
        value.real = static_cast<double>(std::max<qsizetype>(0, at));
    } else if (written.is_number()) {
        value.real = written.get<double>();
        if (written.is_number_integer()) value.integer = written.get<std::uint64_t>();
    }
    return value;
}

void setRoutingValue(OrderedJson& routing, std::string_view id, const DialValue& value) {
    const DialSpec& spec = compute::routingDial(id);
    const bool whole = spec.kind == DialKind::Integer;
    compute::requireInBounds(spec, whole ? static_cast<double>(value.integer) : value.real);
    OrderedJson& written = objectOf(routing)[std::string(id)];
    const int choice = static_cast<int>(value.real);
    if (id == "groups")
        written = choice == Windows     ? OrderedJson()
                  : choice == Sentences ? OrderedJson(kSentences)
                  : written.is_array()  ? written
                                        : OrderedJson::array({0});
    else if (id == "pairs")
        written = choice == 0 ? OrderedJson() : written.is_array() ? written : OrderedJson::parse("[[0,1]]");
    else if (spec.kind == DialKind::Choice)
        written = choicesOf(spec).at(choice).toStdString();
    else
        written = whole ? OrderedJson(value.integer) : OrderedJson(value.real);
}

QString groupList(const OrderedJson& routing) {
    QStringList starts;
    if (const OrderedJson& groups = memberOf(routing, "groups"); groups.is_array())
        for (const OrderedJson& start : groups) starts << QString::fromStdString(start.dump());
    return starts.join(QStringLiteral(", "));
}

void setGroupList(OrderedJson& routing, const QString& list) {
    constexpr const char* kExpected = "the first positions of the groups in ascending order, such as 0, 12, 40";
    OrderedJson starts = OrderedJson::array();
    for (const QString& part : parts(list)) starts.push_back(wholeOf(part, "first position of a group", kExpected));
    objectOf(routing)["groups"] = std::move(starts);
}

QString pairList(const OrderedJson& routing) {
    QStringList pairs;
    if (const OrderedJson& all = memberOf(routing, "pairs"); all.is_array())
        for (const OrderedJson& pair : all)
            if (pair.is_array() && pair.size() == 2)
                pairs << QString::fromStdString(pair[0].dump() + "-" + pair[1].dump());
    return pairs.join(QStringLiteral(", "));
}

void setPairList(OrderedJson& routing, const QString& list) {
    constexpr const char* kExpected = "pairs of groups such as 0-1, 2-5";
    OrderedJson pairs = OrderedJson::array();
    QString tight = list;
    tight.replace(QRegularExpression(QStringLiteral("\\s*[-–−]\\s*")), QStringLiteral("-"));
    for (const QString& part : parts(tight)) {
        const QStringList both = part.split(QLatin1Char('-'));
        if (both.size() != 2) (void)wholeOf(part + QLatin1Char(' '), "pair of groups", kExpected);
        pairs.push_back({wholeOf(both.value(0), "group", kExpected), wholeOf(both.value(1), "group", kExpected)});
    }
    objectOf(routing)["pairs"] = std::move(pairs);
}

QString routingText(const OrderedJson& routing) {
    QStringList texts;
    for (const auto& [key, value] : routing.items()) {
        if (value.is_null()) continue;
        const QString text = value.is_number_float()
                                 ? formatExact(value.get<double>())
                                 : QString::fromStdString(value.is_string() ? value.get<std::string>() : value.dump());
        texts << (key == "mode" ? text : QString::fromStdString(key) + QLatin1Char(' ') + text);
    }
    return texts.join(QStringLiteral(", "));
}

double expertBias(const OrderedJson& routing, std::int64_t layer, std::int64_t expert) {
    const OrderedJson& own = memberOf(memberOf(routing, "experts"), std::to_string(layer));
    const OrderedJson& off = memberOf(own, "off");
    if (off.is_array() && std::find(off.begin(), off.end(), OrderedJson(expert)) != off.end())
        return -std::numeric_limits<double>::infinity();
    const OrderedJson& bias = memberOf(memberOf(own, "bias"), std::to_string(expert));
    return bias.is_number() ? bias.get<double>() : 0;
}

void setExpertBias(OrderedJson& routing, std::int64_t layer, std::int64_t expert, double bias) {
    const std::string inLayer = std::to_string(layer), name = std::to_string(expert);
    OrderedJson& layers = objectOf(objectOf(routing)["experts"]);
    OrderedJson& own = objectOf(layers[inLayer]);
    std::vector<std::int64_t> off;
    if (const OrderedJson& before = memberOf(own, "off"); before.is_array())
        for (const OrderedJson& one : before)
            if (one != OrderedJson(expert)) off.push_back(one.get<std::int64_t>());
    OrderedJson biases = memberOf(own, "bias");
    objectOf(biases).erase(name);
    if (std::isinf(bias))
        off.push_back(expert);
    else if (bias != 0)
        biases[name] = bias;
    std::sort(off.begin(), off.end());
    const auto put = [&own](const char* key, OrderedJson value) {
        if (value.empty())
            own.erase(key);
        else
            own[key] = std::move(value);
    };
    put("off", off);
    put("bias", std::move(biases));
    if (own.empty()) layers.erase(inLayer);
    if (layers.empty()) routing.erase("experts");
}

}  // namespace counterpoint::widgets
