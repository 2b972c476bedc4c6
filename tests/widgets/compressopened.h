#pragma once
// The compression dialog on a scripted base and two or three banks: one of letters, one with entries that are wrong,
// and a large one that takes its time.

#include <random>
#include <set>

#include "compute/files/atomicfile.h"
#include "tests/model/scripted.h"
#include "tests/support/banks.h"
#include "tests/widgets/dialoghand.h"
#include "widgets/compressdialog.h"

namespace counterpoint::tests {

using widgets::CompressDialog;

inline constexpr const char* kBank = R"({"format":"counterpoint.bank/1","name":"letters","priors":[
 {"name":"a","task":"t","quality":0.8,"delta":{"110":1.0,"111":0.5,"112":-1.5}},
 {"name":"b","task":"t","quality":0.7,"delta":{"110":0.7,"111":0.7,"112":-0.7}},
 {"name":"c","task":"u","quality":0.9,"promote":[120,121],"demote":[122],"delta_plus":2,"delta_minus":0.5},
 {"name":"off","task":"u","quality":0.2,"promote":[130]},
 {"name":"against","task":"t","quality":0.9,"promote":[112],"demote":[110,111]}]})";
inline constexpr const char* kWrong = R"({"format":"counterpoint.bank/1","name":"wrong","priors":[
 {"name":"good","quality":0.8,"promote":[110],"demote":[111]},
 {"name":"unknown","quality":0.8,"promote":[112,"not one token",9999]},
 {"name":"nothing","quality":"much","promote":[113]}]})";

/// Alike, no two the same, each of 60 of 64 tokens: joining them takes its time.
inline compute::Bank large() {
    std::mt19937_64 random(1);
    std::vector<compute::Prior> priors;
    for (int i = 0; i < 8000; ++i) {
        std::set<int> out;
        while (out.size() < 4) out.insert(int(random() % 64));
        std::vector<int> ids;
        for (int id = 0; id < 64; ++id)
            if (!out.contains(id)) ids.push_back(100 + id);
        priors.push_back(prior("p" + std::to_string(i), signs(ids)));
    }
    return bankOf(priors, "large");
}

struct Opened : DialogHand<CompressDialog> {
    explicit Opened(std::filesystem::path in, bool decoded = true, std::size_t bank = 0, bool withLarge = false)
        : DialogHand(std::move(in)) {
        compute::writeFile(folder / "letters.bank.json", kBank);
        compute::writeFile(folder / "wrong.bank.json", kWrong);
        if (withLarge) compute::writeBank(large(), folder / "large.bank.safetensors");
        document = std::make_unique<model::Document>(nullptr, opener(three()));
        model::Session session = sessionOf({"model"});
        session.file = folder / "s.session.json";
        for (const char* name : {"letters.bank.json", "wrong.bank.json"}) session.priors.emplace_back().bank = name;
        if (withLarge) session.priors.push_back({.bank = "large.bank.safetensors", .enabled = false});
        session.decoding.maxNewTokens = 12;
        document->setSession(std::move(session));
        document->beginHere();
        [&] {
            WAIT_UNTIL(document->ready() && document->session().priors.back().content != nullptr);
            if (decoded) generate();
            widgets::openCompressDialog(*document, bank, window.get());
            take("compressDialog");
        }();
    }
    void generate() const {
        document->generate();
        WAIT_UNTIL(!document->busy() && document->trace() != nullptr && document->trace()->stop == "limit");
    }
    void computed() const {
        WAIT_UNTIL(!dialog->work().working());
        QCoreApplication::processEvents();
    }
    QString level(int row, int column) const { return find<QTableWidget>("compress.levels").item(row, column)->text(); }
    QString prior(int row, int column) const { return find<QTableWidget>("compress.priors").item(row, column)->text(); }
    QString merges() const { return find<QPlainTextEdit>("compress.merges").toPlainText(); }
    void select(int row) const {
        auto& table = find<QTableWidget>("compress.levels");
        QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, table.visualItemRect(table.item(row, 1)).center());
    }
    /// Through the file dialog, under a name; empty: the one that is proposed.
    void saveAs(const QString& name) const { chooseFile("compress.save", "compress.file", name); }
    compute::Bank read(const std::string& name) const {
        std::vector<std::string> warnings;
        return compute::readBank(folder / name, warnings);
    }
    /// What `bank compress` writes: its level 2 of the bank's file with this tokenizer.
    compute::Bank commands(int level, compute::Keep keep = compute::Keep::Product) const {
        const compute::Bank bank = read("letters.bank.json");
        const ByteTokenizer tokenizer(300);
        compute::CompressOptions options;
        options.level = level;
        options.keep = keep;
        return compute::compress(std::span(&bank, 1), {&tokenizer, 300, false}, options).bank;
    }
    const model::BankEntry& entry() const { return document->session().priors[0]; }
};

}  // namespace counterpoint::tests
