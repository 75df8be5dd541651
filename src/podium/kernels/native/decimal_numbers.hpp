// Decimal numbers: text -> double and back, without locale, exactly rounded.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace podium {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// 10^0 .. 10^22 are exact doubles, so m / 10^e with m < 2^53 is rounded once (Clinger's fast path).
inline constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Marks the bytes that are not digits by set bits (only the lowest such byte is reliable).
inline std::uint64_t not_digits(std::uint64_t word) {
    constexpr std::uint64_t high = 0xF0F0F0F0F0F0F0F0, zeros = 0x3030303030303030;
    return ((word & high) ^ zeros) | (((word + 0x0606060606060606) & high) ^ zeros);
}

// The number that eight digits make, first digit in the lowest byte: added up pairwise.
inline std::uint64_t add_up(std::uint64_t word) {
    word = (word & 0x0F0F0F0F0F0F0F0F) * 2561 >> 8;
    word = (word & 0x00FF00FF00FF00FF) * 6553601 >> 16;
    return (word & 0x0000FFFF0000FFFF) * 42949672960001 >> 32;
}

inline constexpr bool kLittleEndian = std::endian::native == std::endian::little;

// Reads eight digits at a time: finds their end, aligns them at the top of a word and adds them up. Appends them
// to the mantissa and moves p past them.
inline void parse_digits(const char*& p, const char* end, std::uint64_t& mantissa) {
    static constexpr std::uint64_t kPowers[] = {1,       10,        100,        1'000,      10'000,
                                                100'000, 1'000'000, 10'000'000, 100'000'000};
    while (kLittleEndian && end - p >= 8) {
        std::uint64_t word;
        std::memcpy(&word, p, 8);
        const std::uint64_t others = not_digits(word);
        const int n = others ? std::countr_zero(others) / 8 : 8;
        if (n == 0) return;
        mantissa = mantissa * kPowers[n] + add_up(word << 8 * (8 - n));
        p += n;
        if (n < 8) return;
    }
    for (; p < end && is_digit(*p); ++p) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p - '0');
}

// Reads d.dddddd and a space, LETOR's own layout, in one load; returns false if the text is different.
inline bool parse_six_decimals(const char*& p, const char* end, double& out) {
    if (!kLittleEndian || end - p <= 8 || p[1] != '.' || p[8] != ' ') return false;
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    constexpr std::uint64_t point = 0xFF00, zero = 0x3000;
    word = (word & ~point) | zero;  // d0dddddd
    if (not_digits(word)) return false;
    const std::uint64_t first = word & 0xF;
    // The first digit counts 10^7 there, and 10^6 here.
    out = static_cast<double>(static_cast<std::int64_t>(add_up(word) - first * 9'000'000)) / 1e6;
    p += 8;
    return true;
}

// from_chars refuses numbers outside the range of a double. The decimal exponent of the leading digit decides
// between 0 and infinity.
inline double out_of_range(const char* begin, const char* end) {
    long magnitude = 0;
    bool seen_point = false, seen_nonzero = false;
    const char* p = begin;
    for (; p < end && *p != 'e' && *p != 'E'; ++p) {
        if (*p == '.') seen_point = true;
        else {
            if (*p != '0') seen_nonzero = true;
            if (!seen_point && seen_nonzero) ++magnitude;
            if (seen_point && !seen_nonzero) --magnitude;
        }
    }
    long exponent = 0;
    if (p < end) {
        bool minus = *++p == '-';
        if (*p == '-' || *p == '+') ++p;
        for (; p < end; ++p)
            if (exponent < 100'000'000) exponent = exponent * 10 + (*p - '0');
        if (minus) exponent = -exponent;
    }
    return magnitude + exponent > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

// What was read: no number; a number of at most 15 digits, which is certainly finite; or any other number.
enum class Number { kNone, kShort, kLong };

// A number with a long mantissa or an exponent: [begin, p) is its mantissa without the sign.
[[gnu::noinline]] inline Number parse_long_number(const char* begin, const char*& p, const char* end,
                                                  bool negative, double& out) {
    if (p < end && (*p == 'e' || *p == 'E')) {
        ++p;
        if (p < end && (*p == '-' || *p == '+')) ++p;
        if (p >= end || !is_digit(*p)) return Number::kNone;
        while (p < end && is_digit(*p)) ++p;
    }
    double value = 0;
    auto [stop, error] = std::from_chars(begin, p, value);
    if (error == std::errc::result_out_of_range) value = out_of_range(begin, p);
    out = negative ? -value : value;
    return Number::kLong;
}

// [+-] digits [. digits] [e [+-] digits], at least one digit in the mantissa. Moves p past the number;
// without a number, p is undefined. Overflow gives infinity.
[[gnu::always_inline]] inline Number parse_number(const char*& p, const char* end, double& out) {
    if (parse_six_decimals(p, end, out)) return Number::kShort;
    bool negative = false;
    if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    const char* begin = p;
    std::uint64_t mantissa = 0;
    for (; p < end && is_digit(*p); ++p) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p - '0');
    long digits = p - begin;
    long fraction = 0;
    if (p < end && *p == '.') {
        const char* point = ++p;
        parse_digits(p, end, mantissa);
        fraction = p - point;
        digits += fraction;
    }
    if (digits == 0) return Number::kNone;
    if (digits > 15 || (p < end && (*p | 0x20) == 'e'))
        return parse_long_number(begin, p, end, negative, out);
    // Less than 10^15, so less than 2^53; signed, because that conversion is a single instruction.
    const double value = static_cast<double>(static_cast<std::int64_t>(mantissa)) / kPowersOfTen[fraction];
    out = negative ? -value : value;
    return Number::kShort;
}

// The shortest text that reads back as the same number ("1", "0.25", "1e-05").
template <class T>
char* format_number(T value, char* out, char* end) {
    return std::to_chars(out, end, value).ptr;
}

}  // namespace podium
