// The inner loops against float64, the instruction sets against each other bit for bit, the conversions against Qt's,
// the pool.

#include <QFloat16>
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "compute/network/convert.h"
#include "compute/network/kernels/kernels.h"
#include "compute/pool.h"
#include "tests/support/fixture.h"

using namespace counterpoint::network;

namespace {

std::vector<float> numbers(std::size_t n, unsigned seed, double scale = 1.0) {
    std::mt19937 random(seed);
    std::vector<float> v(n);
    for (float& x : v) x = static_cast<float>(scale * (static_cast<double>(random()) / 2147483648.0 - 1.0));
    return v;
}

std::vector<std::uint16_t> narrowed(const std::vector<float>& v, WeightType type) {
    std::vector<std::uint16_t> out(v.size());
    convert(v.data(), WeightType::Float32, static_cast<std::int64_t>(v.size()), type, out.data());
    return out;
}

/// [rows][columns] -> [columns][rows]
template <class T>
std::vector<T> flipped(const std::vector<T>& m, int rows, int columns) {
    std::vector<T> out(m.size());
    if (m.empty()) return out;
    for (int n = 0; n < rows; ++n)
        for (int i = 0; i < columns; ++i)
            out[static_cast<std::size_t>(i * rows + n)] = m[static_cast<std::size_t>(n * columns + i)];
    return out;
}

/// All that this processor runs, the plain one first.
std::vector<const Kernels*> runnable() {
    std::vector<const Kernels*> all = {&kPlainKernels};
#if defined(__x86_64__)
    if (std::string_view(kernels().name) != "plain") all.push_back(&kAvx2Kernels);
    if (std::string_view(kernels().name) == "avx512") all.push_back(&kAvx512Kernels);
#endif
    return all;
}

}  // namespace

class TestNetworkKernels : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { counterpoint::tests::failOnAnyWarning(); }

    void matmulAgainstFloat64_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("columns");
        QTest::addColumn<int>("count");
        QTest::addColumn<bool>("transposed");
        for (const WeightType type : {WeightType::Float32, WeightType::BFloat16, WeightType::Float16})
            for (const auto& [rows, columns, count] :
                 {std::array{172, 64, 1}, std::array{64, 172, 1}, std::array{13, 1, 1}, std::array{33, 47, 1},
                  std::array{33, 47, 7}, std::array{20, 300, 64}, std::array{1, 16, 2}, std::array{150, 21, 13},
                  std::array{100, 900, 14}, std::array{229, 400, 25}})
                for (const bool transposed : {false, true})
                    QTest::addRow("%s %dx%d, %d%s", std::string(typeName(type)).c_str(), rows, columns, count,
                                  transposed ? ", transposed" : "")
                        << static_cast<int>(type) << rows << columns << count << transposed;
    }
    void matmulAgainstFloat64() {
        QFETCH(int, type);
        QFETCH(int, rows);
        QFETCH(int, columns);
        QFETCH(int, count);
        QFETCH(bool, transposed);
        const auto kind = static_cast<WeightType>(type);
        std::vector<float> w = numbers(static_cast<std::size_t>(rows * columns), 1);
        const std::vector<float> x = numbers(static_cast<std::size_t>(count * columns), 2),
                                 bias = numbers(static_cast<std::size_t>(rows), 3);
        std::vector<std::uint16_t> narrow;
        std::vector<float> held = w;
        if (kind != WeightType::Float32) {
            narrow = narrowed(w, kind);
            convert(narrow.data(), kind, rows * columns, WeightType::Float32, held.data());
        }
        if (transposed) {
            w = flipped(w, rows, columns);
            narrow = flipped(narrow, rows, columns);
        }
        constexpr std::size_t kBeyond = 16;  // what lies behind the weights may be anything, what lies behind y stays
        w.resize(w.size() + kBeyond, NAN);
        narrow.resize(narrow.size() + kBeyond, 0x7FFF);
        const void* weights = kind == WeightType::Float32 ? static_cast<const void*>(w.data()) : narrow.data();
        std::vector<std::vector<float>> results;
        for (const Kernels* k : runnable()) {
            std::vector<float> y(static_cast<std::size_t>(rows * count) + kBeyond, -1.0f), one = y;
            k->matmul({weights, kind, columns, bias.data(), x.data(), count, y.data(), rows, transposed}, 0, rows);
            for (int t = 0; t < count; ++t)  // one column at a time, in two parts: the same bits
                for (const auto& [from, to] : {std::pair{0, rows / 3}, std::pair{rows / 3, rows}})
                    k->matmul({weights, kind, columns, bias.data(), x.data() + t * columns, 1, one.data() + t * rows,
                               rows, transposed},
                              from, to);
            QCOMPARE(y, one);
            QVERIFY(std::count(y.end() - kBeyond, y.end(), -1.0f) == kBeyond);
            for (int t = 0; t < count; ++t)
                for (int n = 0; n < rows; ++n) {
                    double exact = bias[static_cast<std::size_t>(n)], size = std::abs(exact);
                    for (int i = 0; i < columns; ++i) {
                        const double term = static_cast<double>(held[static_cast<std::size_t>(n * columns + i)]) *
                                            x[static_cast<std::size_t>(t * columns + i)];
                        exact += term;
                        size += std::abs(term);
                    }
                    QVERIFY2(std::abs(y[static_cast<std::size_t>(t * rows + n)] - exact) < 1e-6 * size + 1e-7, k->name);
                }
            results.push_back(y);
        }
        if (results.size() == 3) QCOMPARE(results[1], results[2]);  // AVX2 and AVX-512: the same bits
    }

    void attentionAgainstFloat64_data() {
        QTest::addColumn<int>("headDim");
        QTest::addColumn<int>("count");
        QTest::addColumn<int>("first");
        QTest::addColumn<double>("cap");
        for (const int headDim : {2, 5, 6, 8, 16, 64})
            for (const int count : {1, 15, 16, 17, 63, 64, 65, 200})
                QTest::addRow("D %d, %d positions", headDim, count) << headDim << count << 0 << 0.0;
        for (const auto& [count, first] : {std::array{1, 0}, std::array{17, 16}, std::array{64, 1}, std::array{65, 64},
                                           std::array{200, 127}, std::array{200, 128}, std::array{200, 190}})
            for (const double cap : {0.0, 2.0})
                QTest::addRow("positions %d to %d, cap %g", first, count, cap) << 8 << count << first << cap;
    }
    void attentionAgainstFloat64() {
        QFETCH(int, headDim);
        QFETCH(int, count);
        QFETCH(int, first);
        QFETCH(double, cap);
        const int D = headDim, pages = (count + kPage - 1) / kPage;
        std::vector<std::vector<float>> memory;
        std::vector<const float*> addresses;
        for (int p = 0; p < pages; ++p) {
            memory.push_back(numbers(static_cast<std::size_t>(2 * D * kPage), static_cast<unsigned>(10 + p), 2.0));
            if (p == pages - 1)  // what is beyond the last position may be anything
                for (int d = 0; d < 2 * D; ++d)
                    for (int s = count - p * kPage; s < kPage; ++s)
                        memory.back()[static_cast<std::size_t>(d * kPage + s)] = NAN;
        }
        for (const auto& m : memory) addresses.push_back(m.data());
        const std::vector<float> q = numbers(static_cast<std::size_t>(D), 5, 3.0);
        const float scale = 1.0f / std::sqrt(static_cast<float>(D));
        std::vector<double> expected(static_cast<std::size_t>(D), 0.0);
        double sum = 0;
        for (int p = first; p < count; ++p) {
            const std::vector<float>& page = memory[static_cast<std::size_t>(p / kPage)];
            double score = 0;
            for (int d = 0; d < D; ++d)
                score += static_cast<double>(q[static_cast<std::size_t>(d)]) *
                         page[static_cast<std::size_t>(d * kPage + p % kPage)];
            score *= scale;
            const double e = std::exp(cap > 0.0 ? cap * std::tanh(score / cap) : score);
            sum += e;
            for (int d = 0; d < D; ++d)
                expected[static_cast<std::size_t>(d)] +=
                    e * page[static_cast<std::size_t>((D + d) * kPage + p % kPage)];
        }
        std::vector<std::vector<float>> results;
        for (const Kernels* k : runnable()) {
            std::vector<float> scores(static_cast<std::size_t>(pages * kPage)), sums(static_cast<std::size_t>(D * 16)),
                out(static_cast<std::size_t>(D));
            k->attend({q.data(), addresses.data(), 0, D, count, scale, scores.data(), sums.data(), out.data(), first,
                       static_cast<float>(cap)});
            for (std::size_t d = 0; d < out.size(); ++d) QVERIFY2(std::abs(out[d] - expected[d] / sum) < 2e-6, k->name);
            results.push_back(out);
        }
        if (results.size() == 3) QCOMPARE(results[1], results[2]);
    }

    void normAndSilu() {
        for (const int n : {1, 8, 16, 40, 172}) {
            const std::vector<float> x = numbers(static_cast<std::size_t>(n), 21, 4.0),
                                     w = numbers(static_cast<std::size_t>(n), 22);
            double squares = 0;
            for (const float v : x) squares += static_cast<double>(v) * v;
            std::vector<std::vector<float>> norms, gates;
            for (const Kernels* k : runnable()) {
                std::vector<float> out(x.size()), gate = x;
                k->rmsNorm(x.data(), w.data(), 1e-5f, n, out.data());
                k->activate(Activation::Silu, gate.data(), w.data(), n);
                for (std::size_t i = 0; i < x.size(); ++i) {
                    const double normed = x[i] / std::sqrt(squares / n + 1e-5) * w[i],
                                 gated = x[i] / (1 + std::exp(-static_cast<double>(x[i]))) * w[i];
                    QVERIFY2(std::abs(out[i] - normed) < 5e-7 * std::abs(normed) + 1e-9, k->name);
                    QVERIFY2(std::abs(gate[i] - gated) < 5e-7 * std::abs(gated) + 1e-9, k->name);
                }
                norms.push_back(out);
                gates.push_back(gate);
            }
            if (norms.size() == 3) {
                QCOMPARE(norms[1], norms[2]);
                QCOMPARE(gates[1], gates[2]);
            }
        }
    }

    void layerNormAgainstFloat64() {
        for (const int n : {1, 8, 16, 40, 172}) {
            std::vector<float> x = numbers(static_cast<std::size_t>(n), 31, 4.0);
            for (float& v : x) v += 10.0f;  // the mean has to go
            const std::vector<float> w = numbers(x.size(), 32), b = numbers(x.size(), 33);
            double mean = 0, squares = 0;
            for (const float v : x) mean += static_cast<double>(v) / n;
            for (const float v : x) squares += (v - mean) * (v - mean);
            const double scale = 1.0 / std::sqrt(squares / n + 1e-5);
            std::vector<std::vector<float>> results;
            for (const Kernels* k : runnable()) {
                std::vector<float> out(x.size()), plain(x.size());
                k->layerNorm(x.data(), w.data(), b.data(), 1e-5f, n, out.data());
                k->layerNorm(x.data(), w.data(), nullptr, 1e-5f, n, plain.data());
                for (std::size_t i = 0; i < x.size(); ++i) {
                    const double expected = (x[i] - mean) * scale * w[i];
                    // what is lost is lost in x − mean, where both are near 10
                    QVERIFY2(std::abs(plain[i] - expected) < 3e-6 * scale + 1e-6 * std::abs(expected), k->name);
                    QVERIFY2(std::abs(out[i] - (expected + b[i])) < 3e-6 * scale + 1e-6, k->name);
                }
                results.push_back(out);
            }
            if (results.size() == 3) QCOMPARE(results[1], results[2]);
        }
    }

    void activationsAndCap() {
        std::vector<float> x = numbers(299, 41, 6.0);
        x.push_back(0.0f);
        const auto gelu = [](double v) { return 0.5 * v * std::erfc(-v / std::sqrt(2.0)); };
        const auto geluTanh = [](double v) {
            return 0.5 * v * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (v + 0.044715 * v * v * v)));
        };
        std::vector<std::vector<float>> results;
        for (const Kernels* k : runnable()) {
            std::vector<float> a = x, b = x, c = x, gated = x;
            const auto n = static_cast<std::int64_t>(x.size());
            k->activate(Activation::Gelu, a.data(), nullptr, n);
            k->activate(Activation::GeluTanh, b.data(), nullptr, n);
            k->softCap(c.data(), 2.5f, n);
            k->activate(Activation::Gelu, gated.data(), x.data(), n);
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double v = x[i], near = 3e-7 * std::max(1.0, std::abs(v));
                QVERIFY2(std::abs(a[i] - gelu(v)) < near, k->name);
                QVERIFY2(std::abs(b[i] - geluTanh(v)) < near, k->name);
                QVERIFY2(std::abs(c[i] - 2.5 * std::tanh(v / 2.5)) < 1e-6, k->name);
                QCOMPARE(gated[i], a[i] * x[i]);
            }
            for (const Activation f : {Activation::Gelu, Activation::GeluTanh}) {
                std::vector<float> ends = {-1e30f, -200.0f, 200.0f, 1e30f, NAN};
                k->activate(f, ends.data(), nullptr, 5);
                QVERIFY(std::abs(ends[0]) < 1e-7f && std::abs(ends[1]) < 1e-7f);
                QVERIFY(ends[2] == 200.0f && ends[3] == 1e30f && std::isnan(ends[4]));
            }
            for (std::vector<float>* v : {&b, &c}) a.insert(a.end(), v->begin(), v->end());
            results.push_back(a);
        }
        if (results.size() == 3) QCOMPARE(results[1], results[2]);
    }

    void siluAtTheEnds() {
        for (const Kernels* k : runnable()) {
            std::vector<float> gate = {-1e30f, -200.0f, -90.0f, 90.0f, 1e30f, NAN, 0.0f};
            const std::vector<float> up(gate.size(), 1.0f);
            k->activate(Activation::Silu, gate.data(), up.data(), static_cast<std::int64_t>(gate.size()));
            QVERIFY(std::abs(gate[1]) < 1e-30f && std::abs(gate[2]) < 1e-30f);
            QCOMPARE(gate[3], 90.0f);
            QCOMPARE(gate[4], 1e30f);
            QVERIFY(std::isnan(gate[5]));
            QCOMPARE(gate[6], 0.0f);
        }
    }

    /// Every one of the 65,536 patterns, both ways, in every instruction set.
    void halfPrecisionPatterns() {
        std::vector<std::uint16_t> all(65536);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
        for (const Kernels* k : runnable()) {
            std::vector<float> half(all.size()), brain(all.size());
            k->widen(all.data(), WeightType::Float16, 65536, half.data());
            k->widen(all.data(), WeightType::BFloat16, 65536, brain.data());
            for (std::size_t i = 0; i < all.size(); ++i) {
                const float expected = static_cast<float>(std::bit_cast<qfloat16>(all[i]));
                QVERIFY2(std::isnan(expected)
                             ? std::isnan(half[i])
                             : std::bit_cast<std::uint32_t>(half[i]) == std::bit_cast<std::uint32_t>(expected),
                         k->name);
                QVERIFY(std::bit_cast<std::uint32_t>(brain[i]) == static_cast<std::uint32_t>(i) << 16);
                if (std::isnan(half[i]) == false) QCOMPARE(toFloat16(half[i]), all[i]);
                if (std::isnan(brain[i]) == false) QCOMPARE(toBFloat16(brain[i]), all[i]);
            }
        }
    }

    /// As many numbers as asked for, whatever the lanes.
    void widenedToTheLast() {
        const std::vector<float> v = numbers(40, 6);
        for (const WeightType type : {WeightType::Float32, WeightType::BFloat16, WeightType::Float16}) {
            const std::vector<std::uint16_t> narrow =
                narrowed(v, type == WeightType::Float32 ? WeightType::Float16 : type);
            const void* in = type == WeightType::Float32 ? static_cast<const void*>(v.data()) : narrow.data();
            std::vector<float> all(v.size());
            convert(in, type, 40, WeightType::Float32, all.data());
            for (const Kernels* k : runnable())
                for (const std::size_t n : {1u, 15u, 16u, 23u, 33u}) {
                    std::vector<float> out(v.size(), -7.0f);
                    k->widen(in, type, static_cast<std::int64_t>(n), out.data());
                    QVERIFY2(std::equal(out.begin(), out.begin() + n, all.begin()), k->name);
                    QVERIFY2(std::count(out.begin(), out.end(), -7.0f) == static_cast<std::ptrdiff_t>(v.size() - n),
                             k->name);
                }
        }
    }

    void narrowingRoundsToNearestEven() {
        std::mt19937 random(3);
        for (int i = 0; i < 200000; ++i) {
            const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
            if (!std::isfinite(x)) continue;
            // Qt's own conversion goes through the processor's or a table that truncates: compare by distance instead
            const std::uint16_t h = toFloat16(x);
            float back = 0, up = 0, down = 0;
            const auto wide = [](std::uint16_t bits, float& out) {
                kPlainKernels.widen(&bits, WeightType::Float16, 1, &out);
            };
            wide(h, back);
            if (std::isinf(back)) {
                QVERIFY(std::abs(x) >= 65520.0f);
                continue;
            }
            wide(static_cast<std::uint16_t>(h + 1), up);
            if ((h & 0x7fff) != 0) wide(static_cast<std::uint16_t>(h - 1), down);
            const double miss = std::abs(static_cast<double>(x) - back);
            QVERIFY(!(std::abs(static_cast<double>(x) - up) < miss) &&
                    !(std::abs(static_cast<double>(x) - down) < miss));
        }
        QCOMPARE(toFloat16(65519.99f), std::uint16_t{0x7bff});
        QCOMPARE(toFloat16(65520.0f), std::uint16_t{0x7c00});
        QCOMPARE(toFloat16(1.0f + 0x1p-11f), std::uint16_t{0x3c00});      // a tie: to even
        QCOMPARE(toFloat16(1.0f + 3 * 0x1p-11f), std::uint16_t{0x3c02});  // a tie: to even
        QCOMPARE(toBFloat16(1.0f + 0x1p-8f), std::uint16_t{0x3f80});
        QCOMPARE(toBFloat16(1.0f + 3 * 0x1p-8f), std::uint16_t{0x3f82});
    }

    void conversionCountsWhatOverflows() {
        const std::vector<float> x = {1.0f, 70000.0f, -70000.0f, INFINITY};
        std::vector<std::uint16_t> out(4);
        QCOMPARE(convert(x.data(), WeightType::Float32, 4, WeightType::Float16, out.data()), std::int64_t{2});
        QCOMPARE(convert(x.data(), WeightType::Float32, 4, WeightType::BFloat16, out.data()), std::int64_t{0});
    }

    void poolDoesEveryTaskOnce() {
        for (int round = 0; round < 2000; ++round) {
            std::vector<std::atomic<int>> done(static_cast<std::size_t>(1 + round % 7));
            std::atomic<bool> strange{false};
            counterpoint::compute::Pool::instance().run(1 + round % 3, static_cast<std::int64_t>(done.size()),
                                                        [&](std::int64_t task, int worker) {
                                                            if (worker < 0 || worker > round % 3) strange = true;
                                                            ++done[static_cast<std::size_t>(task)];
                                                        });
            for (const auto& d : done) QCOMPARE(d.load(), 1);
            QVERIFY(!strange);
        }
    }

    void poolServesTwoCallers() {
        const auto work = [](std::int64_t& total) {
            for (int round = 0; round < 500; ++round) {
                std::atomic<std::int64_t> sum{0};
                counterpoint::compute::Pool::instance().run(2, 20, [&](std::int64_t task, int) { sum += task; });
                total += sum;
            }
        };
        std::int64_t first = 0, second = 0;
        std::thread other([&] { work(second); });
        work(first);
        other.join();
        QCOMPARE(first, std::int64_t{500 * 190});
        QCOMPARE(second, std::int64_t{500 * 190});
    }
};

QTEST_GUILESS_MAIN(TestNetworkKernels)
#include "tst_network_kernels.moc"
