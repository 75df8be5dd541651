// Packed strings: string i is bytes[bounds[i] .. bounds[i + 1]).
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "queries.hpp"
#include "string_hashes.hpp"

namespace podium {

struct PackedStrings {
    const unsigned char* bytes;
    const Row* bounds;

    std::string_view operator[](Row row) const {
        return {reinterpret_cast<const char*>(bytes) + bounds[row],
                static_cast<std::size_t>(bounds[row + 1] - bounds[row])};
    }
};

inline std::uint64_t load_bytes(const char* from, std::size_t n) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, n);
    return word;
}

// Hashes eight bytes at a time. Whole words overlap at the end of a string: one load instead of a loop. A product
// only moves bits up, so bits are spread at the end; otherwise the last bytes would hardly change the slot.
inline std::uint64_t table_hash(std::string_view text) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
    std::uint64_t h = text.size() * kOdd;
    const char* p = text.data();
    const std::size_t n = text.size();
    if (n < 8) {
        std::uint64_t word = 0;
        if (n >= 4) word = load_bytes(p, 4) << 32 | load_bytes(p + n - 4, 4);
        else if (n > 0) word = load_bytes(p, 1) << 16 | load_bytes(p + n / 2, 1) << 8 | load_bytes(p + n - 1, 1);
        return spread_bits((h ^ word) * kOdd);
    }
    for (std::size_t i = 0; i + 8 < n; i += 8) {
        h = (h ^ load_bytes(p + i, 8)) * kOdd;
        h ^= h >> 29;
    }
    return spread_bits((h ^ load_bytes(p + n - 8, 8)) * kOdd);
}

// A hash table of the rows of one query by their strings: open addressing, at most half full.
class StringTable {
  public:
    StringTable(const PackedStrings& strings, Row first, Row last) : strings_(strings), first_(first) {
        std::size_t size = 4;
        while (size < 2 * static_cast<std::size_t>(last - first)) size *= 2;
        slots_.assign(size, {0, -1});
        for (Row row = first; row < last; ++row) {
            const std::uint64_t hash = table_hash(strings[row]);
            Slot& slot = slots_[find(hash, strings[row])];
            if (slot.place < 0) slot = {tag(hash), static_cast<std::int32_t>(row - first)};
        }
    }

    // The first row of this string, or -1.
    Row row(std::string_view text) const {
        const std::int32_t place = slots_[find(table_hash(text), text)].place;
        return place < 0 ? -1 : first_ + place;
    }

  private:
    struct Slot {
        std::uint32_t tag;
        std::int32_t place;
    };

    static std::uint32_t tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

    // The slot that holds the string, or the free one where it belongs.
    std::size_t find(std::uint64_t hash, std::string_view text) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = hash & mask;
        while (slots_[at].place >= 0 &&
               (slots_[at].tag != tag(hash) || strings_[first_ + slots_[at].place] != text))
            at = (at + 1) & mask;
        return at;
    }

    PackedStrings strings_;
    Row first_;
    std::vector<Slot> slots_;
};

// For each row, the first row of the same query of the other strings with an equal string, or -1.
inline void match_strings(const PackedStrings& strings, const Row* offsets, const PackedStrings& others,
                          const Row* other_offsets, Row n_queries, Row* out) {
    const Row steps = 20 * (offsets[n_queries] + other_offsets[n_queries]);
    for_each_query(n_queries, steps, [=](Row q) {
        const StringTable table(others, other_offsets[q], other_offsets[q + 1]);
        for (Row row = offsets[q]; row < offsets[q + 1]; ++row) out[row] = table.row(strings[row]);
    });
}

}  // namespace podium
