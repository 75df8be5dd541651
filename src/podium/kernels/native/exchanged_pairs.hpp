// Logistic losses of pairs in drawn permutations, weighted by what their exchange changes in a metric.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "logistic_pairs.hpp"
#include "string_hashes.hpp"

namespace podium {

// A metric as a walk down the list: place i pays reach_i gain discount_i. The reach begins with 1, and the document
// at place i makes the next one: reach_(i + 1) = reach_i (1 - stop) + lift. Places from depth on pay nothing.
struct Walk {
    const double *gains, *stop, *lift, *discount;
    Row depth;
};

// Permutations: the first places of the order by score plus noise.
struct Draws {
    const std::uint64_t* keys;
    double scale;
    Row number;
    std::uint64_t round;

    std::uint64_t counter(Row draw) const {
        return spread_bits((round << 20) + static_cast<std::uint64_t>(draw) + 1);
    }

    // Gumbel noise from a counter: document, round and draw decide it, not the numbers before it.
    double noise(Row row, std::uint64_t counter) const {
        // 52 bits and a half: never 0, and never so near to 1 that it is rounded to 1.
        const double uniform = (static_cast<double>(spread_bits(keys[row] ^ counter) >> 12) + 0.5) * 0x1p-52;
        return -scale * std::log(-std::log(uniform));
    }
};

// The pairs of one query: each of the first `depth` places with the `neighbours` places below it.
class ExchangedPairs {
  public:
    ExchangedPairs(const double* scores, Row first, Row n, const Walk& walk, const Draws& draws, Row neighbours)
        : s_(scores + first), first_(first), n_(n), walk_(walk), draws_(draws), neighbours_(neighbours),
          paid_(std::min(walk.depth, n)), places_(room(n)), reach_(room(paid_ + 1)), tail_(room(paid_ + 1)) {}

    void add(double* value, double* gradient, double* curvature) {
        const double share = 1 / static_cast<double>(draws_.number);
        for (Row draw = 0; draw < draws_.number; ++draw) {
            permute(draws_.counter(draw));
            walk_down();
            for (Row i = 0; i < std::min(paid_, n_ - 1); ++i) {
                each_change(i, [&](Row u, Row v, double change) {
                    const Logistic pair(s_[u] - s_[v]);
                    const double weight = share * change, pull = weight * pair.sigma;
                    const double slope = pull * (1 - pair.sigma);
                    *value += weight * pair.loss;
                    gradient[u] -= pull;
                    gradient[v] += pull;
                    curvature[u] += slope;
                    curvature[v] += slope;
                });
            }
        }
    }

  private:
    // By score plus noise, best first; equal ones by row. With all places as neighbours, the order of those that
    // pay nothing does not matter.
    void permute(std::uint64_t counter) {
        for (Row i = 0; i < n_; ++i)
            places_[room(i)] = {s_[i] + draws_.noise(first_ + i, counter), i};
        const auto better = [](const Place& a, const Place& b) {
            return a.first > b.first || (a.first == b.first && a.second < b.second);
        };
        const Row sorted = neighbours_ >= n_ ? paid_ : std::min(paid_ + neighbours_, n_);
        std::partial_sort(places_.begin(), places_.begin() + sorted, places_.end(), better);
    }

    Row row(Row place) const { return first_ + places_[room(place)].second; }
    double pay(Row place) const { return walk_.gains[row(place)] * walk_.discount[place]; }
    double go_on(Row place) const { return 1 - walk_.stop[row(place)]; }

    // The reach of each place, and what the places from there on pay for a reach of 1.
    void walk_down() {
        reach_[0] = 1;
        for (Row i = 0; i < paid_; ++i)
            reach_[room(i + 1)] = reach_[room(i)] * go_on(i) + walk_.lift[row(i)];
        tail_[room(paid_)] = 0;
        for (Row i = paid_; i-- > 0;) tail_[room(i)] = pay(i) + go_on(i) * tail_[room(i + 1)];
    }

    // Calls visit(better, worse, |change of the metric|) for the pairs of place i.
    template <class Visit>
    void each_change(Row i, Visit visit) const {
        const Row a = row(i);
        double between = 0, passing = 1;  // what the places between pay for a reach of 1, and what is left of it
        for (Row j = i + 1; j <= std::min(i + neighbours_, n_ - 1); ++j) {
            const Row b = row(j);
            const double lead = walk_.gains[a] - walk_.gains[b];
            if (lead != 0) {
                const double change = std::abs(exchange(i, j, a, b, between, passing));
                if (change > 0) visit((lead > 0 ? a : b) - first_, (lead > 0 ? b : a) - first_, change);
            }
            if (j < paid_) {
                between += passing * pay(j);
                passing *= go_on(j);
            }
        }
    }

    // What the metric gains if b, at place j, and a, at place i, exchange their places.
    double exchange(Row i, Row j, Row a, Row b, double between, double passing) const {
        const double reach = reach_[room(i)];
        const double extra = reach * (walk_.stop[a] - walk_.stop[b]) + walk_.lift[b] - walk_.lift[a];
        double change = reach * (walk_.gains[b] - walk_.gains[a]) * walk_.discount[i] + extra * between;
        if (j < paid_) {
            const double before = reach_[room(j)], after = before + extra * passing;
            const double next = after * (1 - walk_.stop[a]) + walk_.lift[a];
            change += (after * walk_.gains[a] - before * walk_.gains[b]) * walk_.discount[j];
            change += (next - reach_[room(j + 1)]) * tail_[room(j + 1)];
        }
        return change;
    }

    using Place = std::pair<double, Row>;

    const double* s_;
    Row first_, n_;
    const Walk& walk_;
    const Draws& draws_;
    Row neighbours_, paid_;
    std::vector<Place> places_;
    Doubles reach_, tail_;
};

inline void exchanged_pairs(const double* scores, const Row* offsets, Row n_queries, const Walk& walk,
                            const Draws& draws, Row neighbours, double* values, double* gradient,
                            double* curvature) {
    const Row steps = 100 * draws.number * offsets[n_queries];
    for_each_query(n_queries, steps, [&](Row q) {
        const Row first = offsets[q], n = offsets[q + 1] - first;
        values[q] = 0;
        std::fill_n(gradient + first, n, 0.0);
        std::fill_n(curvature + first, n, 0.0);
        ExchangedPairs(scores, first, n, walk, draws, neighbours).add(&values[q], gradient + first, curvature + first);
    });
}

}  // namespace podium
