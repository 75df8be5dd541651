// Boosting: features cut into at most 256 bins, the pair distribution of RankBoost as one number per
// document, and sums of every stump [code > t], for all thresholds of a feature at once.
// codes[f * n + i] is the bin of document i by feature f.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "queries.hpp"

namespace podium {

constexpr Row kBins = 256;

// The number of thresholds below each value. Every value takes the same number of steps, so the processor has
// no branch to predict; `padded` has 2^k - 1 thresholds, the last of them infinite.
template <class T>
void count_below(const T* x, Row stride, Row n, const double* padded, std::int32_t half, std::uint8_t* out) {
    constexpr Row kWide = 16;
    Row i = 0;
    for (; i + kWide <= n; i += kWide) {
        double value[kWide];
        std::int32_t below[kWide] = {};
        for (Row l = 0; l < kWide; ++l) value[l] = static_cast<double>(x[(i + l) * stride]);
        for (std::int32_t step = half; step > 0; step /= 2)
            for (Row l = 0; l < kWide; ++l)
                below[l] += static_cast<std::int32_t>(padded[below[l] + step - 1] < value[l]) * step;
        for (Row l = 0; l < kWide; ++l) out[i + l] = static_cast<std::uint8_t>(below[l]);
    }
    for (; i < n; ++i) {
        Row below = 0;
        for (Row step = half; step > 0; step /= 2)
            below += static_cast<Row>(padded[below + step - 1] < static_cast<double>(x[i * stride])) * step;
        out[i] = static_cast<std::uint8_t>(below);
    }
}

// out[f, i] = number of thresholds of feature f below x[i, f], so x > threshold[t] exactly if code > t.
// NaN gets code 0. Blocks of rows stay in cache while the features pass over them.
template <class T>
void bin_features(const T* x, Row n, Row d, const double* thresholds, const Row* bounds, std::uint8_t* out) {
    constexpr Row kRows = 1024;
    std::vector<std::array<double, kBins>> padded(static_cast<std::size_t>(d));
    std::vector<std::int32_t> half(static_cast<std::size_t>(d));
    for (Row f = 0; f < d; ++f) {
        auto& row = padded[static_cast<std::size_t>(f)];
        row.fill(std::numeric_limits<double>::infinity());
        std::copy(thresholds + bounds[f], thresholds + bounds[f + 1], row.begin());
        half[static_cast<std::size_t>(f)] =
            static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(bounds[f + 1] - bounds[f])));
    }
    const Row blocks = (n + kRows - 1) / kRows;
#pragma omp parallel for schedule(dynamic) if (is_long(8 * n * d))
    for (Row b = 0; b < blocks; ++b) {
        const Row first = b * kRows, rows = std::min(kRows, n - first);
        for (Row f = 0; f < d; ++f)
            count_below(x + first * d + f, d, rows, padded[static_cast<std::size_t>(f)].data(),
                        half[static_cast<std::size_t>(f)], out + f * n + first);
    }
}

// log of a sum of exponentials, term by term, at any size of the terms.
struct LogSum {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;

    void add(double term) {
        if (term <= largest) {
            sum += std::exp(term - largest);
        } else {
            sum = sum * std::exp(largest - term) + 1;
            largest = term;
        }
    }
    double value() const { return largest + std::log(sum); }
};

// The pairs of one query: out[x] = sum_v D(x, v) - sum_u D(u, x), with D(u, v) prop. to exp(F_v - F_u) over
// labels u > v, with sum 1 in the query. Returns the log of the normalising sum; -inf without pairs.
// `order` holds the query's rows by label, descending, so D(u, v) splits into a factor of u and one of all
// documents below its level: two sweeps, O(n).
inline double query_potentials(const double* scores, const double* labels, const Row* order, Row n,
                               std::vector<double>& gained, std::vector<double>& lost, double* out) {
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    gained.assign(static_cast<std::size_t>(n), kNone);
    lost.assign(static_cast<std::size_t>(n), kNone);
    auto same_level = [=](Row i, Row j) { return labels[order[i]] == labels[order[j]]; };
    LogSum above, below, total;
    for (Row first = 0, last; first < n; first = last) {
        for (last = first; last < n && same_level(first, last);) ++last;
        const double up = first > 0 ? above.value() : kNone;
        for (Row i = first; i < last; ++i) {
            lost[static_cast<std::size_t>(i)] = up + scores[order[i]];
            above.add(-scores[order[i]]);
        }
    }
    for (Row first, last = n; last > 0; last = first) {
        for (first = last; first > 0 && same_level(first - 1, last - 1);) --first;
        const double down = last < n ? below.value() : kNone;
        for (Row i = first; i < last; ++i) {
            gained[static_cast<std::size_t>(i)] = down - scores[order[i]];
            below.add(scores[order[i]]);
        }
    }
    for (Row i = 0; i < n; ++i)
        if (gained[static_cast<std::size_t>(i)] > kNone) total.add(gained[static_cast<std::size_t>(i)]);
    const double log_total = total.sum > 0 ? total.value() : kNone;
    for (Row i = 0; i < n; ++i)
        out[order[i]] = total.sum > 0 ? std::exp(gained[static_cast<std::size_t>(i)] - log_total) -
                                            std::exp(lost[static_cast<std::size_t>(i)] - log_total)
                                      : 0.0;
    return log_total;
}

// The potentials of all queries, D(u, v) prop. to weight_q exp(F_v - F_u), with sum 1 over all queries. Returns
// the log of the sum of weight_q exp(F_v - F_u).
inline double rankboost_potentials(const double* scores, const double* labels, const Row* order,
                                   const double* weight, const Row* offsets, Row n_queries, double* out) {
    std::vector<double> share(static_cast<std::size_t>(n_queries));
#pragma omp parallel if (is_long(40 * offsets[n_queries]))
    {
        std::vector<double> gained, lost;
#pragma omp for schedule(dynamic, 16)
        for (Row q = 0; q < n_queries; ++q)
            share[static_cast<std::size_t>(q)] =
                std::log(weight[q]) + query_potentials(scores, labels, order + offsets[q],
                                                       offsets[q + 1] - offsets[q], gained, lost, out);
    }
    LogSum total;
    for (const double s : share)
        if (s > -std::numeric_limits<double>::infinity()) total.add(s);
    const double log_total = total.value();
    for_each_query(n_queries, offsets[n_queries], [=, &share](Row q) {
        const double part = std::exp(share[static_cast<std::size_t>(q)] - log_total);
        for (Row i = offsets[q]; i < offsets[q + 1]; ++i) out[i] = part > 0 ? out[i] * part : 0.0;
    });
    return log_total;
}

// Sums by bin of kTogether features at once: they share the loads of the weights, and additions to one bin
// need not wait for each other. Rows are added in order.
template <Row kTogether, bool kValues>
void sum_bins(const std::uint8_t* codes, const double* weights, const double* values, Row n, double* out) {
    std::fill(out, out + kTogether * kBins, 0.0);
    for (Row i = 0; i < n; ++i)
        for (Row f = 0; f < kTogether; ++f)
            out[f * kBins + codes[f * n + i]] += kValues ? weights[i] * values[f * n + i] : weights[i];
}

// out[f, c] = sum of weight_i (times value[f, i], if there are values) over the documents i with code c.
template <bool kValues>
void stump_sums(const std::uint8_t* codes, const double* weights, const double* values, Row n, Row d,
                double* out) {
    constexpr Row kTogether = 4;
    const Row groups = (d + kTogether - 1) / kTogether;
#pragma omp parallel for schedule(dynamic) if (is_long(n * d))
    for (Row g = 0; g < groups; ++g) {
        Row f = g * kTogether;
        const double* v = kValues ? values + f * n : nullptr;
        if (f + kTogether <= d) {
            sum_bins<kTogether, kValues>(codes + f * n, weights, v, n, out + f * kBins);
            continue;
        }
        for (; f < d; ++f)
            sum_bins<1, kValues>(codes + f * n, weights, kValues ? values + f * n : nullptr, n, out + f * kBins);
    }
}

// DCG of documents in two classes, minus that of a random order; ties are averaged. The upper class has a of n
// documents and this sum of gains. Formula: delta (n D_a - a D_n) / (n - a), where delta is the mean gain of the
// upper class minus the mean gain of all, and D are sums of discounts.
inline double dcg_of_two(double gain_above, Row a, double gain_all, Row n, const double* discounts) {
    if (a == 0 || a == n) return 0;
    const auto above = static_cast<double>(a), all = static_cast<double>(n);
    const double delta = gain_above / above - gain_all / all;
    return delta * (all * discounts[a] - above * discounts[n]) / (all - above);
}

// For each query the DCG of the order by the stump [code > t], as a function of t, is a step function that
// jumps only at the codes of its documents. out_above[f, i] is the jump at the code of i; the first document of a
// code has all of it, the others have 0. So its sums by bin, added up over t, are the DCGs of all stumps, minus
// that of a random order. out_below is the same for [code <= t].
inline void stump_dcg(const std::uint8_t* codes, const double* gains, const Row* offsets, Row n_queries,
                      const double* discount, Row depth, Row d, double* out_above, double* out_below) {
    const Row n_rows = offsets[n_queries];
    Row longest = 0;
    for (Row q = 0; q < n_queries; ++q) longest = std::max(longest, offsets[q + 1] - offsets[q]);
    std::vector<double> discounts(static_cast<std::size_t>(longest + 1), 0.0);
    for (Row i = 0; i < longest; ++i)
        discounts[static_cast<std::size_t>(i + 1)] =
            discounts[static_cast<std::size_t>(i)] + (i < depth ? discount[i] : 0.0);
    const double* sums = discounts.data();
#pragma omp parallel if (is_long(20 * n_rows * d))
    {
        std::vector<std::uint64_t> sorted(static_cast<std::size_t>(longest));
#pragma omp for schedule(dynamic)
        for (Row f = 0; f < d; ++f)
            for (Row q = 0; q < n_queries; ++q) {
                const Row first = offsets[q], n = offsets[q + 1] - first;
                const std::uint8_t* code = codes + f * n_rows + first;
                double *above = out_above + f * n_rows + first, *below = out_below + f * n_rows + first;
                double all = 0;
                for (Row i = 0; i < n; ++i) {
                    sorted[static_cast<std::size_t>(i)] =
                        (std::uint64_t{code[i]} << 48) | static_cast<std::uint64_t>(i);
                    all += gains[first + i];
                }
                std::sort(sorted.begin(), sorted.begin() + n);
                double low = 0, value_above = 0, value_below = 0;  // gain at or below t, the two DCGs there
                for (Row i = 0, run = 0; i < n; i = run) {
                    const auto row = [&](Row j) {
                        return static_cast<Row>(sorted[static_cast<std::size_t>(j)] & 0xFFFF'FFFF'FFFF);
                    };
                    for (run = i; run < n && code[row(run)] == code[row(i)]; ++run) {
                        low += gains[first + row(run)];
                        above[row(run)] = below[row(run)] = 0;
                    }
                    const double now_above = dcg_of_two(all - low, n - run, all, n, sums);
                    const double now_below = dcg_of_two(low, run, all, n, sums);
                    above[row(i)] = now_above - value_above;
                    below[row(i)] = now_below - value_below;
                    value_above = now_above;
                    value_below = now_below;
                }
            }
    }
}

}  // namespace podium
