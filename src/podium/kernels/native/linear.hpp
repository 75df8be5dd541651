// Products with a matrix of features in rows, X w and X' g: sums run in a fixed order, so the result is the
// same to the bit with any number of threads (threaded BLAS adds in another order).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "wide.hpp"

namespace podium {

// Eight doubles at a time; without fused multiply-add all widths give the same bits.
using Eight = double __attribute__((vector_size(8 * kLanes)));

template <class T>
inline __attribute__((always_inline)) void load(const T* x, Eight& out) {
    for (Row l = 0; l < kLanes; ++l) out[l] = static_cast<double>(x[l]);
}

// out[i] = sum_j x[i, j] w[j] for some rows: eight running sums, added up in pairs.
template <class T>
inline __attribute__((always_inline)) void dot_rows(const T* x, Row n, Row d, const double* w, double* out) {
    for (Row i = 0; i < n; ++i, x += d) {
        Eight sum = {}, a, b;
        Row j = 0;
        for (; j + kLanes <= d; j += kLanes) {
            load(x + j, a);
            load(w + j, b);
            sum += a * b;
        }
        double rest = 0;
        for (; j < d; ++j) rest += static_cast<double>(x[j]) * w[j];
        out[i] = rest + (((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7])));
    }
}

// out[j] += sum_i g[i] x[i, j] for some rows, four rows at a time.
template <class T>
inline __attribute__((always_inline)) void add_rows(const T* x, Row n, Row d, const double* g, double* out) {
    Row i = 0;
    for (; i + 4 <= n; i += 4, x += 4 * d)
        for (Row j = 0; j < d; ++j)
            out[j] += (g[i] * static_cast<double>(x[j]) + g[i + 1] * static_cast<double>(x[d + j])) +
                      (g[i + 2] * static_cast<double>(x[2 * d + j]) + g[i + 3] * static_cast<double>(x[3 * d + j]));
    for (; i < n; ++i, x += d)
        for (Row j = 0; j < d; ++j) out[j] += g[i] * static_cast<double>(x[j]);
}

PODIUM_ANY_WIDTH inline void dot_rows_of(const double* x, Row n, Row d, const double* w, double* out) {
    dot_rows(x, n, d, w, out);
}
PODIUM_ANY_WIDTH inline void dot_rows_of(const float* x, Row n, Row d, const double* w, double* out) {
    dot_rows(x, n, d, w, out);
}
PODIUM_ANY_WIDTH inline void add_rows_of(const double* x, Row n, Row d, const double* g, double* out) {
    add_rows(x, n, d, g, out);
}
PODIUM_ANY_WIDTH inline void add_rows_of(const float* x, Row n, Row d, const double* g, double* out) {
    add_rows(x, n, d, g, out);
}

// Rows handed to a thread at a time; a constant, so that sums do not depend on the number of threads.
constexpr Row kBlock = 1024;

// out = X w.
template <class T>
void matvec(const T* x, Row n, Row d, const double* w, double* out) {
    const Row blocks = (n + kBlock - 1) / kBlock;
#pragma omp parallel for schedule(static) if (is_long(n * d / 8))
    for (Row b = 0; b < blocks; ++b) {
        const Row first = b * kBlock;
        dot_rows_of(x + first * d, std::min(kBlock, n - first), d, w, out + first);
    }
}

// out = X' g: each block of rows by itself, then the blocks in order.
template <class T>
void rmatvec(const T* x, Row n, Row d, const double* g, double* out) {
    const Row blocks = (n + kBlock - 1) / kBlock;
    std::vector<double> partial(static_cast<std::size_t>(blocks * d), 0.0);
#pragma omp parallel for schedule(static) if (is_long(n * d / 8))
    for (Row b = 0; b < blocks; ++b) {
        const Row first = b * kBlock;
        add_rows_of(x + first * d, std::min(kBlock, n - first), d, g + first, partial.data() + b * d);
    }
    std::fill(out, out + d, 0.0);
    for (Row b = 0; b < blocks; ++b)
        for (Row j = 0; j < d; ++j) out[j] += partial[static_cast<std::size_t>(b * d + j)];
}

// out[q] = X' g over the rows of query q.
template <class T>
void rmatvec_by_query(const T* x, Row d, const double* g, const Row* offsets, Row n_queries, double* out) {
    for_each_query(n_queries, offsets[n_queries] * d / 8, [=](Row q) {
        std::fill(out + q * d, out + (q + 1) * d, 0.0);
        const Row first = offsets[q];
        add_rows_of(x + first * d, offsets[q + 1] - first, d, g + first, out + q * d);
    });
}

}  // namespace podium
