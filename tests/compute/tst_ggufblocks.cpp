// The block types of GGUF: against another implementation's numbers, and against blocks that are packed here from known
// integers and scales.
#include <cmath>
#include <random>

#include "compute/files/ggufblocks.h"
#include "compute/files/json.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;

namespace {

using Byte = std::uint8_t;

/// One block of integers, scales and offsets, packed as the layout says, and the numbers they stand for.
struct Packed {
    std::vector<Byte> bytes;
    std::vector<float> values;
};

/// Powers of two have the same bits in every arithmetic: float16 of 2^e.
std::uint16_t halfOf(int exponent) { return static_cast<std::uint16_t>((exponent + 15) << 10); }
void put(std::vector<Byte>& to, std::uint16_t half) {
    to.push_back(static_cast<Byte>(half & 255));
    to.push_back(static_cast<Byte>(half >> 8));
}

class Packer {
  public:
    explicit Packer(unsigned seed) : m_random(seed) {}

    /// `bits` 4 or 5; `offset` false: integers are stored plus half their range.
    Packed thirtyTwo(int bits, bool offset) {
        Packed p;
        const int d = exponent(), m = exponent();
        put(p.bytes, halfOf(d));
        if (offset) put(p.bytes, halfOf(m));
        const std::vector<int> q = integers(32, 1 << bits);
        std::uint32_t fifth = 0;
        for (std::size_t j = 0; j < 32; ++j) fifth |= static_cast<std::uint32_t>(q[j] >> 4) << j;
        if (bits == 5)
            for (int byte = 0; byte < 4; ++byte) p.bytes.push_back(static_cast<Byte>(fifth >> (8 * byte)));
        for (std::size_t j = 0; j < 16; ++j) p.bytes.push_back(static_cast<Byte>((q[j] & 15) | (q[j + 16] & 15) << 4));
        for (const int value : q)
            p.values.push_back(std::ldexp(static_cast<float>(offset ? value : value - (1 << (bits - 1))), d) +
                               (offset ? std::ldexp(1.0F, m) : 0.0F));
        return p;
    }

    Packed eight() {
        Packed p;
        const int d = exponent();
        put(p.bytes, halfOf(d));
        for (const int value : integers(32, 256)) {
            p.bytes.push_back(static_cast<Byte>(value - 128));
            p.values.push_back(std::ldexp(static_cast<float>(value - 128), d));
        }
        return p;
    }

    /// Q4_K and Q5_K.
    Packed scaled(int bits) {
        Packed p;
        const int d = exponent(), m = exponent();
        put(p.bytes, halfOf(d));
        put(p.bytes, halfOf(m));
        const std::vector<int> scale = integers(8, 64), offset = integers(8, 64), q = integers(256, 1 << bits);
        for (std::size_t j = 0; j < 4; ++j) p.bytes.push_back(static_cast<Byte>(scale[j] | scale[j + 4] >> 4 << 6));
        for (std::size_t j = 0; j < 4; ++j) p.bytes.push_back(static_cast<Byte>(offset[j] | offset[j + 4] >> 4 << 6));
        for (std::size_t j = 4; j < 8; ++j)
            p.bytes.push_back(static_cast<Byte>((scale[j] & 15) | (offset[j] & 15) << 4));
        if (bits == 5)
            for (std::size_t j = 0; j < 32; ++j) {
                int fifths = 0;
                for (std::size_t group = 0; group < 8; ++group) fifths |= q[32 * group + j] >> 4 << group;
                p.bytes.push_back(static_cast<Byte>(fifths));
            }
        for (std::size_t part = 0; part < 4; ++part)
            for (std::size_t j = 0; j < 32; ++j)
                p.bytes.push_back(static_cast<Byte>((q[64 * part + j] & 15) | (q[64 * part + 32 + j] & 15) << 4));
        for (std::size_t i = 0; i < 256; ++i)
            p.values.push_back(std::ldexp(static_cast<float>(scale[i / 32] * q[i]), d) -
                               std::ldexp(static_cast<float>(offset[i / 32]), m));
        return p;
    }

    Packed sixBits() {
        Packed p;
        const int d = exponent();
        const std::vector<int> scale = integers(16, 256), q = integers(256, 64);
        std::vector<Byte> lower(128), upper(64);
        for (std::size_t i = 0; i < 256; ++i) {
            const std::size_t half = i / 128, in = i % 128, row = in % 64, quarter = in / 32;
            lower[64 * half + row] |= static_cast<Byte>((q[i] & 15) << (in / 64 * 4));
            upper[32 * half + in % 32] |= static_cast<Byte>(q[i] >> 4 << (2 * quarter));
            p.values.push_back(std::ldexp(static_cast<float>((scale[i / 16] - 128) * (q[i] - 32)), d));
        }
        p.bytes = lower;
        p.bytes.insert(p.bytes.end(), upper.begin(), upper.end());
        for (const int s : scale) p.bytes.push_back(static_cast<Byte>(s - 128));
        put(p.bytes, halfOf(d));
        return p;
    }

  private:
    std::mt19937 m_random;
    int exponent() { return static_cast<int>(m_random() % 8) - 4; }
    std::vector<int> integers(std::size_t n, unsigned below) {
        std::vector<int> all(n);
        for (int& value : all) value = static_cast<int>(m_random() % below);
        return all;
    }
};

Packed randomBlock(GgmlType type, unsigned seed) {
    Packer packer(seed);
    switch (type) {
        case GgmlType::Q4_0:
            return packer.thirtyTwo(4, false);
        case GgmlType::Q4_1:
            return packer.thirtyTwo(4, true);
        case GgmlType::Q5_0:
            return packer.thirtyTwo(5, false);
        case GgmlType::Q5_1:
            return packer.thirtyTwo(5, true);
        case GgmlType::Q8_0:
            return packer.eight();
        case GgmlType::Q4_K:
            return packer.scaled(4);
        case GgmlType::Q5_K:
            return packer.scaled(5);
        default:
            return packer.sixBits();
    }
}

void everyBlockType() {
    QTest::addColumn<int>("number");
    for (const GgmlTypeRow& row : ggmlTypes())
        if (row.widen != nullptr) QTest::newRow(row.name.data()) << static_cast<int>(row.type);
}

}  // namespace

class TestGgufBlocks : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { counterpoint::tests::failOnAnyWarning(); }

    /// tests/data/gguf/make_blocks.py: bit by bit.
    void anotherImplementation_data() { everyBlockType(); }
    void anotherImplementation() {
        QFETCH(int, number);
        static const Json golden = readJson(counterpoint::tests::checkout() / "tests/data/gguf/blocks.json");
        const GgmlTypeRow& row = ggmlType(static_cast<GgmlType>(number));
        QVERIFY(golden.contains(row.name));
        const Json& entry = golden[std::string(row.name)];
        const QByteArray data = QByteArray::fromHex(QByteArray::fromStdString(entry["hex"].get<std::string>()));
        const std::vector<float> expected = entry["values"];
        QCOMPARE(data.size() % row.bytes, 0);
        const std::int64_t blocks = data.size() / row.bytes;
        QCOMPARE(static_cast<std::int64_t>(expected.size()), blocks * row.block);
        std::vector<float> found(expected.size());
        row.widen(reinterpret_cast<const std::byte*>(data.data()), blocks, found.data());
        QVERIFY(found == expected);
    }

    /// Packed here, widened there: exact, since the scales are powers of two.
    void packedBlocks_data() { everyBlockType(); }
    void packedBlocks() {
        QFETCH(int, number);
        const GgmlTypeRow& row = ggmlType(static_cast<GgmlType>(number));
        std::vector<float> expected;
        std::vector<Byte> data;
        for (unsigned seed = 0; seed < 100; ++seed) {
            const Packed block = randomBlock(row.type, seed);
            QCOMPARE(static_cast<std::int64_t>(block.bytes.size()), row.bytes);
            QCOMPARE(static_cast<std::int64_t>(block.values.size()), row.block);
            data.insert(data.end(), block.bytes.begin(), block.bytes.end());
            expected.insert(expected.end(), block.values.begin(), block.values.end());
        }
        std::vector<float> found(expected.size());
        row.widen(reinterpret_cast<const std::byte*>(data.data()), 100, found.data());
        QVERIFY(found == expected);
    }

    /// A scale of every kind of half precision, times 1 and times -2.
    void everyKindOfScale_data() {
        QTest::addColumn<int>("half");
        QTest::addColumn<float>("value");
        QTest::newRow("1.5") << 0x3E00 << 1.5F;
        QTest::newRow("-1.5") << 0xBE00 << -1.5F;
        QTest::newRow("the largest") << 0x7BFF << 65504.0F;
        QTest::newRow("the smallest that is normal") << 0x0400 << 0x1p-14F;
        QTest::newRow("subnormal") << 0x0003 << 0x3p-24F;
        QTest::newRow("subnormal below 0") << 0x83FF << -0x3FFp-24F;
        QTest::newRow("0") << 0x0000 << 0.0F;
        QTest::newRow("infinity") << 0x7C00 << INFINITY;
        QTest::newRow("-infinity") << 0xFC00 << -INFINITY;
    }
    void everyKindOfScale() {
        QFETCH(int, half);
        QFETCH(float, value);
        std::vector<Byte> block;
        put(block, static_cast<std::uint16_t>(half));
        block.resize(34, 1);
        block[3] = static_cast<Byte>(-2);
        std::vector<float> found(32);
        ggmlType(GgmlType::Q8_0).widen(reinterpret_cast<const std::byte*>(block.data()), 1, found.data());
        QVERIFY2(found[0] == value && found[1] == -2 * value, qPrintable(QString::number(double(found[0]))));
        block[0] = 0, block[1] = 0x7E;
        ggmlType(GgmlType::Q8_0).widen(reinterpret_cast<const std::byte*>(block.data()), 1, found.data());
        QVERIFY(std::isnan(found[0]));
    }

    void names() {
        QCOMPARE(ggmlTypeName(12), std::string("Q4_K"));
        QCOMPARE(ggmlTypeName(23), std::string("IQ4_XS"));
        QCOMPARE(ggmlTypeName(77), std::string("number 77"));
        QVERIFY(findGgmlType(10) == nullptr);
    }
};

QTEST_GUILESS_MAIN(TestGgufBlocks)
#include "tst_ggufblocks.moc"
