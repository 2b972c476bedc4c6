// .bank.safetensors -> the JSON of the bank: what its tensors say put back where it was taken from. Nothing is larger
// than the file: every count is held against the sizes of its tensors first.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "compute/error.h"
#include "compute/files/safetensors.h"
#include "compute/priors/bankparts.h"

namespace counterpoint::compute {
namespace {

constexpr std::size_t kBits = 8;

/// Where each part of a prior begins, in its tensor; nothing where the offsets before and behind it lie.
struct Place {
    bool known = false;  ///< its ids
    std::size_t begin = 0, n = 0;
    std::optional<std::size_t> numbers;  ///< its bytes of signs or its deltas
    std::size_t scale = 0;
};

class Unpacker {
  public:
    explicit Unpacker(const std::filesystem::path& file)
        : m_where(file.string()), m_tensors(Safetensors::openFile(file)) {
        if (metadata("format") != kBankFormat)
            fail("this is no bank that can be read here", "metadata \"format\": \"" + std::string(kBankFormat) + '"',
                 '"' + metadata("format") + '"');
        m_bank = parseOrderedJson(metadata("bank"), m_where + ", metadata \"bank\"");
        m_stored = metadata("stored");
    }

    OrderedJson run() {
        const auto priors = m_bank.is_object() ? m_bank.find("priors") : m_bank.end();
        if (!m_bank.is_object() || priors == m_bank.end() || !priors->is_array())
            fail("its metadata \"bank\" has no list of priors");
        if (priors->size() != m_stored.size())
            fail("metadata \"bank\" and \"stored\" disagree about the number of priors", std::to_string(priors->size()),
                 std::to_string(m_stored.size()));
        const auto oneBits = static_cast<std::size_t>(std::count(m_stored.begin(), m_stored.end(), '1'));
        m_ids = numbers<TokenId>("ids", {DType::I32}, std::nullopt);
        m_offsets = numbers<std::int64_t>("offsets", {DType::I64}, m_stored.size() + 1);
        m_signs = numbers<std::uint8_t>("signs", {DType::U8}, std::nullopt);
        m_scales = floats("scales", oneBits);
        m_deltas = floats("deltas", std::nullopt);
        const std::vector<Place> places = placesOf();
        for (std::size_t k = 0; k < places.size(); ++k) restore((*priors)[k], m_stored[k], places[k]);
        return std::move(m_bank);
    }

  private:
    std::string m_where;
    Safetensors m_tensors;
    OrderedJson m_bank;
    std::string m_stored;
    std::vector<TokenId> m_ids;
    std::vector<std::int64_t> m_offsets;
    std::vector<std::uint8_t> m_signs;
    std::vector<double> m_scales, m_deltas;

    [[noreturn]] void fail(std::string what, std::string expected = {}, std::string found = {}) const {
        throw Error(
            {.where = m_where, .what = std::move(what), .expected = std::move(expected), .found = std::move(found)});
    }

    std::string metadata(const char* key) const {
        const auto found = m_tensors.metadata().find(key);
        if (found == m_tensors.metadata().end())
            fail("this is no bank: its metadata has no \"" + std::string(key) + '"');
        return found->second;
    }

    const TensorView& tensor(const char* name, std::initializer_list<DType> types,
                             std::optional<std::size_t> count) const {
        const TensorView* view = m_tensors.find(name);
        if (view == nullptr) fail("tensor '" + std::string(name) + "' is missing");
        if (std::find(types.begin(), types.end(), view->dtype) == types.end())
            fail("tensor '" + std::string(name) + "' has another number type", std::string(dtypeName(*types.begin())),
                 std::string(dtypeName(view->dtype)));
        if (view->shape.size() != 1)
            fail("tensor '" + std::string(name) + "' has another shape", "one dimension",
                 std::to_string(view->shape.size()));
        if (count && static_cast<std::uint64_t>(view->shape[0]) != *count)
            fail("tensor '" + std::string(name) + "' does not fit the priors of the metadata", std::to_string(*count),
                 std::to_string(view->shape[0]));
        return *view;
    }

    template <class T>
    static std::vector<T> copied(const TensorView& view) {
        std::vector<T> values(view.bytes.size() / sizeof(T));
        if (!values.empty()) std::memcpy(values.data(), view.bytes.data(), values.size() * sizeof(T));
        return values;
    }
    template <class T>
    std::vector<T> numbers(const char* name, std::initializer_list<DType> types,
                           std::optional<std::size_t> count) const {
        return copied<T>(tensor(name, types, count));
    }
    std::vector<double> floats(const char* name, std::optional<std::size_t> count) const {
        const TensorView& view = tensor(name, {DType::F32, DType::F64}, count);
        if (view.dtype == DType::F64) return copied<double>(view);
        const std::vector<float> narrow = copied<float>(view);
        return {narrow.begin(), narrow.end()};
    }

    /// Offsets that cannot be right: outside of the ids, or not in order with the next one that is inside.
    std::vector<bool> lying() const {
        const auto N = static_cast<std::int64_t>(m_ids.size());
        std::vector<bool> lies(m_offsets.size());
        std::optional<std::size_t> last;
        for (std::size_t j = 0; j < m_offsets.size(); ++j) {
            const std::int64_t offset = m_offsets[j];
            const bool end = j + 1 == m_offsets.size();
            if (offset < 0 || offset > N || (j == 0 && offset != 0) || (end && offset != N)) {
                lies[j] = true;
                continue;
            }
            if (last && m_offsets[*last] > offset) lies[j] = lies[*last] = true;
            last = j;
        }
        return lies;
    }

    /// Numbers are counted from the front to the first lie and from the back to the last one.
    std::vector<Place> placesOf() const {
        const std::size_t M = m_stored.size();
        const std::vector<bool> lies = lying();
        std::vector<Place> places(M);
        for (std::size_t k = 0, scale = 0; k < M; ++k) {
            places[k].scale = scale;
            if (m_stored[k] == '1') ++scale;
            if (lies[k] || lies[k + 1]) continue;
            places[k].known = true;
            places[k].begin = static_cast<std::size_t>(m_offsets[k]);
            places[k].n = static_cast<std::size_t>(m_offsets[k + 1]) - places[k].begin;
        }
        const auto size = [&](std::size_t k) {
            return m_stored[k] == '1' ? (places[k].n + kBits - 1) / kBits : places[k].n;
        };
        std::size_t signs = 0, deltas = 0, k = 0;
        for (; k < M && places[k].known; ++k) {
            std::size_t& at = m_stored[k] == '1' ? signs : deltas;
            places[k].numbers = at;
            at += size(k);
        }
        if (signs > m_signs.size() || deltas > m_deltas.size() ||
            (k == M && (signs != m_signs.size() || deltas != m_deltas.size())))
            fail("signs and deltas do not fit the supports of its priors",
                 std::to_string(signs) + " bytes of signs and " + std::to_string(deltas) + " deltas",
                 std::to_string(m_signs.size()) + " and " + std::to_string(m_deltas.size()));
        std::size_t signsLeft = m_signs.size() - signs, deltasLeft = m_deltas.size() - deltas;
        for (std::size_t back = M; back > k && places[back - 1].known; --back) {
            std::size_t& left = m_stored[back - 1] == '1' ? signsLeft : deltasLeft;
            if (size(back - 1) > left) fail("signs and deltas do not fit the supports of its priors");
            left -= size(back - 1);
            places[back - 1].numbers = left + (m_stored[back - 1] == '1' ? signs : deltas);
        }
        return places;
    }

    static void damage(OrderedJson& prior, const std::string& what) {
        if (prior.is_object()) prior["damaged"] = what;
    }

    void restore(OrderedJson& prior, char letter, const Place& place) const {
        if (letter == 'w') return;
        if (letter != 'l' && letter != 'd' && letter != '1')
            return damage(prior, "the file says in a way that is not known here how its tokens are stored");
        if (!place.known || !place.numbers) return damage(prior, "the offsets of its tokens in the file are wrong");
        const auto ids = std::span(m_ids).subspan(place.begin, place.n);
        const bool ascending = std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end();
        if (!ascending || (!ids.empty() && ids.front() < 0))
            return damage(prior, "its token ids in the file are not ascending from 0");
        if (letter == '1' && m_scales[place.scale] < 0)
            return damage(prior, "its scale in the file is below 0, so that every sign would be the other");
        std::vector<double> delta(ids.size());
        for (std::size_t j = 0; j < delta.size(); ++j) delta[j] = deltaOf(letter, place, j);
        if (letter == 'l')
            restoreLists(prior, ids, delta);
        else
            restoreDelta(prior, ids, delta);
    }

    double deltaOf(char letter, const Place& place, std::size_t j) const {
        if (letter != '1') return m_deltas[*place.numbers + j];
        const bool plus = (m_signs[*place.numbers + j / kBits] >> j % kBits & 1) != 0;
        return plus ? m_scales[place.scale] : -m_scales[place.scale];
    }

    /// The lists' Δ are in the JSON too (c, δ₊, δ₋): a file whose two accounts differ is not believed.
    static void restoreLists(OrderedJson& prior, std::span<const TokenId> ids, const std::vector<double>& delta) {
        if (!prior.is_object()) return;
        const auto at = [&](const char* key) {
            const auto found = prior.find(key);
            return found != prior.end() && found->is_number() ? found->get<double>() : 1.0;
        };
        const double plus = at("confidence") * at("delta_plus"), minus = at("confidence") * at("delta_minus");
        OrderedJson promote = OrderedJson::array(), demote = OrderedJson::array();
        for (std::size_t j = 0; j < ids.size(); ++j) {
            if (delta[j] == plus)
                promote.push_back(ids[j]);
            else if (delta[j] == -minus)
                demote.push_back(ids[j]);
            else
                return damage(prior,
                              "its deltas in the file are not those of its confidence, delta_plus and delta_minus");
        }
        prior["promote"] = std::move(promote);
        prior["demote"] = std::move(demote);
    }

    static void restoreDelta(OrderedJson& prior, std::span<const TokenId> ids, const std::vector<double>& delta) {
        if (!prior.is_object()) return;
        OrderedJson object = OrderedJson::object();
        auto& entries = object.get_ref<OrderedJson::object_t&>();
        for (std::size_t j = 0; j < ids.size(); ++j) entries.emplace_back(std::to_string(ids[j]), number(delta[j]));
        prior["delta"] = std::move(object);
    }
};

}  // namespace

OrderedJson jsonFromTensors(const std::filesystem::path& file) { return Unpacker(file).run(); }

}  // namespace counterpoint::compute
