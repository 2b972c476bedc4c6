#include "compute/text/ggufsplits.h"

#include <algorithm>
#include <array>

namespace counterpoint::compute {
namespace {

constexpr std::array<std::string_view, 3> kGpt2 = {"gpt-2", "phi-2", "exaone4"};
constexpr std::array<std::string_view, 2> kNeoX = {"mpt", "olmo"};
constexpr std::array<std::string_view, 6> kDigits = {"smollm",    "starcoder", "refact",
                                                     "codeshell", "exaone",    "minerva-7b"};
constexpr std::array<std::string_view, 1> kCommandR = {"command-r"};
constexpr std::array<std::string_view, 5> kLlama3 = {"llama-bpe", "llama3", "llama-v3", "falcon3", "lfm2"};
constexpr std::array<std::string_view, 2> kDbrx = {"dbrx", "smaug-bpe"};
constexpr std::array<std::string_view, 3> kQwen2 = {"qwen2", "deepseek-r1-qwen", "megrez"};
constexpr std::array<std::string_view, 1> kTekken = {"tekken"};
constexpr std::array<std::string_view, 2> kGpt4o = {"gpt-4o", "llama4"};

// A pattern, then the byte alphabet.
#define COUNTERPOINT_SPLIT(NORMALIZER, PATTERN)                                                           \
    "[" NORMALIZER R"(,{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":")" PATTERN \
    R"("},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]}])"
#define COUNTERPOINT_WORDS R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|)"
#define COUNTERPOINT_REST R"(| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)"
#define COUNTERPOINT_UPPER R"([\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}])"
#define COUNTERPOINT_LOWER R"([\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}])"
#define COUNTERPOINT_SUFFIX R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
#define COUNTERPOINT_CASED(SUFFIX)                                                   \
    R"([^\\r\\n\\p{L}\\p{N}]?)" COUNTERPOINT_UPPER "*" COUNTERPOINT_LOWER "+" SUFFIX \
    R"(|[^\\r\\n\\p{L}\\p{N}]?)" COUNTERPOINT_UPPER "+" COUNTERPOINT_LOWER "*" SUFFIX "|"
#define COUNTERPOINT_CASED_REST R"(| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)"

constexpr std::string_view kByteLevel = R"([null,{"type":"ByteLevel","add_prefix_space":false}])";
constexpr std::string_view kByteLevelNfc = R"([{"type":"NFC"},{"type":"ByteLevel","add_prefix_space":false}])";
constexpr std::string_view kSingleDigits =
    R"([null,{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"type":"ByteLevel","add_prefix_space":false}]}])";
constexpr std::string_view kSingleDigitsNfc =
    R"([{"type":"NFC"},{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"type":"ByteLevel","add_prefix_space":false}]}])";
constexpr std::string_view kThreeDigits =
    COUNTERPOINT_SPLIT("null", COUNTERPOINT_WORDS R"(\\p{N}{1,3})" COUNTERPOINT_REST);
constexpr std::string_view kOneDigit =
    COUNTERPOINT_SPLIT(R"({"type":"NFC"})", COUNTERPOINT_WORDS R"(\\p{N})" COUNTERPOINT_REST);
constexpr std::string_view kCasedOneDigit =
    COUNTERPOINT_SPLIT("null", COUNTERPOINT_CASED("") R"(\\p{N})" COUNTERPOINT_CASED_REST);
constexpr std::string_view kCasedThreeDigits =
    COUNTERPOINT_SPLIT("null", COUNTERPOINT_CASED(COUNTERPOINT_SUFFIX) R"(\\p{N}{1,3})" COUNTERPOINT_CASED_REST);

constexpr std::array<GgufSplit, 9> kSplits = {{{kGpt2, kByteLevel},
                                               {kNeoX, kByteLevelNfc},
                                               {kDigits, kSingleDigits},
                                               {kCommandR, kSingleDigitsNfc},
                                               {kLlama3, kThreeDigits, true, true},
                                               {kDbrx, kThreeDigits},
                                               {kQwen2, kOneDigit},
                                               {kTekken, kCasedOneDigit, true, true},
                                               {kGpt4o, kCasedThreeDigits}}};

}  // namespace

const GgufSplit& findGgufSplit(const Gguf& gguf, std::string_view name) {
    std::string known;
    for (const GgufSplit& row : kSplits) {
        if (std::find(row.names.begin(), row.names.end(), name) != row.names.end()) return row;
        for (const std::string_view each : row.names) (known += known.empty() ? "" : ", ") += each;
    }
    gguf.fail("the way this tokenizer splits a text is not supported", "tokenizer.ggml.pre one of " + known,
              name.empty() ? "none" : std::string(name),
              name.empty() || name == "default" ? "convert the model again with a current llama.cpp" : "");
}

}  // namespace counterpoint::compute
