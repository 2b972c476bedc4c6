// .bank.safetensors: lossless at level 0, one bit above, bytes as they are on disk, tensors that lie.
#include <cmath>
#include <cstring>
#include <random>

#include "compute/priors/bank.h"
#include "tests/support/bankfiles.h"
#include "tests/support/randomtext.h"
#include "tests/support/tokenizerfolder.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

/// The first prior that is not the same, twice.
QString differing(const Bank& a, const Bank& b) {
    for (std::size_t k = 0; k < std::min(a.priors.size(), b.priors.size()); ++k) {
        if (*a.priors[k] == *b.priors[k]) continue;
        Bank one = a, other = b;
        one.priors = {a.priors[k]};
        other.priors = {b.priors[k]};
        return QString::fromStdString(toJson(one).dump() + "\n" + toJson(other).dump()) + '\n' +
               joined(a.priors[k]->problems) + '\n' + joined(b.priors[k]->problems);
    }
    return "the banks around the priors";
}

std::string length(std::uint64_t n) { return {reinterpret_cast<const char*>(&n), sizeof n}; }

}  // namespace

class TestBankFile : public QObject, TokenizerFolder {
    Q_OBJECT

  private Q_SLOTS:
    void init() { begin(); }

    /// JSON -> safetensors -> JSON, of random banks with everything in them.
    void losslessAtLevelZero() {
        const auto toy = open(tokenizerOf(toyPieces(262)));
        std::mt19937 random(7);
        for (int i = 0; i < 150; ++i) {
            const OrderedJson json = randomBank(random);
            std::vector<std::string> warnings, again, more;
            const Bank bank = bankFromJson(json, "b", warnings);
            const IdSpace ids = i % 2 == 0 ? IdSpace{} : IdSpace{toy.get(), toy->size(), i % 3 == 0};
            writeBank(bank, file(), ids);
            const Bank read = readBank(file(), again);
            QCOMPARE(toJson(read).dump(), toJson(bank).dump());
            QVERIFY2(read == bank, qPrintable(differing(read, bank)));
            writeBank(read, folder() / "b.bank.json");
            QVERIFY(readBank(folder() / "b.bank.json", more) == bank);
            checkBytes(bank, ids);
        }
    }

    /// The tensors by hand: what stands where.
    void layout() {
        Bank bank =
            banked({listed("lists", {2, 5}, {3}, 0.5), exact("exact", {{1, 0.25}, {9, -0.125}}), named("text", "b"),
                    exact("bits", {{0, 1}, {1, -1}, {2, -1}, {3, 1}, {4, 1}, {5, 1}, {6, -1}, {7, -1}, {8, 1}})});
        const auto toy = open(tokenizerOf({"<unk>", "<s>", "</s>", "a", "b"}));
        writeBank(bank, file(), {toy.get(), toy->size(), false});
        auto tensors = Safetensors::openFile(file());
        QCOMPARE(tensors.metadata().at("stored"), std::string("ldwd"));
        QCOMPARE(numbers<TokenId>(tensors, "ids"), (std::vector<TokenId>{2, 3, 5, 1, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8}));
        QCOMPARE(numbers<std::int64_t>(tensors, "offsets"), (std::vector<std::int64_t>{0, 3, 5, 5, 14}));
        QCOMPARE(tensors.find("deltas")->dtype, DType::F32);
        QCOMPARE(numbers<float>(tensors, "deltas"),
                 (std::vector<float>{0.5F, -0.5F, 0.5F, 0.25F, -0.125F, 1, -1, -1, 1, 1, 1, -1, -1, 1}));
        QVERIFY(numbers<std::uint8_t>(tensors, "signs").empty() && numbers<float>(tensors, "scales").empty());
        const std::string json = tensors.metadata().at("bank");
        QVERIFY(json.find("\"b\"") != std::string::npos && json.find("delta\"") == std::string::npos);

        bank.level = 1;
        writeBank(bank, file(), {toy.get(), toy->size(), false});
        tensors = Safetensors::openFile(file());
        QCOMPARE(tensors.metadata().at("stored"), std::string("ldw1"));
        QCOMPARE(numbers<std::uint8_t>(tensors, "signs"), (std::vector<std::uint8_t>{0b00111001, 0b1}));
        QCOMPARE(numbers<float>(tensors, "scales"), (std::vector<float>{1}));
        QCOMPARE(numbers<float>(tensors, "deltas").size(), std::size_t{5});
    }

    /// A Δ that float32 has not is kept whole.
    void wideNumbers() {
        Bank bank = banked({exact("p", {{1, 0.1}, {2, -0.1}})});
        writeBank(bank, file());
        QCOMPARE(Safetensors::openFile(file()).find("deltas")->dtype, DType::F64);
        bank.level = 1;
        writeBank(bank, file());
        QCOMPARE(Safetensors::openFile(file()).find("scales")->dtype, DType::F64);
        std::vector<std::string> warnings;
        QVERIFY(readBank(file(), warnings) == bank);
    }

    /// Saved, reopened, compressed, exported, reopened.
    void levelOne() {
        std::mt19937 random(9);
        for (int i = 0; i < 60; ++i) {
            std::vector<std::string> warnings;
            const Bank bank = bankFromJson(randomBank(random), "b", warnings);
            Bank bits = bank;
            bits.level = 1;
            bits.unknown.erase("level");  // one that could not be read: now there is one
            for (PriorPtr& prior : bits.priors) prior = oneBitOf(prior, resolve(*prior, {}));
            writeBank(bits, file());
            const Bank reopened = readBank(file(), warnings);
            QVERIFY2(reopened == bits, qPrintable(differing(reopened, bits)));
            writeBank(reopened, folder() / "b.bank.json");
            const Bank exported = readBank(folder() / "b.bank.json", warnings);
            QVERIFY(exported == bits);
            QCOMPARE(toJson(exported)["level"].dump(), std::string("1"));
            checkBytes(bits, {});
            // What level 1 would take is what it takes.
            const BankBytes before = bytesOf(bank, {}, false), after = bytesOf(bits, {}, true);
            if (bank.level > 1) continue;
            QCOMPARE(before.file, after.file);
            QVERIFY(before.prior == after.prior);
        }
    }

    void oneBit() {
        Prior p = *exact("p", {{4, 0.5}, {7, -2}, {9, 0.5}});
        p.promote = {{.text = {}, .id = 1}};
        p.deltaPlus = 3;
        p.policy = Policy::FirstToken;
        p.quality = 0.75;
        p.source = "s";
        const auto prior = std::make_shared<const Prior>(p);
        const PriorPtr bit = oneBitOf(prior, resolve(p, {}));
        const double alpha = (3 + 0.5 + 2 + 0.5) / 4;
        QVERIFY(bit->delta ==
                (std::vector<std::pair<TokenId, double>>{{1, alpha}, {4, alpha}, {7, -alpha}, {9, alpha}}));
        QVERIFY(bit->promote.empty() && bit->demote.empty() && bit->deltaPlus == 1);
        QCOMPARE(bit->policy, Policy::SingleToken);
        QCOMPARE(bit->quality, 0.75);
        QCOMPARE(bit->source, std::string("s"));
        // Equal magnitudes are exact, whatever they are; nothing to say stays as it is.
        const PriorPtr same = exact("p", {{1, 0.1}, {2, -0.1}, {3, 0.1}});
        QVERIFY(*oneBitOf(same, resolve(*same, {})) == *same);
        const PriorPtr none = named("p", "cat");
        QCOMPARE(oneBitOf(none, resolve(*none, {})), none);
    }

    /// n tokens cost 4 bytes of id, and 4 or 8 of Δ, or an eighth and one scale.
    void shares() {
        std::vector<std::pair<TokenId, double>> delta;
        for (TokenId id = 0; id < 800; ++id) delta.emplace_back(id, id % 3 == 0 ? 0.5 : -0.25);
        const auto small = banked({exact("p", {delta.begin(), delta.begin() + 400})});
        const auto large = banked({exact("p", delta)});
        QCOMPARE(bytesOf(large, {}, true).prior[0] - bytesOf(small, {}, true).prior[0], std::uint64_t{400 * (4 + 4)});
        QCOMPARE(bytesOf(large, {}, false).prior[0] - bytesOf(small, {}, false).prior[0], std::uint64_t{400 * 4 + 50});
    }

    void manyPriors() {
        std::vector<PriorPtr> priors;
        for (int k = 0; k < 2000; ++k) {
            std::vector<std::pair<TokenId, double>> delta;
            for (TokenId id = 0; id < 100; ++id) delta.emplace_back(id * 3 + k % 7, id % 2 == 0 ? 0.5 : -0.25);
            priors.push_back(exact("p" + std::to_string(k), delta));
        }
        const Bank bank = banked(priors);
        writeBank(bank, file());
        std::vector<std::string> warnings;
        QVERIFY(readBank(file(), warnings) == bank);
        checkBytes(bank, {});
    }

    /// Offsets that lie damage the priors they bound; the others are read. Each row: one offset of [0, 2, 5, 14, 16].
    void lyingOffsets_data() {
        QTest::addColumn<int>("index");
        QTest::addColumn<qint64>("value");
        QTest::addColumn<QString>("damaged");
        QTest::newRow("far") << 1 << (qint64{1} << 62) << "0 1";
        QTest::newRow("below 0") << 2 << qint64{-1} << "1 2";
        QTest::newRow("the least") << 3 << std::numeric_limits<qint64>::min() << "2 3";
        QTest::newRow("the first") << 0 << qint64{1} << "0";
        QTest::newRow("the last") << 4 << qint64{15} << "3";
        QTest::newRow("the last beyond") << 4 << qint64{17} << "3";
        QTest::newRow("before the one before") << 2 << qint64{1} << "0 1 2";
        QTest::newRow("behind the next") << 2 << qint64{15} << "1 2 3";
    }
    void lyingOffsets() {
        QFETCH(int, index);
        QFETCH(qint64, value);
        const Bank bank = fourPriors();
        BankTensors tensors(file());
        tensors.at<std::int64_t>("offsets", static_cast<std::size_t>(index)) = value;
        tensors.write(file());
        std::vector<std::string> warnings;
        const Bank read = readBank(file(), warnings);
        QStringList damaged;
        for (std::size_t k = 0; k < 4; ++k) {
            const Prior& prior = *read.priors[k];
            QCOMPARE(QString::fromStdString(prior.name), QString::fromStdString(bank.priors[k]->name));
            if (prior == *bank.priors[k]) continue;
            damaged << QString::number(k);
            QVERIFY(prior.unusable);
            QCOMPARE(
                joined(prior.problems),
                QStringLiteral("prior '%1': it came damaged out of a file (the offsets of its tokens in the file are "
                               "wrong).")
                    .arg(QString::fromStdString(prior.name)));
        }
        QTEST(damaged.join(' '), "damaged");
        // Saved again in both formats it is the same.
        writeBank(read, file());
        QVERIFY(readBank(file(), warnings) == read);
        writeBank(read, folder() / "b.bank.json");
        QVERIFY(readBank(folder() / "b.bank.json", warnings) == read);
    }

    /// Two lies: what stands between them cannot be found.
    void twoLies() {
        const Bank bank = fourPriors();
        BankTensors tensors(file());
        tensors.at<std::int64_t>("offsets", 0) = 7;
        tensors.at<std::int64_t>("offsets", 4) = -7;
        tensors.write(file());
        std::vector<std::string> warnings;
        for (const PriorPtr& prior : readBank(file(), warnings).priors) QVERIFY(prior->unusable);
    }

    void lyingNumbers_data() {
        QTest::addColumn<QString>("change");
        QTest::addColumn<int>("prior");  // damaged
        QTest::addColumn<QString>("problem");
        QTest::newRow("an id below 0") << "negative" << 0 << "its token ids in the file are not ascending from 0";
        QTest::newRow("ids out of order") << "order" << 1 << "its token ids in the file are not ascending from 0";
        QTest::newRow("an id twice") << "twice" << 2 << "its token ids in the file are not ascending from 0";
        QTest::newRow("another delta")
            << "delta" << 0 << "its deltas in the file are not those of its confidence, delta_plus and delta_minus";
        QTest::newRow("no delta")
            << "nan" << 0 << "its deltas in the file are not those of its confidence, delta_plus and delta_minus";
        QTest::newRow("a scale below 0") << "scale" << 2
                                         << "its scale in the file is below 0, so that every sign would be the other";
        QTest::newRow("another letter") << "letter" << 3
                                        << "the file says in a way that is not known here how its tokens are stored";
    }
    void lyingNumbers() {
        QFETCH(QString, change);
        QFETCH(int, prior);
        QFETCH(QString, problem);
        const Bank bank = fourPriors();
        BankTensors tensors(file());
        if (change == "negative") tensors.at<TokenId>("ids", 0) = -1;
        if (change == "order") tensors.at<TokenId>("ids", 4) = 0;
        if (change == "twice") tensors.at<TokenId>("ids", 6) = tensors.at<TokenId>("ids", 5);
        if (change == "delta") tensors.at<float>("deltas", 1) = 0.75F;
        if (change == "nan") tensors.at<float>("deltas", 0) = std::nanf("");
        if (change == "scale") tensors.at<float>("scales", 0) = -1;
        if (change == "letter") tensors.metadata["stored"][3] = '2';
        tensors.write(file());
        std::vector<std::string> warnings;
        const Bank read = readBank(file(), warnings);
        for (int k = 0; k < 4; ++k) {
            const Prior& one = *read.priors[static_cast<std::size_t>(k)];
            QCOMPARE(one == *bank.priors[static_cast<std::size_t>(k)], k != prior);
            if (k != prior) continue;
            QCOMPARE(joined(one.problems), QStringLiteral("prior '%1': it came damaged out of a file (%2).")
                                               .arg(QString::fromStdString(one.name), problem));
        }
    }

    /// What is wrong with the file as a whole.
    void noBanks_data() {
        QTest::addColumn<QString>("change");
        QTest::addColumn<QString>("error");
        const auto row = [](const char* change, const char* error) { QTest::newRow(change) << change << error; };
        row("no format", "this is no bank: its metadata has no \"format\".");
        row("another format",
            "this is no bank that can be read here (expected metadata \"format\": \"counterpoint.bank/1\", found "
            "\"counterpoint.bank/2\").");
        row("no bank", "this is no bank: its metadata has no \"bank\".");
        row("bank no JSON",
            "metadata \"bank\", line 1: the JSON ends too early, near '{'; it may be cut short: copy or write it "
            "again.");
        row("bank a list", "its metadata \"bank\" has no list of priors.");
        row("no stored", "this is no bank: its metadata has no \"stored\".");
        row("fewer letters",
            "metadata \"bank\" and \"stored\" disagree about the number of priors (expected 4, found 3).");
        row("no ids", "tensor 'ids' is missing.");
        row("ids of another type", "tensor 'ids' has another number type (expected int32, found int64).");
        row("offsets of another length",
            "tensor 'offsets' does not fit the priors of the metadata (expected 5, found 4).");
        row("two scales", "tensor 'scales' does not fit the priors of the metadata (expected 1, found 2).");
        row("signs in two dimensions", "tensor 'signs' has another shape (expected one dimension, found 2).");
        row("more signs",
            "signs and deltas do not fit the supports of its priors (expected 2 bytes of signs and 7 deltas, found 3 "
            "and "
            "7).");
        row("fewer deltas",
            "signs and deltas do not fit the supports of its priors (expected 2 bytes of signs and 7 deltas, found 2 "
            "and "
            "6).");
    }
    void noBanks() {
        QFETCH(QString, change);
        fourPriors();
        BankTensors tensors(file());
        std::map<std::string, std::string>& metadata = tensors.metadata;
        if (change == "no format") metadata.erase("format");
        if (change == "another format") metadata["format"] = "counterpoint.bank/2";
        if (change == "no bank") metadata.erase("bank");
        if (change == "bank no JSON") metadata["bank"] = "{";
        if (change == "bank a list") metadata["bank"] = "[]";
        if (change == "no stored") metadata.erase("stored");
        if (change == "fewer letters") metadata["stored"].pop_back();
        if (change == "no ids") tensors.remove("ids");
        if (change == "ids of another type") tensors.tensor("ids").dtype = DType::I64, tensors.resize("ids", 8);
        if (change == "offsets of another length") tensors.resize("offsets", 4);
        if (change == "two scales") tensors.resize("scales", 2);
        if (change == "signs in two dimensions") tensors.tensor("signs").shape = {1, 2};
        if (change == "more signs") tensors.resize("signs", 3);
        if (change == "fewer deltas") tensors.resize("deltas", 6);
        tensors.write(file());
        std::vector<std::string> warnings;
        const QString error = QString::fromStdString(errorOf([&] { readBank(file(), warnings); }));
        QVERIFY2(error.startsWith(QString::fromStdString(file().string())), qPrintable(error));
        QTEST(error.mid(static_cast<int>(file().string().size()) + 2), "error");
    }

    /// A header that promises more than there is takes no memory.
    void promises() {
        writeFile(file(), length(std::uint64_t{1} << 25) + "{}");
        std::vector<std::string> warnings;
        QVERIFY(errorOf([&] { readBank(file(), warnings); }).ends_with("; copy or download it again."));
    }

    void notWritten() {
        fourPriors();
        const std::string before = readFile(file());
        Bank bank = banked({exact("p", {{1, 1}})});
        bank.name = std::string(100'000'001, 'x');
        QVERIFY(errorOf([&] { writeBank(bank, file()); }).find("its header would be too long") != std::string::npos);
        QVERIFY(readFile(file()) == before);
    }

  private:
    std::filesystem::path file() const { return folder() / "b.bank.safetensors"; }

    /// Written to file(): lists, exact deltas, one bit (9 tokens, 2 bytes), exact deltas; offsets 0 2 5 14 16.
    Bank fourPriors() const {
        Bank bank = banked({listed("lists", {2}, {3}, 0.5), exact("exact", {{1, 0.25}, {7, 2}, {9, -0.125}}),
                            exact("bits", {{0, 1}, {1, -1}, {2, -1}, {3, 1}, {4, 1}, {5, 1}, {6, -1}, {7, -1}, {8, 1}}),
                            exact("more", {{4, 8}, {5, 16}})});
        bank.level = 1;
        writeBank(bank, file());
        return bank;
    }

    void checkBytes(const Bank& bank, const IdSpace& ids) const {
        writeBank(bank, file(), ids);
        const BankBytes bytes = bytesOf(bank, ids, true);
        QCOMPARE(bytes.file, static_cast<std::uint64_t>(std::filesystem::file_size(file())));
        QCOMPARE(bytes.prior.size(), bank.priors.size());
        std::uint64_t sum = 0;
        for (const std::uint64_t share : bytes.prior) sum += share;
        QVERIFY(sum <= bytes.file);
    }
};

QTEST_GUILESS_MAIN(TestBankFile)
#include "tst_bankfile.moc"
