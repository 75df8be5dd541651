// The slack search of TopSlack and TopMargin: the most violated ranking if only the head counts.
// Delta(z) = 1 - sum_j l(place of j) worth_j and
// Psi(z) = sum_j l(place of j) x_j with the same discount l, which is 0 from the cut on. worth_j is the gain of
// j divided by the ideal sum of gains, so Delta(ideal) = 0. With s = w.x and l of the ideal's places in `ideal`,
// lead(z) = 1 - w.(Psi(ideal) - Psi(z)) = 1 + sum_j (l(place of j) - ideal_j) s_j.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "queries.hpp"
#include "ranking.hpp"

namespace podium {

// A ranking: its first documents (from 0 in the query), its loss and its lead.
struct Head {
    std::vector<Row> order;
    double loss = 0, lead = 0;

    double violation() const { return loss * lead; }
};

// One query. As Delta is linear in the l of Psi, the maximum of lead + lambda Delta is the sort by
// s_j - lambda worth_j.
struct HeadQuery {
    const double *scores, *worth, *ideal, *discount;
    Row n, cut;
    Doubles keys;
    std::vector<std::int64_t> packed, spare;
    std::vector<Keyed> items;

    HeadQuery(const double* s, const double* v, const double* c, const double* l, Row size, Row head)
        : scores(s), worth(v), ideal(c), discount(l), n(size), cut(std::min(size, head)),
          keys(room(size)), packed(room(size)), spare(room(size)) {}

    void sort(double lambda, Head& z) {
        for (Row j = 0; j < n; ++j) keys[room(j)] = scores[j] - lambda * worth[j];
        z.order.resize(room(n));
        if (n <= kShort)
            order_short(keys.data(), 0, n, packed.data(), spare.data(), z.order.data());
        else
            order_long(keys.data(), nullptr, 0, n, items, z.order.data());
        // Psi(z) - Psi(ideal) sums to 0, so the first row's score is subtracted.
        double won = 0, along = 0;
        for (Row i = 0; i < cut; ++i) {
            const Row j = z.order[room(i)];
            won += discount[i] * worth[j];
            along += discount[i] * (scores[j] - scores[0]);
        }
        for (Row j = 0; j < n; ++j) along -= ideal[j] * (scores[j] - scores[0]);
        z.loss = std::max(0.0, 1 - won);
        z.lead = 1 + along;
    }

    // gradient += share * Psi(z).
    void add(const Head& z, double share, double* gradient) const {
        for (Row i = 0; i < cut; ++i) gradient[z.order[room(i)]] += share * discount[i];
    }
};

// Margin scaling: max of Delta + lead - 1, the sort for lambda = 1.
inline double most_by_margin(HeadQuery& query, double* gradient) {
    Head z;
    query.sort(1.0, z);
    for (Row j = 0; j < query.n; ++j) gradient[j] = -query.ideal[j];
    query.add(z, 1.0, gradient);
    return std::max(0.0, z.loss + z.lead - 1);
}

// The violation by a mixture of two rankings: (loss_a + t (loss_b - loss_a)) (lead_a + t (lead_b - lead_a)),
// is largest at this t from 0 to 1; b has the larger loss, a the larger lead.
inline double best_mixture(const Head& a, const Head& b) {
    const double loss = b.loss - a.loss, lead = b.lead - a.lead;
    if (!(loss > 0 && lead < 0)) return b.violation() > a.violation() ? 1.0 : 0.0;
    return std::clamp(-(loss * a.lead + a.loss * lead) / (2 * loss * lead), 0.0, 1.0);
}

// Rankings a and b next to each other on the hull of all (loss, lead), with the largest loss * lead on the
// hull between them. There lambda = lead / loss, and lead / loss of the sort for lambda falls as lambda
// rises: one sort brackets lambda, then the slope of the chord between the ends is the next to try.
inline void hull_edge(HeadQuery& query, Head& a, Head& b) {
    double lambda = 1;
    query.sort(lambda, a);
    while (a.loss == 0 && lambda < 1e300) query.sort(lambda = 4 * lambda, a);
    const double ratio = a.lead / a.loss;
    query.sort(std::max(0.0, ratio), b);
    if (ratio < lambda) std::swap(a, b);
    Head c;
    for (int step = 0; step < 200 && b.loss > a.loss; ++step) {
        const double slope = (a.lead - b.lead) / (b.loss - a.loss);
        query.sort(slope, c);
        const double above = (c.lead - a.lead) + slope * (c.loss - a.loss);
        if (!(above > 1e-12 * (1 + std::abs(a.lead) + slope))) return;  // nothing is above the chord: it is an edge
        // The hull is below the line of this slope through c, so the line shows on which side the maximum is.
        std::swap(c, c.lead > slope * c.loss ? a : b);
    }
}

// Slack scaling, relaxed to the hull: max of loss * lead over mixtures of rankings. It is convex in s
// and never below the maximum over rankings. `vertex` gets the larger violation by a single end of the edge.
inline double most_on_hull(HeadQuery& query, double* gradient, double& vertex) {
    Head a, b;
    hull_edge(query, a, b);
    const double t = best_mixture(a, b);
    const double loss = a.loss + t * (b.loss - a.loss), lead = a.lead + t * (b.lead - a.lead);
    for (Row j = 0; j < query.n; ++j) gradient[j] = -loss * query.ideal[j];
    query.add(a, loss * (1 - t), gradient);
    query.add(b, loss * t, gradient);
    vertex = std::max({0.0, a.violation(), b.violation()});
    return std::max(vertex, loss * lead);
}

// Slack scaling as the paper searches: golden section on F(lambda) = max_z [s.Psi(z) + lambda Delta(z)]
// - 2 sqrt(xi lambda); the result is the ranking of largest loss * lead among those that it visits.
inline double most_by_golden_section(HeadQuery& query, double xi, double* gradient) {
    constexpr double kLow = 1e-6, kGolden = 0.6180339887498949;
    Head z, best;
    auto look = [&](double lambda) {
        query.sort(lambda, z);
        if (best.order.empty() || z.violation() > best.violation()) best = z;
        return z.lead + lambda * z.loss - 2 * std::sqrt(xi * lambda);
    };
    // F has the slope Delta - sqrt(xi / lambda), so it rises from here on.
    double high = 1;
    for (look(high); z.loss * z.loss * high < xi && high < 1e300;) look(high *= 4);
    double low = kLow, left = high - kGolden * (high - low), right = low + kGolden * (high - low);
    double at_left = look(left), at_right = look(right);
    for (int step = 0; step < 40 && high - low > 1e-4 * high; ++step) {
        if (at_left < at_right) {
            high = right, right = left, at_right = at_left;
            at_left = look(left = high - kGolden * (high - low));
        } else {
            low = left, left = right, at_left = at_right;
            at_right = look(right = low + kGolden * (high - low));
        }
    }
    for (Row j = 0; j < query.n; ++j) gradient[j] = -best.loss * query.ideal[j];
    query.add(best, best.loss, gradient);
    return std::max(0.0, best.violation());
}

enum class Search { margin, hull, golden };

// For every query the most violated ranking (or mixture): its value, the value's gradient with respect to
// the scores, and a lower bound of the largest violation by a single ranking. A query with cut 0 gets 0.
inline void violated_head(const double* scores, const double* worth, const double* ideal, const Row* offsets,
                          Row n_queries, const Row* cuts, const double* discount, const double* lower_bounds,
                          Search search, double* values, double* gradient, double* vertices) {
    for_each_query(n_queries, 100 * offsets[n_queries], [=](Row q) {
        const Row first = offsets[q], n = offsets[q + 1] - first;
        values[q] = vertices[q] = 0;
        if (cuts[q] == 0) {
            std::fill(gradient + first, gradient + first + n, 0.0);
            return;
        }
        HeadQuery query(scores + first, worth + first, ideal + first, discount, n, cuts[q]);
        if (search == Search::hull)
            values[q] = most_on_hull(query, gradient + first, vertices[q]);
        else
            values[q] = vertices[q] = search == Search::margin
                                          ? most_by_margin(query, gradient + first)
                                          : most_by_golden_section(query, lower_bounds[q], gradient + first);
    });
}

}  // namespace podium
