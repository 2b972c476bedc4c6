#include "model/figure.h"

#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "compute/error.h"

namespace counterpoint::model {
namespace {

using compute::OrderedJson;

constexpr std::array<std::pair<SeriesKind, const char*>, 6> kKinds = {{{SeriesKind::Line, "line"},
                                                                       {SeriesKind::Bars, "bars"},
                                                                       {SeriesKind::Band, "band"},
                                                                       {SeriesKind::Steps, "steps"},
                                                                       {SeriesKind::Waterfall, "waterfall"},
                                                                       {SeriesKind::Points, "points"}}};

template <class Real>
std::string numberText(Real value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    std::array<char, 40> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    return {buffer.data(), end};
}

std::string field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

bool needsInterval(const Series& s) { return s.kind == SeriesKind::Band || s.kind == SeriesKind::Waterfall; }
bool hasInterval(const Series& s) { return needsInterval(s) || !s.low.empty(); }

std::string valueAt(const std::vector<double>& values, std::size_t i) {
    return i < values.size() ? numberText(values[i]) : std::string();
}

OrderedJson numbers(const std::vector<double>& values) {
    OrderedJson list = OrderedJson::array();
    for (const double v : values) list.push_back(compute::number(v));
    return list;
}

OrderedJson axisJson(const Axis& axis) {
    return OrderedJson{{"title", axis.title}, {"logarithmic", axis.logarithmic}, {"categories", axis.categories}};
}

[[noreturn]] void wrong(const std::string& where, const std::string& what, const std::string& expected,
                        const std::string& found) {
    throw compute::Error(
        {.where = where, .what = what, .expected = expected, .found = found, .advice = {}, .details = {}});
}

/// One key of an object, read strictly: a wrong type names the key.
struct Reader {
    const OrderedJson& object;
    const std::string& where;

    const OrderedJson* find(const char* key) const {
        const auto it = object.find(key);
        return it == object.end() ? nullptr : &*it;
    }
    void text(const char* key, std::string& out) const {
        if (const OrderedJson* v = find(key)) {
            if (!v->is_string()) wrong(where, std::string("'") + key + "' is not a text", "a string", v->type_name());
            out = v->get<std::string>();
        }
    }
    void flag(const char* key, bool& out) const {
        if (const OrderedJson* v = find(key)) {
            if (!v->is_boolean())
                wrong(where, std::string("'") + key + "' is not a switch", "true or false", v->type_name());
            out = v->get<bool>();
        }
    }
    void real(const char* key, double& out) const {
        if (const OrderedJson* v = find(key)) out = compute::toNumber(*v, where + ", '" + key + "'");
    }
    void integer(const char* key, int& out) const {
        if (const OrderedJson* v = find(key)) {
            if (!v->is_number_integer())
                wrong(where, std::string("'") + key + "' is not a whole number", "an integer", v->type_name());
            out = v->get<int>();
        }
    }
    template <class T, class Convert>
    void list(const char* key, std::vector<T>& out, Convert convert) const {
        const OrderedJson* v = find(key);
        if (v == nullptr) return;
        if (!v->is_array()) wrong(where, std::string("'") + key + "' is not a list", "an array", v->type_name());
        out.clear();
        for (const OrderedJson& entry : *v) out.push_back(convert(entry, where + ", '" + key + "'"));
    }
};

bool toFlag(const OrderedJson& v, const std::string& where) {
    if (!v.is_boolean()) wrong(where, "an entry is not a switch", "true or false", v.type_name());
    return v.get<bool>();
}
int toInteger(const OrderedJson& v, const std::string& where) {
    if (!v.is_number_integer()) wrong(where, "an entry is not a whole number", "an integer", v.type_name());
    return v.get<int>();
}
std::string toText(const OrderedJson& v, const std::string& where) {
    if (!v.is_string()) wrong(where, "an entry is not a text", "a string", v.type_name());
    return v.get<std::string>();
}

void readAxis(const Reader& parent, const char* key, Axis& axis) {
    const OrderedJson* v = parent.find(key);
    if (v == nullptr) return;
    const std::string where = parent.where + ", '" + key + "'";
    if (!v->is_object()) wrong(where, "it is not an axis", "an object", v->type_name());
    const Reader reader{*v, where};
    reader.text("title", axis.title);
    reader.flag("logarithmic", axis.logarithmic);
    reader.list("categories", axis.categories, toText);
}

Series readSeries(const OrderedJson& json, const std::string& where) {
    if (!json.is_object()) wrong(where, "an entry is not a series", "an object", json.type_name());
    const Reader reader{json, where};
    Series s;
    std::string kind = "line";
    reader.text("name", s.name);
    reader.text("kind", kind);
    bool known = false;
    for (const auto& [value, name] : kKinds)
        if (kind == name) {
            s.kind = value;
            known = true;
        }
    if (!known) wrong(where, "the kind of a series is not known", "line, bars, band, steps or waterfall", kind);
    reader.integer("colour", s.colour);
    reader.flag("second_axis", s.secondAxis);
    reader.list("x", s.x, compute::toNumber);
    reader.list("y", s.y, compute::toNumber);
    reader.list("low", s.low, compute::toNumber);
    reader.list("high", s.high, compute::toNumber);
    reader.list("grey", s.grey, toFlag);
    reader.list("point_colours", s.pointColours, toInteger);
    const auto require = [&](const char* key, std::size_t size, bool mayBeEmpty) {
        if (size == s.x.size() || (mayBeEmpty && size == 0)) return;
        wrong(where, std::string("'") + key + "' does not fit 'x'", std::to_string(s.x.size()) + " values",
              std::to_string(size));
    };
    require("y", s.y.size(), false);
    require("low", s.low.size(), !needsInterval(s) && s.high.empty());
    require("high", s.high.size(), !needsInterval(s) && s.low.empty());
    require("grey", s.grey.size(), true);
    require("point_colours", s.pointColours.size(), true);
    return s;
}

std::size_t toSize(const Reader& reader, const char* key) {
    constexpr int kMost = 1 << 24;
    int size = 0;
    reader.integer(key, size);
    if (size < 0 || size > kMost)
        wrong(reader.where, std::string("'") + key + "' is no number of rows or columns",
              "0 to " + std::to_string(kMost), std::to_string(size));
    return static_cast<std::size_t>(size);
}

float toFloat(const OrderedJson& v, const std::string& where) {
    return static_cast<float>(compute::toNumber(v, where));
}

std::optional<Heat> readHeat(const Reader& parent) {
    const OrderedJson* v = parent.find("heat");
    if (v == nullptr || v->is_null()) return {};
    const std::string where = parent.where + ", 'heat'";
    if (!v->is_object()) wrong(where, "it is not a heat map", "an object", v->type_name());
    const Reader reader{*v, where};
    Heat heat;
    heat.rows = toSize(reader, "rows");
    heat.columns = toSize(reader, "columns");
    reader.list("values", heat.values, toFloat);
    reader.list("row_names", heat.rowNames, toText);
    reader.real("first_x", heat.firstX);
    reader.real("low", heat.low);
    reader.real("high", heat.high);
    reader.flag("diverging", heat.diverging);
    reader.text("unit", heat.unit);
    reader.list("marked", heat.marked, toFlag);
    const auto require = [&](const char* key, std::size_t size, std::size_t wanted, bool mayBeEmpty) {
        if (size == wanted || (mayBeEmpty && size == 0)) return;
        wrong(where, std::string("'") + key + "' does not fit 'rows' and 'columns'", std::to_string(wanted) + " values",
              std::to_string(size));
    };
    require("values", heat.values.size(), heat.rows * heat.columns, false);
    require("row_names", heat.rowNames.size(), heat.rows, true);
    require("marked", heat.marked.size(), heat.rows * heat.columns, true);
    return heat;
}

OrderedJson heatJson(const Heat& heat) {
    OrderedJson values = OrderedJson::array();
    for (const float v : heat.values) values.push_back(compute::number(static_cast<double>(v)));
    OrderedJson json{{"rows", heat.rows}, {"columns", heat.columns}, {"values", std::move(values)}};
    if (!heat.rowNames.empty()) json["row_names"] = heat.rowNames;
    json["first_x"] = compute::number(heat.firstX);
    json["low"] = compute::number(heat.low);
    json["high"] = compute::number(heat.high);
    json["diverging"] = heat.diverging;
    json["unit"] = heat.unit;
    if (!heat.marked.empty()) json["marked"] = heat.marked;
    return json;
}

/// The fields of a heat map at x, or their titles.
std::string heatTitles(const Heat& heat) {
    std::string csv;
    for (std::size_t r = 0; r < heat.rows; ++r) {
        const std::string name = r < heat.rowNames.size() ? heat.rowNames[r] : std::to_string(r);
        csv += ',' + field(name);
        if (!heat.marked.empty()) csv += ',' + field(name + " marked");
    }
    return csv;
}
std::string heatFields(const Heat& heat, double x) {
    const double column = x - heat.firstX;
    const bool within = column >= 0 && column < static_cast<double>(heat.columns) && column == std::floor(column);
    std::string csv;
    for (std::size_t r = 0; r < heat.rows; ++r) {
        const std::size_t at = r * heat.columns + (within ? static_cast<std::size_t>(column) : 0);
        csv += ',' + (within ? numberText(heat.values[at]) : std::string());
        if (!heat.marked.empty()) csv += within ? heat.marked[at] ? ",1" : ",0" : ",";
    }
    return csv;
}

}  // namespace

std::string toCsv(const PlotData& plot) {
    std::map<double, std::vector<std::size_t>> rows;  // x -> index + 1 in each series, 0 = none
    for (std::size_t c = 0; plot.heat && c < plot.heat->columns; ++c)
        rows.try_emplace(plot.heat->firstX + static_cast<double>(c), plot.series.size(), 0);
    for (std::size_t s = 0; s < plot.series.size(); ++s)
        for (std::size_t i = 0; i < plot.series[s].x.size(); ++i) {
            const double x = plot.series[s].x[i];
            if (!std::isfinite(x)) continue;
            auto& row = rows.try_emplace(x, plot.series.size(), 0).first->second;
            if (row[s] == 0) row[s] = i + 1;
        }
    std::string csv = field(plot.x.title.empty() ? "x" : plot.x.title);
    for (const Series& s : plot.series) {
        csv += ',' + field(s.name);
        if (hasInterval(s)) csv += ',' + field(s.name + " low") + ',' + field(s.name + " high");
    }
    if (plot.heat) csv += heatTitles(*plot.heat);
    csv += "\r\n";
    for (const auto& [x, row] : rows) {
        const auto category = x < 0 ? plot.x.categories.size() : static_cast<std::size_t>(x);
        csv += category < plot.x.categories.size() ? field(plot.x.categories[category]) : numberText(x);
        for (std::size_t s = 0; s < row.size(); ++s) {
            const Series& series = plot.series[s];
            const std::size_t i = row[s] - 1;  // of none: past every end
            csv += ',' + valueAt(series.y, i);
            if (hasInterval(series)) csv += ',' + valueAt(series.low, i) + ',' + valueAt(series.high, i);
        }
        if (plot.heat) csv += heatFields(*plot.heat, x);
        csv += "\r\n";
    }
    return csv;
}

compute::OrderedJson toJson(const PlotData& plot, const FigureStyle& style) {
    OrderedJson json{{"format", kFigureFormat}, {"id", plot.id}, {"title", plot.title}};
    json["style"] =
        OrderedJson{{"width_mm", style.widthMm},          {"height_mm", style.heightMm},     {"font_pt", style.fontPt},
                    {"line_width_pt", style.lineWidthPt}, {"font_family", style.fontFamily}, {"png_dpi", style.pngDpi}};
    json["x"] = axisJson(plot.x);
    json["y"] = axisJson(plot.y);
    json["y2"] = axisJson(plot.y2);
    json["series"] = OrderedJson::array();
    for (const Series& s : plot.series) {
        OrderedJson entry{{"name", s.name}};
        for (const auto& [value, name] : kKinds)
            if (s.kind == value) entry["kind"] = name;
        entry["colour"] = s.colour;
        entry["second_axis"] = s.secondAxis;
        entry["x"] = numbers(s.x);
        entry["y"] = numbers(s.y);
        if (!s.low.empty()) entry["low"] = numbers(s.low);
        if (!s.high.empty()) entry["high"] = numbers(s.high);
        if (!s.grey.empty()) entry["grey"] = s.grey;
        if (!s.pointColours.empty()) entry["point_colours"] = s.pointColours;
        json["series"].push_back(std::move(entry));
    }
    if (plot.heat) json["heat"] = heatJson(*plot.heat);
    json["empty"] = plot.empty;
    json["note"] = plot.note;
    json["cursor_x"] = compute::number(plot.cursorX);
    json["flip_x"] = compute::number(plot.flipX);
    json["cursor_is_position"] = plot.cursorIsPosition;
    return json;
}

void fromJson(const compute::OrderedJson& json, const std::string& where, PlotData& plot, FigureStyle& style) {
    if (!json.is_object()) wrong(where, "it is not a figure recipe", "an object", json.type_name());
    const Reader reader{json, where};
    std::string format;
    reader.text("format", format);
    if (format != kFigureFormat)
        wrong(where, "it is not a figure recipe", std::string("\"format\":\"") + kFigureFormat + "\"",
              format.empty() ? "no format" : format);
    PlotData p;
    FigureStyle st;
    reader.text("id", p.id);
    reader.text("title", p.title);
    if (const OrderedJson* v = reader.find("style")) {
        const std::string inStyle = where + ", 'style'";
        if (!v->is_object()) wrong(inStyle, "it is not a style", "an object", v->type_name());
        const Reader s{*v, inStyle};
        s.real("width_mm", st.widthMm);
        s.real("height_mm", st.heightMm);
        s.real("font_pt", st.fontPt);
        s.real("line_width_pt", st.lineWidthPt);
        s.text("font_family", st.fontFamily);
        s.integer("png_dpi", st.pngDpi);
    }
    readAxis(reader, "x", p.x);
    readAxis(reader, "y", p.y);
    readAxis(reader, "y2", p.y2);
    reader.list("series", p.series, readSeries);
    p.heat = readHeat(reader);
    reader.text("empty", p.empty);
    reader.text("note", p.note);
    reader.real("cursor_x", p.cursorX);
    reader.real("flip_x", p.flipX);
    reader.flag("cursor_is_position", p.cursorIsPosition);
    plot = std::move(p);
    style = std::move(st);
}

}  // namespace counterpoint::model
