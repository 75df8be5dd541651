// Products with a matrix of features in rows, X w and X' g. Sums run in a fixed order, so any number of threads
// gives the same bits (threaded BLAS changes the order).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "vector_width.hpp"

namespace podium {

// Eight doubles at a time; without fused multiply-add all widths give the same bits.
using Eight = double __attribute__((vector_size(8 * kLanes)));

template <class T>
inline __attribute__((always_inline)) void load(const T* x, Eight& out) {
    for (Row l = 0; l < kLanes; ++l) out[l] = static_cast<double>(x[l]);
}

// Consecutive rows of a matrix, from a first one on.
template <class T>
struct Rows {
    const T* x;
    Row d, first;

    const T* at(Row i) const { return x + (first + i) * d; }
};

// Some rows of a matrix, in any order.
template <class T>
struct ChosenRows {
    const T* x;
    Row d;
    const Row* rows;

    const T* at(Row i) const { return x + rows[i] * d; }
};

// The rows that come next, prefetched one by one while others are in use: a burst would wait for memory. `pace` is
// the number of half rows that are prefetched for each row in use.
struct Ahead {
    const char* x = nullptr;
    Row bytes = 0, pace = 0;
    const Row* rows = nullptr;  // null: consecutive rows
    Row next = 0, end = 0, due = 0;

    template <class T>
    static Ahead of(const T* x, Row d, const Row* rows, Row first, Row end, Row pace) {
        return {reinterpret_cast<const char*>(x), d * static_cast<Row>(sizeof(T)), pace, rows, first, end};
    }

    inline __attribute__((always_inline)) void use(Row n) {
        for (due += n * pace; due >= 2 && next < end; due -= 2, ++next) {
            const char* line = x + (rows == nullptr ? next : rows[next]) * bytes;
            for (const char* last = line + bytes; line < last; line += 64) __builtin_prefetch(line);
        }
    }
};

// out[i] = sum_j x[i, j] w[j] for some rows: eight running sums, added up in pairs.
template <class Matrix>
inline __attribute__((always_inline)) void dot_rows(const Matrix rows, Row n, const double* w, double* out,
                                                    Ahead& ahead) {
    const Row d = rows.d;
    for (Row i = 0; i < n; ++i) {
        ahead.use(1);
        const auto* x = rows.at(i);
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

// The same for rows that are in the cache.
template <class Matrix>
inline __attribute__((always_inline)) void dot_rows(const Matrix rows, Row n, const double* w, double* out) {
    Ahead none;
    dot_rows(rows, n, w, out, none);
}

// out[j] += sum_i g[i] x[i, j] for some rows, four rows at a time.
template <class Matrix>
inline __attribute__((always_inline)) void add_rows(const Matrix rows, Row n, const double* g, double* out,
                                                    Ahead& ahead) {
    const Row d = rows.d;
    Row i = 0;
    for (; i + 4 <= n; i += 4) {
        ahead.use(4);
        const auto *x0 = rows.at(i), *x1 = rows.at(i + 1), *x2 = rows.at(i + 2), *x3 = rows.at(i + 3);
        for (Row j = 0; j < d; ++j)
            out[j] += (g[i] * static_cast<double>(x0[j]) + g[i + 1] * static_cast<double>(x1[j])) +
                      (g[i + 2] * static_cast<double>(x2[j]) + g[i + 3] * static_cast<double>(x3[j]));
    }
    for (; i < n; ++i) {
        const auto* x = rows.at(i);
        for (Row j = 0; j < d; ++j) out[j] += g[i] * static_cast<double>(x[j]);
    }
}

#define PODIUM_PRODUCTS_OF(Matrix)                                                                                   \
    PODIUM_ANY_WIDTH inline void dot_rows_of(const Matrix rows, Row n, const double* w, double* out, Ahead& ahead) { \
        dot_rows(rows, n, w, out, ahead);                                                                            \
    }                                                                                                                \
    PODIUM_ANY_WIDTH inline void add_rows_of(const Matrix rows, Row n, const double* g, double* out, Ahead& ahead) { \
        add_rows(rows, n, g, out, ahead);                                                                            \
    }
PODIUM_PRODUCTS_OF(Rows<double>)
PODIUM_PRODUCTS_OF(Rows<float>)
PODIUM_PRODUCTS_OF(ChosenRows<double>)
PODIUM_PRODUCTS_OF(ChosenRows<float>)
#undef PODIUM_PRODUCTS_OF

// The number of rows that a thread gets at a time; a constant, so that sums do not depend on the number of threads.
constexpr Row kBlock = 1024;

// Bytes that stay in the second-level cache until they are used.
constexpr Row kWindowBytes = 1 << 18;

// A run of chosen rows, from `begin` to `end`, that are near each other in memory, from row `low` to row `high`.
// Usually they are the documents of a query.
struct Window {
    Row begin, end, low, high;

    Row spread() const { return high - low + 1; }
};

// The window from chosen row i on; it is empty behind the last one.
template <class T>
inline Window window_at(const T*, Row d, const Row* rows, Row i, Row n) {
    if (i >= n) return {n, n, 0, -1};
    const Row most = std::max<Row>(1, kWindowBytes / (std::max<Row>(1, d) * static_cast<Row>(sizeof(T))));
    Window window{i, i + 1, rows[i], rows[i]};
    for (; window.end < n; ++window.end) {
        const Row low = std::min(window.low, rows[window.end]), high = std::max(window.high, rows[window.end]);
        if (high - low >= most) break;
        window.low = low, window.high = high;
    }
    return window;
}

// out[i] = the product of row rows[i]. A window is computed in the order of memory, then put into the chosen order.
template <class T>
inline void dot_chosen_rows(const T* x, Row d, const Row* rows, Row n, const double* w, double* out, Ahead& ahead) {
    std::vector<double> products;
    for (Window window = window_at(x, d, rows, 0, n); window.begin < n;
         window = window_at(x, d, rows, window.end, n)) {
        const Row size = window.end - window.begin;
        if (window.spread() > 2 * size) {
            dot_rows_of(ChosenRows<T>{x, d, rows + window.begin}, size, w, out + window.begin, ahead);
            continue;
        }
        products.resize(static_cast<std::size_t>(window.spread()));
        dot_rows_of(Rows<T>{x, d, window.low}, window.spread(), w, products.data(), ahead);
        for (Row i = window.begin; i < window.end; ++i)
            out[i] = products[static_cast<std::size_t>(rows[i] - window.low)];
    }
}

// Calls multiply(b, first, n) for each block of n rows from `first` on.
template <class Multiply>
void for_each_block(Row n, Row d, Multiply multiply) {
    const Row blocks = (n + kBlock - 1) / kBlock;
#pragma omp parallel for schedule(static) if (is_long(n * d / 8))
    for (Row b = 0; b < blocks; ++b) multiply(b, b * kBlock, std::min(kBlock, n - b * kBlock));
}

// Chosen rows that are prefetched before they are used.
constexpr Row kAhead = 64;

// out = X w, or X[rows] w for n rows.
template <class T>
void matvec(const T* x, Row n, Row d, const double* w, const Row* rows, double* out) {
    for_each_block(n, d, [=](Row, Row first, Row size) {
        Ahead ahead = Ahead::of(x, d, rows, std::min(n, first + kAhead), n, 2);
        if (rows == nullptr) return dot_rows_of(Rows<T>{x, d, first}, size, w, out + first, ahead);
        dot_chosen_rows(x, d, rows + first, size, w, out + first, ahead);
    });
}

// out = X' g, or X[rows]' g for n rows. Each block of rows is summed separately, then the blocks in order.
template <class T>
void rmatvec(const T* x, Row n, Row d, const double* g, const Row* rows, double* out) {
    const Row blocks = (n + kBlock - 1) / kBlock;
    std::vector<double> partial(static_cast<std::size_t>(blocks * d), 0.0);
    double* sums = partial.data();
    for_each_block(n, d, [=](Row b, Row first, Row size) {
        Ahead ahead = rows == nullptr ? Ahead{} : Ahead::of(x, d, rows, std::min(n, first + kAhead), n, 2);
        if (rows == nullptr) return add_rows_of(Rows<T>{x, d, first}, size, g + first, sums + b * d, ahead);
        add_rows_of(ChosenRows<T>{x, d, rows + first}, size, g + first, sums + b * d, ahead);
    });
    std::fill(out, out + d, 0.0);
    for (Row b = 0; b < blocks; ++b)
        for (Row j = 0; j < d; ++j) out[j] += sums[b * d + j];
}

// out[q] = X' g over the rows of query q.
template <class T>
void rmatvec_by_query(const T* x, Row d, const double* g, const Row* offsets, Row n_queries, double* out) {
    for_each_query(n_queries, offsets[n_queries] * d / 8, [=](Row q) {
        std::fill(out + q * d, out + (q + 1) * d, 0.0);
        const Row first = offsets[q];
        Ahead none;
        add_rows_of(Rows<T>{x, d, first}, offsets[q + 1] - first, g + first, out + q * d, none);
    });
}

}  // namespace podium
