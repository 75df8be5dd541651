// Most violated rankings of SVM-MAP and FocusedSVM: max over rankings z of
// Delta(z) + s.Psi(z) - s.Psi(ideal), and its subgradient Psi(z) - Psi(ideal). Here s are the
// scores (w.x) of a query's documents, and Psi counts places.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "queries.hpp"
#include "ranking.hpp"

namespace podium {

// sum of gradient * score over these rows. Gradients of a query sum to 0, so a constant added to
// all scores changes nothing, and the first row's score is subtracted.
inline double along_scores(const double* gradient, const double* scores, const std::vector<Row>& rows) {
    double sum = 0;
    for (const Row row : rows) sum += gradient[row] * (scores[row] - scores[rows.front()]);
    return sum;
}

// One query of SVM-MAP. Both kinds keep their order by score, so a ranking is determined by the relevant
// document above which each non-relevant one goes: place[j] in 0..R.
struct Interleaving {
    std::vector<double> relevant, other;  // scores, best first
    std::vector<Row> place;

    // R times the gain of lifting non-relevant j over relevant i (both counted from 0):
    // i' / ((i' + j')(i' + j' - 1)) - 2/N (s_i - s_j), counted from 1.
    double lift(Row i, Row j) const {
        const auto last = static_cast<double>(i + j + 2);
        return static_cast<double>(i + 1) / (last * (last - 1)) -
               2 / static_cast<double>(other.size()) *
                   (relevant[static_cast<std::size_t>(i)] - other[static_cast<std::size_t>(j)]);
    }

    // lift falls with j for every i, so the best places rise with j: the middle document splits the search,
    // R log N + N steps in all instead of R N.
    void search(Row first, Row last, Row highest, Row lowest) {
        if (first == last) return;
        const Row j = first + (last - first) / 2;
        double won = 0, most = 0;
        Row best = lowest;
        for (Row i = lowest - 1; i >= highest; --i)
            if ((won += lift(i, j)) > most) most = won, best = i;
        place[static_cast<std::size_t>(j)] = best;
        search(first, j, highest, best);
        search(j + 1, last, best, lowest);
    }
};

// SVM-MAP: Delta = 1 - AP, Psi = 1/(R N) sum over (relevant i, other j) of +-(x_i - x_j).
inline void violated_ap(const double* scores, const bool* relevant, const Row* offsets, Row n_queries,
                        double* values, double* gradient) {
    std::vector<Row> sorted(static_cast<std::size_t>(offsets[n_queries]));
    order(scores, nullptr, offsets, n_queries, sorted.data());
    for_each_query(n_queries, 20 * offsets[n_queries], [=, by_score = sorted.data()](Row q) {
        const std::vector<Row> rows(by_score + offsets[q], by_score + offsets[q + 1]);
        Interleaving z;
        for (const Row row : rows) (relevant[row] ? z.relevant : z.other).push_back(scores[row]);
        const auto R = static_cast<Row>(z.relevant.size()), N = static_cast<Row>(z.other.size());
        values[q] = 0;
        for (const Row row : rows) gradient[row] = 0;
        if (R == 0 || N == 0) return;
        z.place.resize(static_cast<std::size_t>(N));
        z.search(0, N, 0, R);
        const double step = 2 / (static_cast<double>(R) * static_cast<double>(N));
        double loss = 0;
        Row i = 0, j = 0, above = 0;  // above: non-relevant documents above relevant i
        for (const Row row : rows) {
            if (relevant[row]) {
                while (above < N && z.place[static_cast<std::size_t>(above)] <= i) ++above;
                ++i;
                gradient[row] = -step * static_cast<double>(above);
                loss += static_cast<double>(above) / static_cast<double>(i + above);
            } else {
                gradient[row] = step * static_cast<double>(R - z.place[static_cast<std::size_t>(j++)]);
            }
        }
        values[q] = loss / static_cast<double>(R) + along_scores(gradient, scores, rows);
    });
}

// The members of a query in their ideal order: by label, then by row. Empty if all labels are
// equal: such a query has no order.
inline std::vector<Row> ideal_order(const double* labels, const bool* member, Row first, Row last) {
    std::vector<Row> rows;
    for (Row row = first; row < last; ++row)
        if (member[row]) rows.push_back(row);
    std::stable_sort(rows.begin(), rows.end(), [=](Row a, Row b) { return labels[a] > labels[b]; });
    if (!rows.empty() && labels[rows.front()] == labels[rows.back()]) rows.clear();
    return rows;
}

// Delta = 1 - DCG / M with M the ideal DCG, Psi = sum_j l(place of j) x_j with l the discount (0 past its
// end). As Delta is linear in the same l, the maximum is a sort by s_j - y_j / M.
inline void violated_order(const double* scores, const double* labels, const bool* member,
                           const Row* offsets, Row n_queries, const double* discount, Row depth,
                           double* values, double* gradient) {
    for_each_query(n_queries, 10 * offsets[n_queries], [=](Row q) {
        auto l = [=](std::size_t place) { return static_cast<Row>(place) < depth ? discount[place] : 0.0; };
        values[q] = 0;
        std::fill(gradient + offsets[q], gradient + offsets[q + 1], 0.0);
        const std::vector<Row> ideal = ideal_order(labels, member, offsets[q], offsets[q + 1]);
        double M = 0;
        for (std::size_t i = 0; i < ideal.size(); ++i) M += l(i) * labels[ideal[i]];
        if (!(M > 0)) return;
        auto key = [=](Row row) { return scores[row] - labels[row] / M; };
        std::vector<Row> worst = ideal;
        std::stable_sort(worst.begin(), worst.end(), [=](Row a, Row b) { return key(a) > key(b); });
        double loss = 0;
        for (std::size_t i = 0; i < ideal.size(); ++i) {
            gradient[ideal[i]] -= l(i);
            gradient[worst[i]] += l(i);
            loss += l(i) * (labels[ideal[i]] - labels[worst[i]]) / M;
        }
        values[q] = loss + along_scores(gradient, scores, ideal);
    });
}

// Estimates the number of steps over the sets of all queries' members.
inline Row count_sets(const bool* member, const Row* offsets, Row n_queries) {
    Row steps = 0;
    for (Row q = 0; q < n_queries; ++q) {
        const Row k = std::count(member + offsets[q], member + offsets[q + 1], true);
        steps += k << k;
    }
    return steps;
}

// Delta = 1 - mean over cuts c < k of AP with the c best members relevant; Psi the pair map over all pairs
// of members, sum_j (k + 1 - 2 place_j) x_j / (k (k - 1) / 2). The part of the last document d of a
// head depends only on the set of the head: for each cut c > d, (1 - precision) / c, where 1 - precision is the
// share of the set outside the c best; and its distance from its ideal place. So dynamic programming over the 2^k
// sets finds the maximum.
inline void violated_cuts(const double* scores, const double* labels, const bool* member,
                          const Row* offsets, Row n_queries, double* values, double* gradient) {
    for_each_query(n_queries, count_sets(member, offsets, n_queries), [=](Row q) {
        values[q] = 0;
        std::fill(gradient + offsets[q], gradient + offsets[q + 1], 0.0);
        const std::vector<Row> ideal = ideal_order(labels, member, offsets[q], offsets[q + 1]);
        const std::size_t k = ideal.size();
        if (k < 2) return;
        const double step = 4.0 / static_cast<double>(k * (k - 1));
        std::vector<double> pull(k), harmonic(k);  // harmonic[d] = 1 + 1/2 + ... + 1/d
        for (std::size_t d = 1; d < k; ++d) {
            pull[d] = step * (scores[ideal[d]] - scores[ideal[0]]);
            harmonic[d] = harmonic[d - 1] + 1 / static_cast<double>(d);
        }
        const std::uint32_t all = (std::uint32_t{1} << k) - 1;
        std::vector<double> most(all + 1);
        std::vector<std::uint8_t> last(all + 1);
        for (std::uint32_t head = 1; head <= all; ++head) {
            const int size = std::popcount(head);
            const double share = 1 / static_cast<double>(static_cast<std::size_t>(size) * (k - 1));
            double best = -std::numeric_limits<double>::infinity(), missed = 0;
            int worse = 0;  // documents of the head worse than d: outside the cuts between d and the next
            std::size_t next = 0;
            for (std::uint32_t rest = head; rest != 0; ++worse) {
                const auto d = static_cast<std::size_t>(std::bit_width(rest) - 1);
                const std::uint32_t bit = std::uint32_t{1} << d;
                missed += worse * (harmonic[next] - harmonic[d]);
                const double value = most[head ^ bit] + share * missed +
                                     (static_cast<int>(d) + 1 - size) * pull[d];
                if (value > best) best = value, last[head] = static_cast<std::uint8_t>(d);
                rest ^= bit;
                next = d;
            }
            most[head] = best;
        }
        values[q] = most[all];
        for (std::uint32_t head = all; head != 0; head ^= std::uint32_t{1} << last[head])
            gradient[ideal[last[head]]] = step * (last[head] + 1 - std::popcount(head));
    });
}

}  // namespace podium
