#include "app/commands/commands.h"

#include <QtGlobal>
#include <algorithm>
#include <array>
#include <cstdio>

#include "app/commands/enginecall.h"
#include "app/commands/functions.h"
#include "compute/version.h"

namespace counterpoint::app {
namespace {

/// Names that are kept for commands to come, so that none of them is ever taken for a file.
constexpr std::array<std::string_view, 2> kReserved{"score", "sweep"};

/// "--out DIR"
std::string written(const Option& option) {
    std::string text(option.name);
    if (!option.value.empty()) text.append(" ").append(option.value);
    return text;
}

std::string usageLine(const Command& command) {
    std::string line = "counterpoint";
    if (!command.name.empty()) line.append(" ").append(command.name);
    if (!command.words.empty()) line.append(" ").append(command.words);
    for (const Option& option : command.options) {
        line.append(option.needed ? " " : " [").append(written(option)).append(option.needed ? "" : "]");
    }
    return line;
}

/// The row that the first words name, one word or two; those words are taken off `given`.
const Command* take(std::span<const std::string>& given) {
    for (const Command& command : commands()) {
        std::string_view name = command.name;
        std::size_t words = 0;
        while (!name.empty() && words < given.size()) {
            const std::string_view word = name.substr(0, name.find(' '));
            if (given[words] != word) break;
            name.remove_prefix(std::min(name.size(), word.size() + 1));
            ++words;
        }
        if (command.name.empty() || !name.empty()) continue;
        given = given.subspan(words);
        return &command;
    }
    return nullptr;
}

/// What follows `word` where it is the first of rows' two: "report or compress"; else nothing.
std::string secondWords(std::string_view word) {
    std::string text;
    for (const Command& command : commands()) {
        const std::size_t blank = command.name.find(' ');
        if (blank == std::string_view::npos || command.name.substr(0, blank) != word) continue;
        text.append(text.empty() ? "" : " or ").append(command.name.substr(blank + 1));
    }
    return text;
}

}  // namespace

std::span<const Command> commands() {
    static constexpr std::array kRunOptions{
        Option{"--out", "DIR", "the run directory: new, empty or an earlier run's", true},
        kDeviceOption,
        kDtypeOption,
        kThreadsOption,
        Option{"--dump", "LIST", "log_prob, sources: their log-probabilities as safetensors"},
        Option{"--figures", "LIST", "pdf, svg, png: every plot of the trace, in DIR/figures"},
    };
    static constexpr std::array kReplayOptions{
        Option{kDeviceOption.name, kDeviceOption.value, "where the models compute (where the run was decoded)"},
        Option{kDtypeOption.name, kDtypeOption.value, "float32, bfloat16 or float16 (what the run was decoded in)"},
        kThreadsOption,
    };
    static constexpr Option tokenizer{"--tokenizer", "DIR",
                                      "the model directory, or GGUF file, whose tokenizer reads the bank's texts"};
    static constexpr std::array kReportOptions{tokenizer};
    static constexpr std::array kCompressOptions{
        Option{"--out", "FILE", "the compressed bank, another file than BANK: .bank.safetensors or .bank.json", true},
        Option{
            "--level", "N",
            "1: a sign a token and one scale; 2 (the default): and alike priors of one task and context joined; 3: "
            "and one prior for each task and context. 2 and 3 are meant for banks above 100 priors; they act on any"},
        Option{"--keep", "NAME", "what level 2 keeps: product (the joint push, the default) or size (a mean prior's)"},
        Option{"--session", "FILE",
               "a session that uses BANK: it is decoded, and KL of every level is measured on it beside its bounds"},
        tokenizer,
    };
    static constexpr std::array kRouteOptions{
        Option{"--rho", "R", "coupling within a window, 0 to 1", true},
        Option{"--alpha", "A", "opposition across a pair of windows, 0 to 1", true},
        Option{"--window", "W", "positions of a window", true},
        Option{"--draws", "D", "times that the noise is drawn: 2 to 1000000", true},
        Option{"--seed", "S", "of the noise (7)"},
        Option{"--source", "NAME", "whose router logits (the base's)"},
        Option{"--router-temperature", "T", "the router's logits are divided by it (1); it changes the law of a token"},
        Option{"--capacity", "C", "what an expert can take, in parts of an even share (1)"},
        Option{"--pairs", "FILE", "pairs of windows as JSON, such as [[0,1],[2,3]] (consecutive ones)"},
        Option{"--threads", "N", "threads (all cores)"},
    };
    static constexpr std::array kRenderOptions{
        Option{"--out", "FILE", "the figure: .pdf, .svg, .png or .csv (FIGURE.pdf)"},
    };
    static constexpr std::array kWindowOptions{
        Option{"--screenshot", "FILE", "no window: its picture after the session's run, as PNG"},
        Option{"--size", "WxH",
               "of the window and the picture (1600x1000), such as 1280x800: 1 to 16384 each, and not less than the "
               "panels need; QT_SCALE_FACTOR multiplies both"},
        Option{"--theme", "NAME", "light or dark"},
        Option{"--perspective", "NAME", "Compose, Priors, Routing or Paper"},
        kDeviceOption,
        Option{"--first-paint", "", "prints the milliseconds from exec to the first paint and ends"},
    };
    static constexpr std::array table{
        Command{"", "[FILE…]", 0, 32, kWindowOptions,
                "The window on a session, a recording or models (base first); no FILE: the demo session.",
                windowCommand},
        Command{"run", "SESSION", 1, 1, kRunOptions,
                "Decodes or scores a session to its end and writes a run directory.", runCommand},
        Command{"replay", "DIR", 1, 1, kReplayOptions,
                "Decodes a run again and says whether it is identical, within tolerance, or where it diverges.",
                replayCommand},
        Command{
            "route", "RECORDING|RUN", 1, 1, kRouteOptions,
            "Says, as JSON, what coupled routing noise does to stored router logits: coherence, load and their errors.",
            routeCommand},
        Command{"render", "FIGURE.json", 1, 1, kRenderOptions,
                "Draws a figure again from its recipe, with its table and its recipe beside it.", renderCommand},
        Command{
            "bank report", "BANK", 1, 1, kReportOptions,
            "Says of every prior of a bank, as JSON: support, scale, eta, and what one bit a token costs and saves.",
            bankReportCommand},
        Command{"bank compress", "BANK", 1, 1, kCompressOptions,
                "Writes a compressed bank and says, as JSON, what every level joined and saved.", bankCompressCommand},
    };
    return table;
}

std::string helpText() {
    std::string text = "Counterpoint composes language models while they decode.\n";
    for (const Command& command : commands()) {
        text.append("\n").append(usageLine(command)).append("\n    ").append(command.help).append("\n");
        for (const Option& option : command.options) {
            std::string left = written(option);
            left.resize(std::max<std::size_t>(left.size() + 1, 26), ' ');
            text.append("    ").append(left).append(option.help).append("\n");
        }
    }
    text +=
        "\ncounterpoint --help | --version\n"
        "\nExit codes: 0 done, 1 an error said in one line on standard error, 2 wrong usage, 3 replay diverged.\n"
        "Everything but the window works without a display.\n";
    return text;
}

int dispatch(std::span<const std::string> given) {
    const auto optionsEnd = std::find(given.begin(), given.end(), "--");
    if (std::find_if(given.begin(), optionsEnd, [](const auto& w) { return w == "--help" || w == "-h"; }) !=
        optionsEnd) {
        std::fputs(helpText().c_str(), stdout);
        return 0;
    }
    if (!given.empty() && given[0] == "--version") {
        if (given.size() > 1) throw UsageError("--version stands alone; it has no use for '" + given[1] + "'");
        std::printf("Counterpoint %s (Qt %s)\n", compute::version(), qVersion());
        return 0;
    }
    const std::string_view first = given.empty() ? std::string_view() : given[0];
    if (std::find(kReserved.begin(), kReserved.end(), first) != kReserved.end())
        throw UsageError("this version does not have the command '" + std::string(first) + "'");
    const Command* command = take(given);
    if (command == nullptr && !first.empty()) {
        std::string sentence(1, '\'');
        sentence.append(first).append("' is followed by ").append(secondWords(first));
        if (given.size() > 1) sentence.append(", not by '").append(given[1]).append("'");
        if (!secondWords(first).empty()) throw UsageError(sentence);
    }
    if (command == nullptr) command = &commands().front();  // the window
    const Arguments arguments = parseArguments(given, command->options);
    if (arguments.words.size() < command->minimumWords || arguments.words.size() > command->maximumWords)
        throw UsageError("usage: " + usageLine(*command));
    return command->run(arguments);
}

}  // namespace counterpoint::app
