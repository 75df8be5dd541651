// Votes of several rankers on pairs of documents, and orders that agree with them. Places have one
// row per document and one column per ranker; 1 is best, NaN means not ranked. A ranker votes for i over j if it
// ranks i above j, or ranks i and not j.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "vector_width.hpp"

namespace podium {

// Weights add up to 1. A lead this small comes from rounding in their sums; it is not a majority.
constexpr double kTie = 1e-12;

// The weight of the rankers for i over j minus the weight of those for j over i. All rankers count (a ranked
// document beats an unranked one), or only those that rank both. The loop over the two rows of places has no
// branches; sums run in kLanes lanes.
template <bool kBoth = false>
inline double margin(const double* i, const double* j, const double* weights, Row n_rankers) {
    Lanes sums(0);
    for (Row first = 0; first < n_rankers; first += kLanes) {
        const Row m = std::min(kLanes, n_rankers - first);
        for (Row l = 0; l < m; ++l) {
            const double p = i[first + l], r = j[first + l];
            // Where r is NaN, p < r is false and not (r <= p) is true.
            const int for_i = kBoth ? p < r : (p == p) & !(r <= p);
            const int for_j = kBoth ? r < p : (r == r) & !(p <= r);
            sums.at[l] += weights[first + l] * static_cast<double>(for_i - for_j);
        }
    }
    return sums.sum();
}

// Local Kemenisation: each document of `order` in turn climbs while a strict majority puts it above its upper
// neighbour. Each step up lowers the weighted distance to the rankings. Margins are computed when they
// are needed: a good order needs few of them, and no table is kept.
PODIUM_ANY_WIDTH
inline void kemenise(const double* places, const double* weights, Row n_rankers, Row n, Row* order) {
    for (Row i = 1; i < n; ++i) {
        const Row d = order[i];
        Row j = i;
        for (; j > 0 && margin(places + d * n_rankers, places + order[j - 1] * n_rankers, weights, n_rankers) > kTie; --j)
            order[j] = order[j - 1];
        order[j] = d;
    }
}

// Quicksort by the majority of the rankers that rank both, which is not transitive. The pivot is the middle
// document; documents without a majority stay on their side of it.
PODIUM_ANY_WIDTH
inline void quicksort_majority(const double* places, const double* weights, Row n_rankers, Row n, Row* order) {
    std::vector<std::pair<Row, Row>> todo{{0, n}};
    std::vector<Row> below;
    while (!todo.empty()) {
        const auto [first, last] = todo.back();
        todo.pop_back();
        if (last - first < 2) continue;
        const Row middle = first + (last - first) / 2, pivot = order[middle];
        below.clear();
        Row end = first;  // the end of the documents above the pivot
        for (Row i = first; i < last; ++i) {
            const Row d = order[i];
            if (i == middle) continue;
            const double lead = margin<true>(places + d * n_rankers, places + pivot * n_rankers, weights, n_rankers);
            if (lead > kTie || (lead >= -kTie && i < middle))
                order[end++] = d;
            else
                below.push_back(d);
        }
        order[end] = pivot;
        std::copy(below.begin(), below.end(), order + end + 1);
        todo.emplace_back(first, end);
        todo.emplace_back(end + 1, last);
    }
}

// The places of some rows, one ranker after the other. Unranked documents come last, or are NaN if only rankers
// that rank both vote.
inline Doubles by_ranker(const double* places, Row n_rankers, Row n, bool listed_only) {
    Doubles out(room(n * n_rankers));
    for (Row i = 0; i < n; ++i)
        for (Row a = 0; a < n_rankers; ++a) {
            const double p = places[i * n_rankers + a];
            out[room(a * n + i)] = p != p && !listed_only ? std::numeric_limits<double>::infinity() : p;
        }
    return out;
}

// table[i, j] = the weight of the rankers that vote for i over j.
PODIUM_ANY_WIDTH
inline void count_votes(const double* columns, const double* weights, Row n_rankers, Row n, double* table) {
    for (Row i = 0; i < n; ++i) {
        double* row = table + i * n;
        std::fill(row, row + n, 0.0);
        for (Row a = 0; a < n_rankers; ++a) {
            const double *p = columns + a * n, own = p[i], weight = weights[a];
            for (Row j = 0; j < n; ++j) row[j] += own < p[j] ? weight : 0.0;
        }
    }
}

// The tables of all queries, one after the other.
inline void majority_tables(const double* places, const double* weights, Row n_rankers, const Row* offsets,
                            Row n_queries, bool listed_only, const Row* starts, double* out) {
    for_each_query(n_queries, pairs_in(offsets, n_queries) * n_rankers / 8, [=](Row q) {
        const Row n = offsets[q + 1] - offsets[q];
        const Doubles columns = by_ranker(places + offsets[q] * n_rankers, n_rankers, n, listed_only);
        count_votes(columns.data(), weights, n_rankers, n, out + starts[q]);
    });
}

// Moves each document in turn to the place where it disagrees with the rankings least, until no document moves.
// A document that goes up wins the sum of its leads over those it passes; one that goes down loses it. Among
// equal gains the nearest place is taken, up before down.
inline void insert_until_still(const double* leads, Row n, Row* order) {
    std::vector<Row> sweep(room(n));
    for (bool moved = true; moved;) {
        moved = false;
        std::copy(order, order + n, sweep.begin());
        for (const Row d : sweep) {
            const double* lead = leads + d * n;
            const Row p = std::find(order, order + n, d) - order;
            double best = kTie, gain = 0;
            Row target = p;
            for (Row q = p - 1; q >= 0; --q)
                if (gain += lead[order[q]]; gain > best) best = gain, target = q;
            gain = 0;
            for (Row q = p + 1; q < n; ++q)
                if (gain -= lead[order[q]]; gain > best) best = gain, target = q;
            if (target == p) continue;
            moved = true;
            if (target < p)
                std::rotate(order + target, order + p, order + p + 1);
            else
                std::rotate(order + p, order + p + 1, order + target + 1);
        }
    }
}

// table[i, j] - table[j, i] in place.
inline void subtract_transposed(double* table, Row n) {
    for (Row i = 0; i < n; ++i) {
        table[i * n + i] = 0;
        for (Row j = 0; j < i; ++j) {
            const double lead = table[i * n + j] - table[j * n + i];
            table[i * n + j] = lead;
            table[j * n + i] = -lead;
        }
    }
}

// Converts the rows of one query to numbers within it, calls body(order, n), and converts them back.
template <class Body>
void reorder(const Row* order, Row first, Row last, Row* out, Body body) {
    for (Row i = first; i < last; ++i) out[i] = order[i] - first;
    body(out + first, last - first);
    for (Row i = first; i < last; ++i) out[i] += first;
}

inline void local_kemenisation(const double* places, const double* weights, Row n_rankers, const Row* order,
                               const Row* offsets, Row n_queries, Row* out) {
    for_each_query(n_queries, 8 * n_rankers * offsets[n_queries], [=](Row q) {
        reorder(order, offsets[q], offsets[q + 1], out, [=](Row* own, Row n) {
            kemenise(places + offsets[q] * n_rankers, weights, n_rankers, n, own);
        });
    });
}

inline void majority_quicksort(const double* places, const double* weights, Row n_rankers, const Row* order,
                               const Row* offsets, Row n_queries, Row* out) {
    for_each_query(n_queries, 16 * n_rankers * offsets[n_queries], [=](Row q) {
        reorder(order, offsets[q], offsets[q + 1], out, [=](Row* own, Row n) {
            quicksort_majority(places + offsets[q] * n_rankers, weights, n_rankers, n, own);
        });
    });
}

inline void kemeny_search(const double* places, const double* weights, Row n_rankers, const Row* order,
                          const Row* offsets, Row n_queries, Row* out) {
    for_each_query(n_queries, pairs_in(offsets, n_queries) * (n_rankers / 8 + 8), [=](Row q) {
        reorder(order, offsets[q], offsets[q + 1], out, [=](Row* own, Row n) {
            const Doubles columns = by_ranker(places + offsets[q] * n_rankers, n_rankers, n, false);
            Doubles table(room(n * n));
            count_votes(columns.data(), weights, n_rankers, n, table.data());
            subtract_transposed(table.data(), n);
            insert_until_still(table.data(), n, own);
        });
    });
}

// Pairs (i < j) with p[i] > p[j], and with p[i] == p[j].
PODIUM_ANY_WIDTH
inline std::pair<Row, Row> count_against(const double* p, Row n) {
    Row against = 0, none = 0;
    for (Row i = 0; i < n; ++i) {
        const double own = p[i];
        Row above = 0, equal = 0;
        for (Row j = i + 1; j < n; ++j) {
            above += own > p[j];
            equal += own == p[j];
        }
        against += above;
        none += equal;
    }
    return {against, none};
}

// For each query and ranker: the number of pairs with a vote against the order, and of pairs without a vote.
inline void disagreements(const double* places, Row n_rankers, const Row* order, const Row* offsets,
                          Row n_queries, Row* out) {
    for_each_query(n_queries, pairs_in(offsets, n_queries) * n_rankers / 8, [=](Row q) {
        const Row first = offsets[q], n = offsets[q + 1] - first;
        Doubles p(room(n));
        for (Row a = 0; a < n_rankers; ++a) {
            for (Row i = 0; i < n; ++i) {
                const double place = places[order[first + i] * n_rankers + a];
                p[room(i)] = place != place ? std::numeric_limits<double>::infinity() : place;
            }
            const auto [against, none] = count_against(p.data(), n);
            out[2 * (q * n_rankers + a)] = against;
            out[2 * (q * n_rankers + a) + 1] = none;
        }
    });
}

// The order with the least weight of votes against it, from the best orders of all subsets: the best order of a
// set ends with some v behind the best order of the others. It stores 2^n n numbers: for a dozen documents.
inline void best_order(const double* table, Row n, Row* out) {
    const Row n_sets = Row{1} << n;
    // behind[S, v] = sum over u in S of table[v, u]: the weight of votes against v behind S.
    Doubles behind(room(n_sets * n), 0.0), best(room(n_sets), 0.0);
    for (Row u = 0; u < n; ++u)
        for (Row set = Row{1} << u; set < Row{2} << u; ++set)
            for (Row v = 0; v < n; ++v)
                behind[room(set * n + v)] = behind[room((set ^ (Row{1} << u)) * n + v)] + table[v * n + u];
    const auto cost = [&](Row set, Row v) {
        const Row others = set ^ (Row{1} << v);
        return best[room(others)] + behind[room(others * n + v)];
    };
    const auto last = [&](Row set) {
        Row chosen = -1;
        double least = std::numeric_limits<double>::infinity();
        for (Row v = 0; v < n; ++v)
            if (set >> v & 1 && cost(set, v) < least) least = cost(set, v), chosen = v;
        return std::pair{least, chosen};
    };
    for (Row set = 1; set < n_sets; ++set) best[room(set)] = last(set).first;
    for (Row set = n_sets - 1, i = n; set != 0;) {
        const Row v = last(set).second;
        out[--i] = v;
        set ^= Row{1} << v;
    }
}

}  // namespace podium
