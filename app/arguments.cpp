#include "app/arguments.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace counterpoint::app {

std::string Arguments::value(std::string_view option, std::string_view otherwise) const {
    const auto it = options.find(option);
    return it == options.end() ? std::string(otherwise) : it->second;
}

std::string Arguments::required(std::string_view option) const {
    const std::string given = value(option);
    if (given.empty()) throw UsageError(std::string(option) + " is needed");
    return given;
}

template <class Number>
static std::optional<Number> whole(const Arguments& arguments, std::string_view option, Number minimum,
                                   Number maximum) {
    if (!arguments.has(option)) return std::nullopt;
    const std::string text = arguments.value(option);
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < minimum || number > maximum)
        throw UsageError(std::string(option) + " takes a whole number from " + std::to_string(minimum) + " to " +
                         std::to_string(maximum) + ", not '" + text + "'");
    return number;
}

std::optional<std::int64_t> Arguments::integer(std::string_view option, std::int64_t minimum,
                                               std::int64_t maximum) const {
    return whole(*this, option, minimum, maximum);
}

std::optional<std::uint64_t> Arguments::seed(std::string_view option) const {
    return whole(*this, option, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
}

std::optional<double> Arguments::real(std::string_view option, std::string_view expected,
                                      bool (*inside)(double)) const {
    if (!has(option)) return std::nullopt;
    const std::string text = value(option);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !inside(number))
        throw UsageError(std::string(option) + " takes " + std::string(expected) + ", not '" + text + "'");
    return number;
}

std::set<std::string> Arguments::list(std::string_view option, std::span<const std::string_view> known) const {
    std::set<std::string> entries;
    if (!has(option)) return entries;
    std::string_view rest = options.find(option)->second;
    while (true) {
        const std::size_t comma = rest.find(',');
        const std::string_view entry = rest.substr(0, comma);
        if (std::find(known.begin(), known.end(), entry) == known.end()) {
            std::string sentence = std::string(option) + " does not know '" + std::string(entry) + "'; it takes ";
            for (std::size_t i = 0; i < known.size(); ++i) sentence += (i > 0 ? ", " : "") + std::string(known[i]);
            throw UsageError(sentence);
        }
        entries.emplace(entry);
        if (comma == std::string_view::npos) return entries;
        rest.remove_prefix(comma + 1);
    }
}

Arguments parseArguments(std::span<const std::string> given, std::span<const Option> table) {
    Arguments arguments;
    bool optionsOver = false;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const std::string& word = given[i];
        if (optionsOver || word.size() < 2 || word[0] != '-') {
            arguments.words.push_back(word);
            continue;
        }
        if (word == "--") {
            optionsOver = true;
            continue;
        }
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        const auto option = std::find_if(table.begin(), table.end(), [&](const Option& o) { return o.name == name; });
        if (option == table.end()) throw UsageError("there is no option '" + name + "' here");
        if (arguments.has(name)) throw UsageError(name + " is given twice");
        if (option->value.empty()) {
            if (equals != std::string::npos) throw UsageError(name + " takes no value");
            arguments.options[name];
        } else if (equals != std::string::npos) {
            arguments.options[name] = word.substr(equals + 1);
        } else if (i + 1 < given.size()) {
            arguments.options[name] = given[++i];
        } else {
            throw UsageError(name + " needs a value: " + std::string(option->value));
        }
    }
    return arguments;
}

}  // namespace counterpoint::app
