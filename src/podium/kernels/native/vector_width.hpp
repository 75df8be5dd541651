// Vector width: the compiler makes these loops once for every width, and the machine chooses at run time.
// Sums in them run in kLanes fixed lanes, so that every width gives the same bits. -DPODIUM_ONE_WIDTH builds
// them for the baseline alone; .ci/run compares both builds.
#pragma once

#include <cstddef>
#include <vector>

#include "queries.hpp"

#if !defined(PODIUM_ONE_WIDTH) && defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)
#define PODIUM_WIDE 1
#define PODIUM_ANY_WIDTH __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PODIUM_ANY_WIDTH
#endif

namespace podium {

using Doubles = std::vector<double>;

inline std::size_t room(Row n) { return static_cast<std::size_t>(n); }

constexpr Row kLanes = 8;

struct Lanes {
    alignas(64) double at[kLanes];

    explicit Lanes(double value) {
        for (double& x : at) x = value;
    }

    double sum() const {
        double total = 0;
        for (const double x : at) total += x;
        return total;
    }
};

}  // namespace podium
