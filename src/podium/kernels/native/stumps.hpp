// Sums of step functions, one per feature, which are equal to a sum of stumps [x > threshold].
#pragma once

#include <algorithm>
#include <limits>

#include "queries.hpp"

namespace podium {

// Feature features[i] has the thresholds[bounds[i] .. bounds[i + 1]), ascending. heights has one entry more per
// feature: the value below the first threshold, then the value above each threshold.
struct StepFunctions {
    const Row* features;
    const Row* bounds;
    const double* thresholds;
    const double* heights;
    Row n;
};

// The number of thresholds below x. The search takes the same steps for every x, so no branch is to be predicted.
inline Row count_below(const double* thresholds, Row n, double x) {
    const double* base = thresholds;
    while (n > 1) {
        const Row half = n / 2;
        base += base[half - 1] < x ? half : 0;
        n -= half;
    }
    return base - thresholds + (n == 1 && *base < x);
}

template <class T>
void predict_stumps(const StepFunctions& steps, const T* x, Row n_rows, Row width, double* out) {
    constexpr Row kBlock = 64;  // rows of 136 numbers that the first-level cache holds
    const Row blocks = (n_rows + kBlock - 1) / kBlock;
#pragma omp parallel for schedule(dynamic) if (is_long(10 * n_rows * steps.n))
    for (Row block = 0; block < blocks; ++block) {
        const Row first = block * kBlock, last = std::min(n_rows, first + kBlock);
        std::fill(out + first, out + last, 0.0);
        for (Row i = 0; i < steps.n; ++i) {
            const Row start = steps.bounds[i], n = steps.bounds[i + 1] - start;
            const double* heights = steps.heights + start + i;
            for (Row row = first; row < last; ++row) {
                const auto value = static_cast<double>(x[row * width + steps.features[i]]);
                const double height = heights[count_below(steps.thresholds + start, n, value)];
                out[row] += value != value ? std::numeric_limits<double>::quiet_NaN() : height;
            }
        }
    }
}

}  // namespace podium
