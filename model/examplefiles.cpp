// Reading examples: text files, folders, JSON lines.
#include <algorithm>
#include <array>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/jsonreader.h"
#include "compute/printable.h"
#include "compute/text/utf8.h"
#include "model/examples.h"

namespace counterpoint::model {

using compute::Error;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kToldProblems = 20;
constexpr std::array kTextEnds = {".txt", ".text", ".md"};
constexpr std::array kLineEnds = {".jsonl", ".ndjson"};

template <class Ends>
bool endsWith(const fs::path& file, const Ends& ends) {
    const std::string end = file.extension().string();
    return std::any_of(ends.begin(), ends.end(), [&](const char* e) { return end == e; });
}

std::string nameOf(const fs::path& file) { return compute::printable(file.filename().string()); }

class Reader {
  public:
    Reader(std::optional<bool> preferred, const std::stop_token& stop) : m_preferred(preferred), m_stop(stop) {}

    void file(const fs::path& path) {
        std::string bytes = compute::readFile(path, kMostTextBytes);
        std::string_view text = bytes;
        if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
        if (endsWith(path, kLineEnds)) return lines(text, path);
        if (!m_preferred)
            throw Error({.where = path.string(),
                         .what = "the text does not say whether it is preferred",
                         .expected = "JSON lines with \"preferred\", or a file of one of the two sets"});
        while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);  // an editor's, not the text's
        add(text, *m_preferred, 1, nameOf(path));
    }
    void folder(const fs::path& path) {
        std::vector<fs::path> files;
        for (const auto& entry : fs::directory_iterator(path))
            if (entry.is_regular_file() && (endsWith(entry.path(), kTextEnds) || endsWith(entry.path(), kLineEnds)))
                files.push_back(entry.path());
        if (files.empty())
            throw Error({.where = path.string(),
                         .what = "there is no text in the folder",
                         .expected = "files that end in .txt, .text, .md, .jsonl or .ndjson"});
        std::sort(files.begin(), files.end());
        for (const fs::path& one : files)
            if (!m_stop.stop_requested()) file(one);
    }
    ExamplesRead finish() {
        if (m_problems > kToldProblems)
            m_read.problems.push_back(std::to_string(m_problems - kToldProblems) + " more texts could not be used.");
        return std::move(m_read);
    }

  private:
    void tell(const Error& error) {
        if (++m_problems <= kToldProblems) m_read.problems.push_back(error.sentence());
    }
    void add(std::string_view text, bool preferred, double weight, std::string from) {
        if (m_read.texts.size() == kMostTexts)
            throw Error({.where = std::move(from),
                         .what = "there are too many texts",
                         .expected = "at most " + std::to_string(kMostTexts)});
        if (!compute::utf8::isValid(text)) return tell(Error({.where = from, .what = "the text is not UTF-8"}));
        if (text.find_first_not_of(" \t\r\n") == text.npos)
            return tell(Error({.where = from, .what = "the text is empty"}));
        m_read.texts.push_back({.text = std::string(text),
                                .from = std::move(from),
                                .before = {},
                                .example = {.ids = {}, .preferred = preferred, .weight = weight}});
    }
    void lines(std::string_view text, const fs::path& path) {
        for (std::size_t number = 1; !text.empty() && !m_stop.stop_requested(); ++number) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            const std::string_view one = text.substr(0, end);
            text.remove_prefix(std::min(end + 1, text.size()));
            if (one.find_first_not_of(" \t\r") == one.npos) continue;
            const std::string where = nameOf(path) + ", line " + std::to_string(number);
            try {
                line(one, where);
            } catch (const Error& error) {
                if (m_read.texts.size() == kMostTexts) throw;
                tell(error);
            }
        }
    }
    void line(std::string_view text, const std::string& where) {
        if (!compute::utf8::isValid(text)) throw Error({.where = where, .what = "the line is not UTF-8"});
        const compute::OrderedJson json = parsed(text, where);
        compute::JsonReader reader(json, where);
        std::string own;
        if (!reader.string("text", own)) throw reader.missing("text", "the text of an example");
        const auto said = reader.takeNonNull("preferred");
        if (!said && !m_preferred) throw reader.missing("preferred", "true or false");
        if (said && !said->is_boolean()) reader.fail("preferred", "true or false", *said);
        double weight = 1;
        if (const auto value = reader.takeNonNull("weight")) {
            if (!value->is_number()) reader.fail("weight", "a finite number above 0", *value);
            weight = value->get<double>();
            if (!std::isfinite(weight) || weight <= 0) reader.fail("weight", "a finite number above 0", *value);
        }
        add(own, said ? said->get<bool>() : *m_preferred, weight, where);
    }
    static compute::OrderedJson parsed(std::string_view text, const std::string& where) {
        try {
            return compute::parseOrderedJson(text, where);
        } catch (const Error& error) {  // its own "line 1" is of the line alone
            throw Error({.where = where,
                         .what = "the line is no JSON object",
                         .expected = R"({"text": "…", "preferred": true})",
                         .found = compute::shortened(text),
                         .advice = {},
                         .details = error.sentence()});
        }
    }

    std::optional<bool> m_preferred;
    const std::stop_token& m_stop;
    ExamplesRead m_read;
    std::size_t m_problems = 0;
};

}  // namespace

ExamplesRead readExamples(const fs::path& path, std::optional<bool> preferred, const std::stop_token& stop) {
    Reader reader(preferred, stop);
    try {
        if (fs::is_directory(path))
            reader.folder(path);
        else
            reader.file(path);
    } catch (const fs::filesystem_error& error) {
        throw Error({.where = path.string(), .what = "cannot be read: " + error.code().message()});
    }
    return reader.finish();
}

}  // namespace counterpoint::model
