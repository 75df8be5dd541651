// RankSVM's loss of pairs of documents (u, v) of one query, u better than v, without building the pairs.
// It has one sum per query, and per document the gradient and the diagonal of the Hessian.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "eight_doubles.hpp"

namespace podium {

// A number of documents, and the sum of their values.
struct Tally {
    double count, sum;
};

// A Fenwick tree over the levels of a query: adding and counting below a level cost O(log levels).
class LevelTree {
  public:
    // Counts documents below levels up to `top`. Documents at `top` are below none of them and are not kept.
    explicit LevelTree(Row top) : nodes_(room(top + 1)) {}

    void add(Row level, double carried) {
        const Row n = static_cast<Row>(nodes_.size());
        for (Row i = level + 1; i < n; i += i & -i) {
            Tally& node = nodes_[room(i)];
            node.count += 1;
            node.sum += carried;
        }
    }

    Tally below(Row level) const {
        Tally total{};
        for (Row i = level; i > 0; i &= i - 1) {
            total.count += nodes_[room(i)].count;
            total.sum += nodes_[room(i)].sum;
        }
        return total;
    }

  private:
    std::vector<Tally> nodes_;
};

struct ScoredDocument {
    double score;
    Row level, row;
};

// ends[u] is the number of documents that u leads by less than a margin: scores[u] - scores[v] < 1, for falling scores
// with kLanes times minus infinity behind them. There is no branch that depends on scores, because half of such
// branches would be predicted wrongly: eight documents are compared at once. Ends never fall, so each search begins at
// an earlier one; it is that of the fourth document before, so that four searches run at the same time.
PODIUM_ANY_WIDTH
inline void margin_ends(const double* scores, Row n, Row* ends) {
    constexpr Row kBefore = 4;
    for (Row u = 0; u < n; ++u) {
        const Eight own = all(scores[u]);
        Row end = u < kBefore ? 0 : ends[u - kBefore], inside = kLanes;
        while (inside == kLanes && end < n) {
            const auto outside = own - load(scores + end) >= 1.0;  // lanes of -1; NaN is inside
            inside = kLanes + ((outside[0] + outside[4]) + (outside[1] + outside[5])) +
                     ((outside[2] + outside[6]) + (outside[3] + outside[7]));
            end += inside;
        }
        ends[u] = std::min(end, n);
    }
}

// The numbers of some documents by level, and the sums of their values; aligned, so that each fills whole cache lines.
struct alignas(64) LevelTallies {
    double counts[kLanes], sums[kLanes];

    Tally at(Row level) const { return {counts[level], sums[level]}; }
};

// For each place i in a list: how many of the documents before it are of a lower level than each of kLanes levels, and
// with what sum of values.
PODIUM_ANY_WIDTH
inline void tally_before(const ScoredDocument* documents, const double* values, Row n, LevelTallies* tallies) {
    const Eight one = all(1), zero = {}, levels = {0, 1, 2, 3, 4, 5, 6, 7};
    Eight count = {}, sum = {};
    for (Row i = 0; i < n; ++i) {
        store(count, tallies[i].counts);
        store(sum, tallies[i].sums);
        const auto counted = levels > static_cast<double>(documents[i].level);
        count += counted ? one : zero;
        sum += counted ? all(values[i]) : zero;
    }
    store(count, tallies[n].counts);
    store(sum, tallies[n].sums);
}

// For each place i in a list: how many of the documents from it on are of a higher level than each of kLanes levels, and
// with what sum of values.
PODIUM_ANY_WIDTH
inline void tally_behind(const ScoredDocument* documents, const double* values, Row n, LevelTallies* tallies) {
    const Eight one = all(1), zero = {}, levels = {0, 1, 2, 3, 4, 5, 6, 7};
    Eight count = {}, sum = {};
    for (Row i = n; i-- > 0;) {
        const auto counted = levels < static_cast<double>(documents[i].level);
        count += counted ? one : zero;
        sum += counted ? all(values[i]) : zero;
        store(count, tallies[i].counts);
        store(sum, tallies[i].sums);
    }
}

// Room for numbers that are written before they are read: to clear it would take as long as the sums themselves.
template <class T>
std::unique_ptr<T[]> uncleared(Row n) {
    return std::make_unique_for_overwrite<T[]>(room(n));
}

// For documents by score, best first, of levels below kLanes: the partners inside the margin that each document
// wins against, and those that it loses to.
inline void tally_margins(const ScoredDocument* documents, const double* values, Row n, Tally* below, Tally* above) {
    const auto tallies = uncleared<LevelTallies>(n + 1);
    const auto scores = uncleared<double>(n + kLanes);
    const auto ends = uncleared<Row>(n);
    std::vector<Row> begins(room(n + 1), 0);
    for (Row i = 0; i < n; ++i) scores[room(i)] = documents[i].score;
    std::fill_n(scores.get() + n, kLanes, -std::numeric_limits<double>::infinity());
    margin_ends(scores.get(), n, ends.get());
    tally_before(documents, values, n, tallies.get());
    for (Row u = 0; u < n; ++u) below[u] = tallies[room(ends[room(u)])].at(documents[u].level);
    // v is inside the margin of u from the first u on whose end is behind v.
    for (Row u = 0; u < n; ++u) ++begins[room(ends[room(u)])];
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    tally_behind(documents, values, n, tallies.get());
    for (Row v = 0; v < n; ++v) above[v] = tallies[room(begins[room(v)])].at(documents[v].level);
}

// The documents of one query by score, best first, and their pairs inside the margin: level_u > level_v and
// s_u - s_v < 1. Down the list, the documents within a margin of u only grow in number; up the list, those of
// v. So two sweeps suffice, and each document enters once per sweep.
class MarginPairs {
  public:
    using Document = ScoredDocument;

    MarginPairs(const double* scores, const Row* levels, const Row* order, Row n) : documents_(room(n)) {
        for (std::size_t i = 0; i < room(n); ++i) {
            documents_[i] = {scores[order[i]], levels[order[i]], order[i]};
            top_ = std::max(top_, documents_[i].level);
        }
    }

    Row top() const { return top_; }

    // Calls visit(u) for each document, after enter(v) for all v that it may lead by less than a margin.
    template <class Enter, class Visit>
    void down(Enter enter, Visit visit) const {
        if (top_ == 0) return;  // there is no pair
        auto v = documents_.begin();
        for (const Document& u : documents_) {
            for (; v != documents_.end() && u.score - v->score < 1; ++v) enter(*v);
            visit(u);
        }
    }

    // Calls visit(v) for each document, after enter(u) for all u that may lead it by less than a margin.
    template <class Enter, class Visit>
    void up(Enter enter, Visit visit) const {
        if (top_ == 0) return;
        auto u = documents_.rbegin();
        for (auto v = u; v != documents_.rend(); ++v) {
            for (; u != documents_.rend() && u->score - v->score < 1; ++u) enter(*u);
            visit(*v);
        }
    }

    // Calls worse(u, tally of its partners below) and better(v, tally of its partners above); document x has the
    // value carried(x).
    template <class Carried, class Worse, class Better>
    void tally(Carried carried, Worse worse, Better better) const {
        if (top_ < kLanes) return tally_few_levels(carried, worse, better);
        LevelTree below(top_), above(top_);
        down([&](const Document& v) { below.add(v.level, carried(v.row)); },
             [&](const Document& u) { worse(u.row, below.below(u.level)); });
        up([&](const Document& u) { above.add(top_ - u.level, carried(u.row)); },
           [&](const Document& v) { better(v.row, above.below(top_ - v.level)); });
    }

  private:
    // The same for few levels, as graded labels have.
    template <class Carried, class Worse, class Better>
    void tally_few_levels(Carried carried, Worse worse, Better better) const {
        if (top_ == 0) return;
        const Row n = static_cast<Row>(documents_.size());
        const auto values = uncleared<double>(n);
        const auto tallies = uncleared<Tally>(2 * n);
        Tally *below = tallies.get(), *above = below + n;
        for (std::size_t i = 0; i < room(n); ++i) values[i] = carried(documents_[i].row);
        tally_margins(documents_.data(), values.get(), n, below, above);
        for (std::size_t i = 0; i < room(n); ++i) worse(documents_[i].row, below[i]);
        for (std::size_t i = room(n); i-- > 0;) better(documents_[i].row, above[i]);
    }

    std::vector<Document> documents_;
    Row top_ = 0;
};

// sum over pairs of max(0, 1 - (s_u - s_v))^power; order holds the rows by score. Writes the curvature unless that is
// null.
inline void hinge_pairs(const double* scores, const Row* levels, const Row* order, const Row* offsets,
                        Row n_queries, int power, double* values, double* gradient, double* curvature) {
    for_each_query(n_queries, 100 * offsets[n_queries], [=](Row q) {
        const Row first = offsets[q], n = offsets[q + 1] - first;
        std::fill_n(gradient + first, n, 0.0);
        if (curvature != nullptr) std::fill_n(curvature + first, n, 0.0);
        const double middle = n == 0 ? 0 : scores[order[first + n / 2]];  // a common offset must not cost digits
        const auto s = [=](Row row) { return scores[row] - middle; };
        double value = 0;
        // The distance to the margin, summed over the pairs that a document wins, then over those it loses.
        // sum of h^2 = sum of h (1 - s_u + s_v): no squares of scores are summed.
        const auto wins = [&](Row u, Tally worse) {
            const double missing = worse.count * (1 - s(u)) + worse.sum;
            value += power == 1 ? missing : missing * (1 - s(u));
            gradient[u] -= power == 1 ? worse.count : 2 * missing;
            if (curvature != nullptr && power != 1) curvature[u] += 2 * worse.count;
        };
        const auto loses = [&](Row v, Tally better) {
            const double missing = better.count * (1 + s(v)) - better.sum;
            value += power == 1 ? 0 : missing * s(v);
            gradient[v] += power == 1 ? better.count : 2 * missing;
            if (curvature != nullptr && power != 1) curvature[v] += 2 * better.count;
        };
        MarginPairs(scores, levels, order + first, n).tally(s, wins, loses);
        values[q] = std::max(value, 0.0);
    });
}

// The generalised Hessian of the squared hinge times a direction, for one query: 2 sum over a document's active
// pairs of the difference of directions. order holds its rows by score.
inline void hinge_product_of_list(const double* scores, const Row* levels, const Row* order, Row first, Row n,
                                  const double* direction, double* out) {
    std::fill_n(out + first, n, 0.0);
    const double mean =
        std::accumulate(direction + first, direction + first + n, 0.0) / static_cast<double>(n);
    const auto d = [=](Row row) { return direction[row] - mean; };
    const auto add = [=](Row row, Tally partners) {
        out[row] += 2 * (partners.count * d(row) - partners.sum);
    };
    MarginPairs(scores, levels, order, n).tally(d, add, add);
}

inline void hinge_pairs_product(const double* scores, const Row* levels, const Row* order,
                                const Row* offsets, Row n_queries, const double* direction, double* out) {
    for_each_query(n_queries, 100 * offsets[n_queries], [=](Row q) {
        const Row first = offsets[q], n = offsets[q + 1] - first;
        hinge_product_of_list(scores, levels, order + first, first, n, direction, out);
    });
}

// sum += row; and out += 2 (count own - sum), the effect on one document of `count` others with this sum.
PODIUM_ANY_WIDTH
inline void add_row(double* __restrict sum, const double* __restrict row, Row width) {
    for (Row j = 0; j < width; ++j) sum[j] += row[j];
}

PODIUM_ANY_WIDTH
inline void add_apart(double* __restrict out, const double* __restrict own, double count,
                      const double* __restrict sum, Row width) {
    for (Row j = 0; j < width; ++j) out[j] += 2 * (count * own[j] - sum[j]);
}

// A LevelTree whose values are whole rows.
class RowTree {
  public:
    RowTree(Row top, Row width) : width_(width), counts_(room(top + 1)), sums_(room((top + 1) * width)) {}

    void add(Row level, const double* row) {
        const Row n = static_cast<Row>(counts_.size());
        for (Row i = level + 1; i < n; i += i & -i) {
            counts_[room(i)] += 1;
            add_row(&sums_[room(i * width_)], row, width_);
        }
    }

    void add_apart_from_below(Row level, const double* own, double* out) const {
        for (Row i = level; i > 0; i &= i - 1)
            add_apart(out, own, counts_[room(i)], &sums_[room(i * width_)], width_);
    }

  private:
    Row width_;
    Doubles counts_, sums_;
};

// The product with many directions at once: the columns of a matrix.
inline void hinge_pairs_products(const double* scores, const Row* levels, const Row* order,
                                 const Row* offsets, Row n_queries, const double* directions, Row width,
                                 double* out) {
    for_each_query(n_queries, 4 * width * offsets[n_queries], [=](Row q) {
        const Row first = offsets[q], n = offsets[q + 1] - first;
        std::fill(out + first * width, out + (first + n) * width, 0.0);
        const MarginPairs pairs(scores, levels, order + first, n);
        if (pairs.top() == 0) return;
        Doubles mean(room(width)), centred(directions + first * width, directions + (first + n) * width);
        for (Row i = 0; i < n; ++i) add_row(mean.data(), &centred[room(i * width)], width);
        for (double& m : mean) m /= -static_cast<double>(n);
        for (Row i = 0; i < n; ++i) add_row(&centred[room(i * width)], mean.data(), width);
        const auto d = [&](Row row) { return &centred[room((row - first) * width)]; };
        RowTree below(pairs.top(), width), above(pairs.top(), width);
        using Document = MarginPairs::Document;
        pairs.down(
            [&](const Document& v) { below.add(v.level, d(v.row)); },
            [&](const Document& u) { below.add_apart_from_below(u.level, d(u.row), out + u.row * width); });
        pairs.up([&](const Document& u) { above.add(pairs.top() - u.level, d(u.row)); },
                 [&](const Document& v) {
                     above.add_apart_from_below(pairs.top() - v.level, d(v.row), out + v.row * width);
                 });
    });
}

}  // namespace podium
