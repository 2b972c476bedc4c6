#pragma once
// The dialog of a prior from examples on a scripted base: ten texts in two files, an empty bank, and a person's hand.

#include <atomic>
#include <thread>

#include "compute/files/atomicfile.h"
#include "tests/model/scripted.h"
#include "tests/widgets/dialoghand.h"
#include "widgets/examplesdialog.h"

namespace counterpoint::tests {

using widgets::ExamplesDialog;

constexpr TokenId letter(char c) { return 3 + static_cast<TokenId>(c); }
inline constexpr const char* kBank =
    R"({"format":"counterpoint.bank/1","name":"letters","tokenizer":null,"priors":[]})";

/// A document with a base where every token is as likely, one empty bank, and the dialog on it.
struct Opened : DialogHand<ExamplesDialog> {
    std::shared_ptr<std::atomic<bool>> held = std::make_shared<std::atomic<bool>>(false);

    explicit Opened(std::filesystem::path in, int decoded = 0) : DialogHand(std::move(in)) {
        compute::writeFile(folder / "letters.bank.json", kBank);
        lines("good.jsonl", {"babababax", "babababay", "babababaz", "babababaw", "babababau"});
        lines("bad.jsonl", {"bcbcbcbcx", "bcbcbcbcy", "bcbcbcbcz", "bcbcbcbcw", "bcbcbcbcu"});
        document = std::make_unique<model::Document>(nullptr, sources());
        model::Session session = sessionOf({"model"});
        session.file = folder / "s.session.json";
        session.priors.resize(1);
        session.priors[0].bank = "letters.bank.json";
        session.decoding.maxNewTokens = 6;
        document->setSession(std::move(session));
        document->beginHere();
        [this, decoded] {
            WAIT_UNTIL(document->ready() && document->session().priors[0].content != nullptr);
            for (int i = 1; i <= decoded; ++i) {
                document->generate();
                WAIT_UNTIL(!document->busy() && document->traces().size() == std::size_t(i) &&
                           document->trace()->stop == "limit");
            }
            widgets::openExamplesDialog(*document, window.get(), sources());
            take("examplesDialog");
        }();
    }
    ~Opened() {
        *held = false;
        window.reset();
    }
    /// Held: a forward waits as long as it is asked to, or until it is stopped.
    model::SourceOpener sources() const {
        Script script;
        script.logits = [](std::span<const TokenId>, std::span<float>) {};
        script.onForward = [held = held](std::span<const TokenId> ids) {
            while (*held && ids.size() > 1) std::this_thread::yield();
        };
        return opener({{"model", script}});
    }
    void lines(const char* name, const std::vector<std::string>& texts) const {
        std::string all;
        for (const std::string& text : texts) all += "{\"text\":\"" + text + "\"}\n";
        compute::writeFile(folder / name, all);
    }
    void choose(const char* addButton, const std::string& file) const {
        chooseFile(addButton, "examples.files", QString::fromStdString((folder / file).string()));
    }
    void bothSets() const {
        choose("examples.addPreferred", "good.jsonl");
        choose("examples.addOther", "bad.jsonl");
        WAIT_UNTIL(dialog->work().proposal() != nullptr && dialog->work().proposal()->problem.empty());
    }
    QTableWidget& candidates() const { return find<QTableWidget>("examples.candidates"); }
    QString cell(int row, int column) const { return candidates().item(row, column)->text(); }
    int rowOf(TokenId token) const {
        for (int row = 0; row < candidates().rowCount(); ++row)
            if (cell(row, 1) == QString::number(token)) return row;
        return -1;
    }
    bool ticked(TokenId token) const { return candidates().item(rowOf(token), 0)->checkState() == Qt::Checked; }
    const compute::Bank& bank() const { return *document->session().priors[0].content; }
};

}  // namespace counterpoint::tests
