// Vectors of eight doubles, with exp and log without branches. The compiler maps them to the vectors of the
// machine. Every width gives the same bits, because lanes are independent and are added in a fixed order.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "vector_width.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // all functions are inlined, so no vector is passed
#endif

#if defined(__GNUC__)
#define PODIUM_INLINE [[gnu::always_inline]] inline
#else
#define PODIUM_INLINE inline
#endif

namespace podium {

using Eight = double __attribute__((vector_size(64)));
using EightBits = std::uint64_t __attribute__((vector_size(64)));

PODIUM_INLINE Eight load(const double* from) {
    Eight x;
    std::memcpy(&x, from, sizeof x);
    return x;
}

PODIUM_INLINE void store(const Eight& x, double* to) { std::memcpy(to, &x, sizeof x); }

PODIUM_INLINE Eight all(double x) { return Eight{} + x; }

PODIUM_INLINE double sum_of(const Eight& x) {
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

PODIUM_INLINE Eight size_of(const Eight& x) { return x < 0.0 ? -x : x; }

PODIUM_INLINE Eight clamped(const Eight& x, double size) {
    const Eight low = x > -size ? x : all(-size);
    return low < size ? low : all(size);
}

// Selects the first n lanes; all eight if n >= 8.
PODIUM_INLINE Eight first(Row n) {
    alignas(64) static constexpr double ones[2 * kLanes] = {1, 1, 1, 1, 1, 1, 1, 1};
    return load(ones + (n < kLanes ? kLanes - n : 0));
}

// A polynomial of x by Horner's rule, the coefficient of the highest power first.
template <class... Coefficients>
PODIUM_INLINE Eight horner(const Eight& x, double highest, Coefficients... rest) {
    Eight sum = all(highest);
    ((sum = sum * x + rest), ...);
    return sum;
}

// exp(x) = 2^k exp(r) for |x| <= 700, |r| <= log(2)/2, by Taylor's series to r^13; within some 1e-16.
PODIUM_INLINE Eight exp_of(const Eight& x) {
    constexpr double round = 0x1.8p52, ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
    const Eight shifted = x * 0x1.71547652b82fep0 + round, k = shifted - round;
    const Eight r = (x - k * ln2_high) - k * ln2_low;
    const Eight sum = horner(r, 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                             1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24,
                             1.0 / 6, 1.0 / 2, 1.0, 1.0);
    return sum * std::bit_cast<Eight>((std::bit_cast<EightBits>(shifted) + 1023) << 52);
}

// log(x) for a normal x > 0: x = 2^k m, m within a factor sqrt(2) of 1, log m = 2 artanh((m-1)/(m+1)).
PODIUM_INLINE Eight log_of(const Eight& x) {
    const auto bits = std::bit_cast<EightBits>(x);
    const Eight m = std::bit_cast<Eight>((bits & 0xfffffffffffff) | 0x3ff0000000000000);
    const Eight k = std::bit_cast<Eight>((bits >> 52) | 0x4330000000000000) - (0x1p52 + 1023);
    const auto large = m > 0x1.6a09e667f3bcdp0;
    const Eight y = large ? m * 0.5 : m, power = large ? k + 1.0 : k;
    const Eight f = (y - 1.0) / (y + 1.0), f2 = f * f;
    const Eight sum = horner(f2, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9,
                             2.0 / 7, 2.0 / 5, 2.0 / 3, 2.0);
    return power * 0x1.62e42fefa39efp-1 + sum * f;
}

// out[i] = exp(x[i] - top), and out[i] = log(x[i]); n is a multiple of kLanes, and x has no number that exp_of or
// log_of does not take.
PODIUM_ANY_WIDTH
inline void exp_each(const double* x, double top, Row n, double* out) {
    for (Row i = 0; i < n; i += kLanes) store(exp_of(load(x + i) - top), out + i);
}

PODIUM_ANY_WIDTH
inline void log_each(const double* x, Row n, double* out) {
    for (Row i = 0; i < n; i += kLanes) store(log_of(load(x + i)), out + i);
}

inline Row whole_lanes(Row n) { return (n + kLanes - 1) / kLanes * kLanes; }

}  // namespace podium
