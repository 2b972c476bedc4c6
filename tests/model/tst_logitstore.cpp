// LogitStore: rows come back as they went in, from memory and from the file, while it grows, and through branches.

#include "compute/error.h"
#include "model/logitstore.h"
#include "tests/support/fixture.h"

#include <atomic>
#include <thread>

using namespace counterpoint;
using compute::Position;
using model::LogitStore;

namespace {

float value(Position p, std::size_t source, std::int64_t v) {
    return static_cast<float>(p) + 0.25f * static_cast<float>(source) + 1e-3f * static_cast<float>(v);
}

compute::RawRows rowsAt(Position p, std::size_t sources, std::int64_t vocabulary, std::size_t absent = SIZE_MAX) {
    compute::RawRows rows{p, std::vector<std::vector<float>>(sources)};
    for (std::size_t i = 0; i < sources; ++i)
        for (std::int64_t v = 0; i != absent && v < vocabulary; ++v) rows.rows[i].push_back(value(p, i, v));
    return rows;
}

bool holds(const LogitStore& store, Position p, std::size_t source) {
    const auto row = store.row(p, source);
    if (static_cast<std::int64_t>(row.size()) != store.vocabulary()) return false;
    for (std::size_t v = 0; v < row.size(); ++v)
        if (row[v] != value(p, source, static_cast<std::int64_t>(v))) return false;
    return true;
}

}  // namespace

class TestLogitStore : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { tests::failOnAnyWarning(); }

    void rowsComeBack_data() {
        QTest::addColumn<quint64>("budget");
        QTest::newRow("in memory") << (quint64{1} << 30);
        QTest::newRow("in the mapped file") << quint64{0};
    }
    void rowsComeBack() {
        // 700 rows of 2 x 3000 floats: several pages of pointers, several slabs.
        QFETCH(quint64, budget);
        LogitStore store(3000, 3, budget);
        QCOMPARE(store.end(), Position{0});
        for (Position p = 5; p < 705; ++p) store.append(rowsAt(p, 3, 3000, 1));
        QCOMPARE(store.first(), Position{5});
        QCOMPARE(store.end(), Position{705});
        QCOMPARE(store.bytes(), 700u * 2 * 3000 * 4);
        for (Position p = 5; p < 705; ++p) {
            QVERIFY(holds(store, p, 0));
            QVERIFY(holds(store, p, 2));
            QVERIFY(store.row(p, 1).empty());
        }
        QVERIFY(store.row(4, 0).empty());
        QVERIFY(store.row(705, 0).empty());
        QVERIFY(store.row(5, 3).empty());
        QCOMPARE(store.rows(6).rows.size(), std::size_t{3});
    }

    void refusesWrongRows() {
        LogitStore store(4, 2);
        store.append(rowsAt(1, 2, 4));
        QVERIFY_EXCEPTION_THROWN(store.append(rowsAt(3, 2, 4)), compute::Error);
        QVERIFY_EXCEPTION_THROWN(store.append(rowsAt(2, 2, 5)), compute::Error);
        QVERIFY_EXCEPTION_THROWN(store.append(rowsAt(2, 1, 4)), compute::Error);
        QCOMPARE(store.end(), Position{2});
    }

    void branches() {
        auto store = std::make_shared<LogitStore>(8, 2);
        for (Position p = 1; p < 20; ++p) store->append(rowsAt(p, 2, 8));
        const auto branch = store->branch(10);
        QCOMPARE(branch->end(), Position{10});
        QCOMPARE(branch->bytes(), 0u);
        QCOMPARE(branch->row(9, 1).data(), store->row(9, 1).data());
        compute::RawRows other = rowsAt(10, 2, 8);
        other.rows[0][0] = 77;
        branch->append(other);
        QCOMPARE(branch->row(10, 0)[0], 77.0f);
        QVERIFY(holds(*store, 10, 0));
        const auto second = branch->branch(11);
        store.reset();
        QVERIFY(holds(*branch, 9, 0));
        QCOMPARE(second->row(10, 0)[0], 77.0f);
        QVERIFY(holds(*second, 1, 1));
    }

    void readsWhileItGrows() {
        LogitStore store(64, 2);
        std::atomic<bool> wrong{false};
        std::jthread reader([&](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                const Position end = store.end();
                if (end > 1 && (!holds(store, end - 1, 1) || !holds(store, store.first(), 0))) wrong = true;
            }
        });
        for (Position p = 1; p < 3000; ++p) store.append(rowsAt(p, 2, 64));
        reader.request_stop();
        reader.join();
        QVERIFY(!wrong);
    }
};

QTEST_GUILESS_MAIN(TestLogitStore)
#include "tst_logitstore.moc"
