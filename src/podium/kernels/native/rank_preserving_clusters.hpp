// pLocalsearch, rank-preserving clustering: clusters 0..K-1 follow one another along every list.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "eight_doubles.hpp"

namespace podium {

// A move must save more than the rounding error: that of x - centre is at most this share of the length of both.
constexpr double kRounding = 1e-13;
// Bounds of a cost are looser than necessary by this share, which is far more than their own rounding error.
constexpr double kSafely = 1e-9;
// The number of lists per block of a sum; a constant, so that sums do not depend on the number of threads.
constexpr Row kListsAtOnce = 64;
// The number of lists by which objects are prefetched before they are needed.
constexpr Row kListsAhead = 8;

// The last d % 8 numbers of a row, in the last lanes.
PODIUM_INLINE Eight rest_of(const double* x, Row d) {
    const Row rest = d % kLanes;
    if (d > kLanes) return load(x + d - kLanes) * (1.0 - first(kLanes - rest));
    Eight lanes = {};
    for (Row j = 0; j < rest; ++j) lanes[kLanes - rest + j] = x[j];
    return lanes;
}

// |x - centre|^2 in eight running sums.
PODIUM_INLINE double squared_distance(const double* x, const double* centre, Row d) {
    Eight sum = {};
    Row j = 0;
    for (; j + kLanes <= d; j += kLanes) {
        const Eight step = load(x + j) - load(centre + j);
        sum += step * step;
    }
    if (j < d) {
        const Eight step = rest_of(x, d) - rest_of(centre, d);
        sum += step * step;
    }
    return sum_of(sum);
}

// Lists of objects, best first, and where each list passes from one cluster to the next: cluster c of a list is
// the rows edge(list, c) to edge(list, c + 1).
struct Lists {
    const double* x;
    Row d;
    const Row* offsets;
    Row n, k;
    Row* bounds;  // k - 1 per list

    const double* row(Row i) const { return x + i * d; }
    Row* bounds_of(Row list) const { return bounds + list * (k - 1); }
    Row edge(Row list, Row c) const {
        return c == 0 ? offsets[list] : c == k ? offsets[list + 1] : bounds_of(list)[c - 1];
    }
    Row n_objects() const { return offsets[n]; }
};

// An object that may change to the cluster of its neighbour.
struct Candidate {
    Row row, from, to;
};

// A candidate with the change of the objective, and its distances from both centres.
struct Move {
    double cost = 0;
    Candidate object = {-1, 0, 0};
    double stay = 0, go = 0;
};

// A cluster in all lists together.
struct Cluster {
    Row count = 0;
    double join = 0, leave = 0;  // n / (n + 1) and n / (n - 1): the factors of squared distances in a cost
    double path = 0;             // how far the centre has moved since the start
    Doubles sum, centre;

    // Computes the centre and the factors from sum and count. A lone object saves nothing if it leaves.
    void settle() {
        const auto n = static_cast<double>(count);
        const double share = n > 0 ? 1 / n : 0;
        for (std::size_t j = 0; j < sum.size(); ++j) centre[j] = sum[j] * share;
        join = n / (n + 1);
        leave = n > 1 ? n / (n - 1) : 0;
    }

    // Adds (sign = 1) or removes (-1) one object at this distance from the centre. total is sum |x|^2 over all
    // objects: no centre is longer than sqrt(total / n), which bounds its rounding.
    void change(const double* x, int sign, double distance, double total) {
        for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += sign * x[j];
        count += sign;
        settle();
        const auto n = static_cast<double>(count);
        path += distance / n + kRounding * std::sqrt(total / n);
    }
};

struct Clusters {
    std::vector<Cluster> all;
    Row d;
    double total = 0, length = 0;  // sum |x|^2 over all objects, and the root of its mean

    Clusters(Row k, Row d_) : all(room(k)), d(d_) {
        for (Cluster& one : all) one.sum = one.centre = Doubles(room(d));
    }
    const Cluster& operator[](Row c) const { return all[room(c)]; }
    Cluster& operator[](Row c) { return all[room(c)]; }
};

// Bounds on a candidate since its last visit: its distances then, minus and plus the paths of the centres.
struct Known {
    Row key = -1;
    double near = 0, far = 0;

    static Row key_of(const Lists& lists, const Candidate& one) {
        return one.row * lists.k + std::min(one.from, one.to);
    }
};

// A lower bound of the cost of a candidate that was visited before: no centre has moved farther than its path.
// Other candidates have no bound. (Hamerly, Making k-means even faster, SDM 2010, has such bounds for k-means.)
PODIUM_INLINE double least_cost(const Lists& lists, const Clusters& now, const Candidate& one, const Known& known) {
    if (known.key != Known::key_of(lists, one)) return -std::numeric_limits<double>::infinity();
    const Cluster &from = now[one.from], &to = now[one.to];
    const double stay = known.near + from.path, go = std::max(known.far - to.path, 0.0);
    return (1 - kSafely) * to.join * go * go - (1 + kSafely) * from.leave * stay * stay;
}

// Calls visit(candidate, number) for the objects with a neighbour in another cluster, along the list.
template <class Visit>
PODIUM_INLINE void for_each_candidate(const Lists& lists, Row list, Visit visit) {
    Row before = -1;  // the last cluster with objects of this list
    for (Row c = 0; c < lists.k; ++c) {
        const Row border = lists.edge(list, c);
        if (border == lists.edge(list, c + 1)) continue;
        if (before >= 0) {
            visit(Candidate{border - 1, before, c}, 2 * c - 2);
            visit(Candidate{border, c, before}, 2 * c - 1);
        }
        before = c;
    }
}

// The cheapest move of a list, if one saves something; among equal moves the first along the list.
PODIUM_ANY_WIDTH
inline Move best_move(const Lists& lists, const Clusters& now, Row list, Known* all_known) {
    Move best;
    for_each_candidate(lists, list, [&](const Candidate& one, Row number) __attribute__((always_inline)) {
        Known& known = all_known[number];
        if (least_cost(lists, now, one, known) >= best.cost) return;
        const Cluster &from = now[one.from], &to = now[one.to];
        const double from2 = squared_distance(lists.row(one.row), from.centre.data(), now.d);
        const double to2 = squared_distance(lists.row(one.row), to.centre.data(), now.d);
        const double stay = std::sqrt(from2), go = std::sqrt(to2);
        known = {Known::key_of(lists, one), stay - from.path, go + to.path};
        const double cost = to.join * to2 - from.leave * from2;
        if (cost < best.cost && cost < -kRounding * stay * (stay + now.length)) best = {cost, one, stay, go};
    });
    return best;
}

// Prefetches the objects of a list that will be needed.
inline void fetch(const Lists& lists, const Clusters& now, Row list, const Known* known) {
    for_each_candidate(lists, list, [&](const Candidate& one, Row number) {
        if (least_cost(lists, now, one, known[number]) >= 0) return;
        for (Row j = 0; j < lists.d; j += kLanes) __builtin_prefetch(lists.row(one.row) + j);
    });
}

// Borders follow their object. Borders of clusters that are empty in this list are at the same place and move too.
PODIUM_ANY_WIDTH
inline void apply(const Move& move, const Lists& lists, Row list, Clusters& now) {
    const auto [row, from, to] = move.object;
    Row* bounds = lists.bounds_of(list);
    for (Row c = from; c < to; ++c) --bounds[c];
    for (Row c = to; c < from; ++c) ++bounds[c];
    now[from].change(lists.row(row), -1, move.stay, now.total);
    now[to].change(lists.row(row), 1, move.go, now.total);
}

// Adds the objects of some lists to the sums of their clusters.
PODIUM_ANY_WIDTH
inline void add_objects(const Lists& lists, Row from, Row to, double* sums) {
    for (Row list = from; list < to; ++list)
        for (Row c = 0; c < lists.k; ++c)
            for (Row i = lists.edge(list, c); i < lists.edge(list, c + 1); ++i)
                for (Row j = 0; j < lists.d; ++j) sums[c * lists.d + j] += lists.row(i)[j];
}

inline Clusters clusters_of(const Lists& lists) {
    Clusters all(lists.k, lists.d);
    const Row width = lists.k * lists.d, blocks = (lists.n + kListsAtOnce - 1) / kListsAtOnce;
    Doubles partial(room(blocks * width));
    for_each_query(blocks, lists.n_objects() * lists.d / 8, [&](Row b) {
        add_objects(lists, b * kListsAtOnce, std::min((b + 1) * kListsAtOnce, lists.n), partial.data() + b * width);
    });
    for (Row c = 0; c < lists.k; ++c) {
        for (Row b = 0; b < blocks; ++b)
            for (Row j = 0; j < lists.d; ++j) all[c].sum[room(j)] += partial[room(b * width + c * lists.d + j)];
        for (Row list = 0; list < lists.n; ++list) all[c].count += lists.edge(list, c + 1) - lists.edge(list, c);
        all[c].settle();
    }
    return all;
}

PODIUM_ANY_WIDTH
inline double scatter_of(const Lists& lists, const Clusters& now, Row list) {
    double sum = 0;
    for (Row c = 0; c < lists.k; ++c)
        for (Row i = lists.edge(list, c); i < lists.edge(list, c + 1); ++i)
            sum += squared_distance(lists.row(i), now[c].centre.data(), now.d);
    return sum;
}

// Omega = sum |x - centre|^2.
inline double objective_of(const Lists& lists, const Clusters& now) {
    Doubles scatter(room(lists.n));
    for_each_query(lists.n, lists.n_objects() * lists.d / 8,
                   [&](Row list) { scatter[room(list)] = scatter_of(lists, now, list); });
    double sum = 0;
    for (const double s : scatter) sum += s;
    return sum;
}

// sum |x|^2 = Omega + sum n |centre|^2.
inline void set_norms(const Lists& lists, double objective, Clusters& now) {
    now.total = objective;
    for (const Cluster& one : now.all) {
        double norm = 0;
        for (const double x : one.centre) norm += x * x;
        now.total += static_cast<double>(one.count) * norm;
    }
    now.length = std::sqrt(now.total / static_cast<double>(std::max(lists.n_objects(), Row{1})));
}

// Sweeps over the lists until no list has a move that saves something; each list makes its best move at once.
// Changes lists.bounds. Returns the objective before the first and after every sweep, and the moves of each sweep.
inline Clusters rank_clusters(const Lists& lists, Row max_sweeps, Doubles& objective, std::vector<Row>& moves) {
    Clusters now = clusters_of(lists);
    double value = objective_of(lists, now);
    set_norms(lists, value, now);
    objective.push_back(value);
    const Row candidates = 2 * (lists.k - 1);
    std::vector<Known> known(room(lists.n * candidates));
    for (Row moved = -1; moved != 0 && static_cast<Row>(moves.size()) < max_sweeps;) {
        moved = 0;
        for (Row list = 0; list < lists.n; ++list) {
            const Row ahead = list + kListsAhead;
            if (ahead < lists.n) fetch(lists, now, ahead, known.data() + ahead * candidates);
            const Move best = best_move(lists, now, list, known.data() + list * candidates);
            if (best.object.row < 0) continue;
            apply(best, lists, list, now);
            value += best.cost;
            ++moved;
        }
        objective.push_back(value);
        moves.push_back(moved);
    }
    return now;
}

}  // namespace podium
