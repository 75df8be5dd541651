// Click models: one EM step over counts by context, and one over whole sessions. Sums run in fixed blocks, so they
// do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "linear_passes.hpp"

namespace podium {

constexpr double kLeastChance = 1e-300;
constexpr Row kCellBlock = 16'384;

inline double log_chance(double chance) { return std::log(std::max(chance, kLeastChance)); }

// Expected attractions by pair and examinations by context; returns the log-likelihood. The cells of a pair are
// [pair_offsets[p], pair_offsets[p + 1]).
inline double click_cells_pass(const Row* pair_offsets, Row n_pairs, const Row* context, const double* impressions,
                               const double* clicks, const double* attraction, const double* examination,
                               Row n_contexts, double* attracted, double* examined) {
    const std::vector<Row> blocks = runs_of_queries(pair_offsets, 0, n_pairs, kCellBlock);
    const Row n_blocks = static_cast<Row>(blocks.size()) - 1;
    std::vector<double> partial(room(n_blocks * n_contexts), 0.0), logs(room(n_blocks), 0.0);
#pragma omp parallel for schedule(dynamic) if (is_long(30 * pair_offsets[n_pairs]))
    for (Row b = 0; b < n_blocks; ++b) {
        double* seen = partial.data() + b * n_contexts;
        double sum = 0;
        for (Row p = blocks[room(b)]; p < blocks[room(b + 1)]; ++p) {
            const double a = attraction[p];
            double drawn = 0;
            for (Row i = pair_offsets[p]; i < pair_offsets[p + 1]; ++i) {
                const double e = examination[context[i]], clicked = clicks[i], skipped = impressions[i] - clicks[i];
                const double missed = std::max(1 - e * a, kLeastChance);
                drawn += clicked + skipped * (a * (1 - e) / missed);
                seen[context[i]] += clicked + skipped * (e * (1 - a) / missed);
                if (clicked != 0) sum += clicked * log_chance(e * a);
                if (skipped != 0) sum += skipped * std::log(missed);
            }
            attracted[p] = drawn;
        }
        logs[room(b)] = sum;
    }
    std::fill(examined, examined + n_contexts, 0.0);
    double total = 0;
    for (Row b = 0; b < n_blocks; ++b) {
        for (Row c = 0; c < n_contexts; ++c) examined[c] += partial[room(b * n_contexts + c)];
        total += logs[room(b)];
    }
    return total;
}

// The probabilities of a chain: attraction by pair, stopping by code (place or pair), going on.
struct Chain {
    const double *attraction, *stopping;
    double continuation;
    bool by_rank;

    double stop(const Row* rows, Row i) const { return stopping[by_rank ? i : rows[i]]; }
    double quiet_after(double quiet) const { return 1 - continuation + continuation * quiet; }
};

// Where the expectations of a block of sessions are added.
struct ChainSums {
    double *examined, *stopped, *went_on;
    bool by_rank;

    void stop(const Row* rows, Row i, double value) { stopped[by_rank ? i : rows[i]] += value; }
};

// Adds the expectations of one session of n rows; returns its log-likelihood.
inline double add_chain_session(const Chain& chain, const Row* rows, const bool* clicked, Row n, double weight,
                                std::vector<double>& quiet, ChainSums& sums) {
    Row end = n;  // the rows up to the last click
    while (end > 0 && !clicked[end - 1]) --end;
    quiet.assign(room(n + 1), 1.0);
    for (Row i = n - 1; i >= end; --i)
        quiet[room(i)] = (1 - chain.attraction[rows[i]]) *
                         (i + 1 == n ? quiet[room(n)] : chain.quiet_after(quiet[room(i + 1)]));
    double logs = 0;
    for (Row i = 0; i < end; ++i) {
        const double a = chain.attraction[rows[i]];
        sums.examined[rows[i]] += weight;
        logs += log_chance(clicked[i] ? a : 1 - a);
        if (i + 1 < end) {
            logs += log_chance(chain.continuation * (clicked[i] ? 1 - chain.stop(rows, i) : 1.0));
            sums.went_on[0] += weight;
            sums.went_on[1] += weight;
        }
    }
    if (end == n) {  // after the last row nothing can be observed: the stop keeps its probability
        if (n > 0) sums.stop(rows, n - 1, weight * chain.stop(rows, n - 1));
        return logs;
    }
    double probability = 1;  // of examining row `end`
    if (end > 0) {
        const double stop = chain.stop(rows, end - 1);
        const double silence = stop + (1 - stop) * chain.quiet_after(quiet[room(end)]);
        const double share = 1 / std::max(silence, kLeastChance);
        logs += log_chance(silence);
        sums.stop(rows, end - 1, weight * (stop * share));
        probability = (1 - stop) * chain.continuation * quiet[room(end)] * share;
        sums.went_on[0] += weight * probability;
        sums.went_on[1] += weight * (1 - stop * share);
    } else {
        logs += log_chance(quiet[0]);
    }
    for (Row i = end; i < n; ++i) {
        sums.examined[rows[i]] += weight * probability;
        if (i + 1 == n) break;
        const double chance = probability, next = quiet[room(i + 1)];
        probability *= chain.continuation * next / std::max(chain.quiet_after(next), kLeastChance);
        sums.went_on[0] += weight * probability;
        sums.went_on[1] += weight * chance;
    }
    return logs;
}

// All sessions, query by query: a pair occurs in one query, so blocks of whole queries share no pair.
inline double click_chain_pass(const Chain& chain, const Row* pair, const bool* clicked, const double* weight,
                               const Row* offsets, const Row* query_offsets, Row n_queries, Row n_pairs,
                               Row n_stops, double* examined, double* stopped, double* went_on) {
    const std::vector<Row> blocks = runs_of_queries(query_offsets, 0, n_queries, kCellBlock / 8);
    const Row n_blocks = static_cast<Row>(blocks.size()) - 1, width = (chain.by_rank ? n_stops : 0) + 3;
    std::vector<double> partial(room(n_blocks * width), 0.0);
    std::fill(examined, examined + n_pairs, 0.0);
    std::fill(stopped, stopped + n_stops, 0.0);
#pragma omp parallel if (is_long(20 * offsets[query_offsets[n_queries]]))
    {
        std::vector<double> quiet;
#pragma omp for schedule(dynamic)
        for (Row b = 0; b < n_blocks; ++b) {
            double* own = partial.data() + b * width;
            ChainSums sums{examined, chain.by_rank ? own + 3 : stopped, own, chain.by_rank};
            for (Row s = query_offsets[blocks[room(b)]]; s < query_offsets[blocks[room(b + 1)]]; ++s)
                own[2] += weight[s] * add_chain_session(chain, pair + offsets[s], clicked + offsets[s],
                                                        offsets[s + 1] - offsets[s], weight[s], quiet, sums);
        }
    }
    double total = 0;
    went_on[0] = went_on[1] = 0;
    for (Row b = 0; b < n_blocks; ++b) {
        const double* own = partial.data() + b * width;
        went_on[0] += own[0];
        went_on[1] += own[1];
        total += own[2];
        for (Row c = 0; c + 3 < width; ++c) stopped[c] += own[3 + c];
    }
    return total;
}

}  // namespace podium
