// Numbers that depend only on content: the same document gets the same number in every list.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>

#include "vector_width.hpp"

namespace podium {

constexpr std::uint64_t kPrime = 0x100000001b3ULL;

// FNV-1a over the bytes, from a state on.
inline std::uint64_t add_bytes(std::uint64_t h, const unsigned char* p, const unsigned char* end) {
    for (; p < end; ++p) h = (h ^ *p) * kPrime;
    return h;
}

// The seed is spread over all bits: a plain xor would only permute the first bytes.
inline std::uint64_t first_state(std::uint64_t seed) {
    return 0xcbf29ce484222325ULL ^ (seed * 0x9e3779b97f4a7c15ULL);
}

// The finaliser of splitmix64, which spreads the bits.
inline std::uint64_t spread_bits(std::uint64_t h) {
    h ^= h >> 30;
    h *= 0xbf58476d1ce4e5b9ULL;
    h ^= h >> 27;
    h *= 0x94d049bb133111ebULL;
    return h ^ (h >> 31);
}

// The number of strings that are hashed in parallel. Each byte waits for the product of the last one, so a single
// string would leave the processor idle.
constexpr Row kTogether = 64;

// The first 8 * words bytes of strings that start at begin + offsets[i].
inline __attribute__((always_inline)) void add_words(const unsigned char* begin, const Row* offsets, Row words,
                                                     std::uint64_t* h) {
    for (Row j = 0; j < words; ++j) {
        std::uint64_t word[kTogether];
        for (Row i = 0; i < kTogether; ++i) std::memcpy(&word[i], begin + offsets[i] + 8 * j, 8);
        for (int byte = 0; byte < 8; ++byte)
            for (Row i = 0; i < kTogether; ++i) {
                h[i] = (h[i] ^ (word[i] & 0xff)) * kPrime;
                word[i] >>= 8;
            }
    }
}

PODIUM_ANY_WIDTH
inline void add_words_of(const unsigned char* begin, const Row* offsets, Row words, std::uint64_t* h) {
    add_words(begin, offsets, words, h);
}

#ifdef PODIUM_WIDE
// AVX-512DQ multiplies eight 64-bit numbers in one instruction. GCC makes no clones for it.
__attribute__((target("avx512f,avx512dq"))) inline void add_words_by_dq(const unsigned char* begin, const Row* offsets,
                                                                        Row words, std::uint64_t* h) {
    add_words(begin, offsets, words, h);
}
#endif

inline void add_words_together(const unsigned char* begin, const Row* offsets, Row words, std::uint64_t* h) {
#ifdef PODIUM_WIDE
    static const bool has_dq = __builtin_cpu_supports("avx512dq");
    if (has_dq) return add_words_by_dq(begin, offsets, words, h);
#endif
    add_words_of(begin, offsets, words, h);
}

// Reads eight bytes as one number, lowest byte first.
inline bool are_alike(const Row* offsets) {
    if constexpr (std::endian::native != std::endian::little) return false;
    for (Row i = 1; i < kTogether; ++i)
        if (offsets[i + 1] - offsets[i] != offsets[1] - offsets[0]) return false;
    return true;
}

// out[i] is the hash of string i, bytes[offsets[i]:offsets[i + 1]].
inline void hash_strings(const unsigned char* bytes, const Row* offsets, Row n, std::uint64_t seed,
                         std::uint64_t* out) {
    const Row bunches = (n + kTogether - 1) / kTogether;
#pragma omp parallel for schedule(static) if (is_long(offsets[n] / 8))
    for (Row b = 0; b < bunches; ++b) {
        const Row first = b * kTogether, last = std::min(first + kTogether, n);
        Row done = 0;  // bytes of each string that are hashed so far
        std::uint64_t h[kTogether];
        std::fill(h, h + kTogether, first_state(seed));
        if (last - first == kTogether && are_alike(offsets + first)) {
            done = (offsets[first + 1] - offsets[first]) / 8 * 8;
            add_words_together(bytes, offsets + first, done / 8, h);
        }
        for (Row i = first; i < last; ++i)
            out[i] = spread_bits(add_bytes(h[i - first], bytes + offsets[i] + done, bytes + offsets[i + 1]));
    }
}

// Rows of one width are hashed eight words at a time, as eight states that are mixed at the end: a byte at a time,
// wide rows would take longer than their way from memory. The steps and constants are those of xxHash (XXH64).
using EightWords = std::uint64_t __attribute__((vector_size(8 * kLanes)));

constexpr std::uint64_t kWordPrime = 0x9e3779b185ebca87ULL, kStatePrime = 0xc2b2ae3d27d4eb4fULL;

// Rows that are hashed at the same time, because each step waits for the last one.
constexpr Row kRowsTogether = 4;

inline __attribute__((always_inline)) void add_row_words(EightWords& state, const EightWords& words) {
    state += words * kStatePrime;
    state = (state << 31) | (state >> 33);
    state *= kWordPrime;
}

// The last bytes of a row, with zeros behind them.
inline __attribute__((always_inline)) EightWords row_words(const unsigned char* from, Row n) {
    EightWords words = {};
    std::memcpy(&words, from, static_cast<std::size_t>(n));
    if constexpr (std::endian::native == std::endian::big)
        for (Row l = 0; l < kLanes; ++l) words[l] = __builtin_bswap64(words[l]);
    return words;
}

inline std::uint64_t mixed_lanes(std::uint64_t h, const EightWords& state) {
    for (Row l = 0; l < kLanes; ++l) {
        h = (h ^ state[l]) * kWordPrime;
        h = (h << 27) | (h >> 37);
    }
    return spread_bits(h);
}

template <Row n>
inline __attribute__((always_inline)) void hash_some_rows(const unsigned char* bytes, Row width,
                                                          const EightWords& start, std::uint64_t first,
                                                          std::uint64_t* out) {
    constexpr Row kStep = 8 * kLanes;
    EightWords states[n], zeros = {};
    for (Row i = 0; i < n; ++i) states[i] = start;
    Row at = 0;
    for (; at + kStep <= width; at += kStep)
        for (Row i = 0; i < n; ++i) add_row_words(states[i], row_words(bytes + i * width + at, kStep));
    for (Row i = 0; i < n && at < width; ++i)
        add_row_words(states[i], row_words(bytes + i * width + at, width - at));
    for (Row i = 0; i < n; ++i) add_row_words(states[i], zeros);  // mixes the last words once more
    for (Row i = 0; i < n; ++i) out[i] = mixed_lanes(first, states[i]);
}

inline __attribute__((always_inline)) void hash_row_block(const unsigned char* bytes, Row n, Row width,
                                                          std::uint64_t first, std::uint64_t* out) {
    EightWords start;
    for (Row l = 0; l < kLanes; ++l) start[l] = first + static_cast<std::uint64_t>(l + 1) * kWordPrime;
    Row i = 0;
    for (; i + kRowsTogether <= n; i += kRowsTogether)
        hash_some_rows<kRowsTogether>(bytes + i * width, width, start, first, out + i);
    for (; i < n; ++i) hash_some_rows<1>(bytes + i * width, width, start, first, out + i);
}

PODIUM_ANY_WIDTH
inline void hash_row_block_of(const unsigned char* bytes, Row n, Row width, std::uint64_t first, std::uint64_t* out) {
    hash_row_block(bytes, n, width, first, out);
}

#ifdef PODIUM_WIDE
__attribute__((target("avx512f,avx512dq"))) inline void hash_row_block_by_dq(const unsigned char* bytes, Row n,
                                                                             Row width, std::uint64_t first,
                                                                             std::uint64_t* out) {
    hash_row_block(bytes, n, width, first, out);
}
#endif

// out[i] is the hash of row i, bytes[i * width:(i + 1) * width].
inline void hash_rows(const unsigned char* bytes, Row n, Row width, std::uint64_t seed, std::uint64_t* out) {
    constexpr Row kBunch = 256;
    const Row bunches = (n + kBunch - 1) / kBunch;
    const std::uint64_t first = first_state(seed) ^ static_cast<std::uint64_t>(width);
#pragma omp parallel for schedule(static) if (is_long(n * width / 32))
    for (Row b = 0; b < bunches; ++b) {
        const Row i = b * kBunch, size = std::min(kBunch, n - i);
#ifdef PODIUM_WIDE
        static const bool has_dq = __builtin_cpu_supports("avx512dq");
        if (has_dq) {
            hash_row_block_by_dq(bytes + i * width, size, width, first, out + i);
            continue;
        }
#endif
        hash_row_block_of(bytes + i * width, size, width, first, out + i);
    }
}

}  // namespace podium
