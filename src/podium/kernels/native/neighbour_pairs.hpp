// Logistic losses of pairs of neighbours in drawn permutations, weighted by what their exchange changes in a measure.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "logistic_pairs.hpp"
#include "string_hashes.hpp"

namespace podium {

// Gumbel noise from a counter: the number depends on document, round and draw alone, not on those before it.
inline double gumbel(std::uint64_t key, std::uint64_t draw) {
    // 52 bits and a half: never 0, and never so near to 1 that it is rounded to 1.
    const double uniform = (static_cast<double>(spread_bits(key ^ draw) >> 12) + 0.5) * 0x1p-52;
    return -std::log(-std::log(uniform));
}

// The measures: exchanging neighbours u, v at places i, i + 1 changes the measure by
// reach_i |gain_u - gain_v| drop_i. The reach starts with 1, and each document above changes it:
// reach_(i + 1) = reach_i (1 - stop) + lift.
struct Measure {
    const double *gains, *stop, *lift, *drop;
    Row depth;
};

struct Draws {
    const std::uint64_t* keys;
    std::uint64_t round;
    Row number;
    double scale;

    std::uint64_t counter(Row d) const {
        return spread_bits((round << 20) + static_cast<std::uint64_t>(d) + 1);
    }
};

// One query: the sums over its drawn permutations.
class DrawnNeighbours {
  public:
    DrawnNeighbours(const double* scores, Row first, Row n, const Measure& measure, const Draws& draws)
        : s_(scores + first), first_(first), n_(n), measure_(measure), draws_(draws), places_(room(n)) {}

    void add(double* value, double* gradient, double* curvature) {
        const Row pairs = std::min(measure_.depth, n_ - 1);
        for (Row d = 0; d < draws_.number; ++d) {
            permute(draws_.counter(d), pairs + 1);
            double reach = 1.0 / static_cast<double>(draws_.number);
            const double share = reach;
            for (Row i = 0; i < pairs; ++i) {
                const Row a = places_[room(i)].second, b = places_[room(i + 1)].second;
                const double lead = measure_.gains[first_ + a] - measure_.gains[first_ + b];
                const double weight = reach * std::abs(lead) * measure_.drop[i];
                reach = reach * (1 - measure_.stop[first_ + a]) + share * measure_.lift[first_ + a];
                if (weight == 0) continue;
                const auto [u, v] = lead > 0 ? std::pair(a, b) : std::pair(b, a);
                const Logistic pair(s_[u] - s_[v]);
                const double slope = weight * pair.sigma * (1 - pair.sigma);
                *value += weight * pair.loss;
                gradient[u] -= weight * pair.sigma;
                gradient[v] += weight * pair.sigma;
                curvature[u] += slope;
                curvature[v] += slope;
            }
        }
    }

  private:
    // The first places of a permutation: by score plus noise, best first; equal ones by row.
    void permute(std::uint64_t draw, Row places) {
        for (Row i = 0; i < n_; ++i)
            places_[room(i)] = {s_[i] + draws_.scale * gumbel(draws_.keys[first_ + i], draw), i};
        const auto better = [](const Place& a, const Place& b) {
            return a.first > b.first || (a.first == b.first && a.second < b.second);
        };
        std::partial_sort(places_.begin(), places_.begin() + places, places_.end(), better);
    }

    using Place = std::pair<double, Row>;

    const double* s_;
    Row first_, n_;
    const Measure& measure_;
    const Draws& draws_;
    std::vector<Place> places_;
};

inline void neighbour_pairs(const double* scores, const Row* offsets, Row n_queries, const Measure& measure,
                            const Draws& draws, double* values, double* gradient, double* curvature) {
    const Row steps = 100 * draws.number * offsets[n_queries];
    for_each_query(n_queries, steps, [&](Row q) {
        const Row first = offsets[q], n = offsets[q + 1] - first;
        values[q] = 0;
        std::fill_n(gradient + first, n, 0.0);
        std::fill_n(curvature + first, n, 0.0);
        if (n > 1)
            DrawnNeighbours(scores, first, n, measure, draws).add(&values[q], gradient + first, curvature + first);
    });
}

}  // namespace podium
