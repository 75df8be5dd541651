// Soft rules in the Bradley-Terry objective: stars of pairs, and springs.
#pragma once

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "score_vectors.hpp"

namespace podium {

// A document against n others: `up` and `down` are the weights per pair of winning and of losing.
PODIUM_ANY_WIDTH
inline Pull star_pull(const double* q, double c, double up, double down, Row n) {
    Eight g{}, h{};
    for (Row j = 0; j < n; j += kLanes) {
        const Eight r = load(q + j) * c, t = first(n - j) / (1 + r), rt = r * t;
        g += down * t - up * rt;
        h += rt * t;
    }
    // A lane that is left out has t = 0; in the others t is 1 / (1 + r).
    return {sum_of(g), (up + down) * sum_of(h)};
}

// Also updates the others; `curve` keeps the second derivatives.
PODIUM_ANY_WIDTH
inline Pull star_expand(const double* q, double c, double up, double down, Row n, double* gradient,
                        double* diagonal, double* curve) {
    Eight g{}, h{};
    for (Row j = 0; j < n; j += kLanes) {
        const Eight r = load(q + j) * c, t = first(n - j) / (1 + r), rt = r * t;
        const Eight pull = down * t - up * rt, bend = (up + down) * (rt * t);
        g += pull;
        h += bend;
        store(load(gradient + j) - pull, gradient + j);
        store(load(diagonal + j) + bend, diagonal + j);
        store(bend, curve + j);
    }
    return {sum_of(g), sum_of(h)};
}

// out_j -= h_j v; returns the sum of h_j v_j.
PODIUM_ANY_WIDTH
inline double star_product(const double* curve, const double* direction, double v, Row n, double* out) {
    Eight sum{};
    for (Row j = 0; j < n; j += kLanes) {
        const Eight h = load(curve + j);
        sum += h * load(direction + j);
        store(load(out + j) - h * v, out + j);
    }
    return sum_of(sum);
}

// sum_j up l(x_j) + down l(-x_j), where e^-x_j = c q_j.
PODIUM_ANY_WIDTH
inline double star_loss(const double* q, double c, double up, double down, Row n) {
    Eight sum{};
    for (Row j = 0; j < n; j += kLanes) {
        const Eight r = load(q + j) * c;
        const Eight live = first(n - j), loss = log_of(live * r + 1);
        sum += (up + down) * loss - down * (live * log_of(live > 0 ? r : all(1)));
    }
    return sum_of(sum);
}

struct Star {
    Row doc, lo, hi;
    double up, down;
};

// Stars of one document as disjoint runs without the document itself; weights are added where stars overlap. So
// each pair of documents is visited at most twice, whatever the number of rules.
inline std::vector<Star> merged_stars(const Row* doc, const Row* lo, const Row* hi, const double* weight,
                                      Row n_stars, Row n) {
    std::vector<Star> out;
    std::vector<Row> by_doc(room(n_stars));
    for (Row r = 0; r < n_stars; ++r) by_doc[room(r)] = r;
    std::stable_sort(by_doc.begin(), by_doc.end(), [=](Row a, Row b) { return doc[a] < doc[b]; });
    Doubles up(room(n)), down(room(n));
    for (auto first = by_doc.begin(); first != by_doc.end();) {
        const Row own = doc[*first];
        auto last = first;
        Row from = n, to = 0;
        for (; last != by_doc.end() && doc[*last] == own; ++last) {
            from = std::min(from, lo[*last]);
            to = std::max(to, hi[*last]);
            Doubles& side = weight[*last] > 0 ? up : down;
            for (Row j = lo[*last]; j < hi[*last]; ++j) side[room(j)] += std::abs(weight[*last]);
        }
        if (from <= own && own < to) up[room(own)] = down[room(own)] = 0;
        for (Row j = from; j < to;) {
            const double u = up[room(j)], d = down[room(j)];
            Row end = j + 1;
            while (end < to && up[room(end)] == u && down[room(end)] == d) ++end;
            if (u > 0 || d > 0) out.push_back({own, j, end, u, d});
            j = end;
        }
        std::fill(up.begin() + from, up.begin() + std::max(from, to), 0.0);
        std::fill(down.begin() + from, down.begin() + std::max(from, to), 0.0);
        first = last;
    }
    return out;
}

struct Spring {
    const Row *first, *last;
    double kappa;

    // The diagonal of the spring's Hessian.
    double own() const { return kappa * (1 - 1 / static_cast<double>(last - first)); }

    // out += kappa (v_i - mean v) on the rows of the spring; returns the sum of (v_i - mean v)^2.
    double add(const Doubles& v, Doubles& out) const {
        double mean = 0, squares = 0;
        for (const Row* i = first; i < last; ++i) mean += v[room(*i)];
        mean /= static_cast<double>(last - first);
        for (const Row* i = first; i < last; ++i) {
            const double gap = v[room(*i)] - mean;
            out[room(*i)] += kappa * gap;
            squares += gap * gap;
        }
        return squares;
    }
};

// The terms of soft rules in f.
class Rules {
  public:
    Rules(std::vector<Star> stars, std::vector<Spring> springs)
        : stars_(std::move(stars)), springs_(std::move(springs)) {
        Row pairs = 0;
        for (const Star& star : stars_) pairs += padded(star.hi - star.lo);
        curve_ = std::make_unique_for_overwrite<double[]>(room(pairs));
    }

    const std::vector<Star>& stars() const { return stars_; }

    void expand(Points& points, Doubles& gradient, Doubles& diagonal) {
        double* curve = curve_.get();
        for (const Star& star : stars_) {
            const auto [q, c] = points.against(star.doc, star.lo, star.hi);
            const Row n = star.hi - star.lo;
            const Pull own = star_expand(q, c, star.up, star.down, n, &gradient[room(star.lo)],
                                         &diagonal[room(star.lo)], curve);
            gradient[room(star.doc)] += own.gradient;
            diagonal[room(star.doc)] += own.curvature;
            curve += padded(n);
        }
        for (const Spring& spring : springs_) {
            spring.add(points.s, gradient);
            for (const Row* i = spring.first; i < spring.last; ++i) diagonal[room(*i)] += spring.own();
        }
    }

    // out += (H - its diagonal) v
    void product(const Doubles& v, Doubles& out) const {
        const double* curve = curve_.get();
        for (const Star& star : stars_) {
            const Row n = star.hi - star.lo;
            out[room(star.doc)] -= star_product(curve, &v[room(star.lo)], v[room(star.doc)], n,
                                                &out[room(star.lo)]);
            curve += padded(n);
        }
        for (const Spring& spring : springs_) {
            spring.add(v, out);
            for (const Row* i = spring.first; i < spring.last; ++i)
                out[room(*i)] -= spring.own() * v[room(*i)];
        }
    }

    // The forces of the stars first..last-1 on one document if its score were x.
    Pull at(std::size_t first, std::size_t last, double x, double scale, Points& points) const {
        Pull sum;
        for (std::size_t r = first; r < last; ++r) {
            const Star& star = stars_[r];
            const auto [q, c] = points.against(x, scale, star.lo, star.hi);
            const Pull own = star_pull(q, c, star.up, star.down, star.hi - star.lo);
            sum.gradient += own.gradient;
            sum.curvature += own.curvature;
        }
        return sum;
    }

    double value(Points& points) const {
        double sum = 0;
        for (const Star& star : stars_) {
            const auto [q, c] = points.against(star.doc, star.lo, star.hi);
            sum += star_loss(q, c, star.up, star.down, star.hi - star.lo);
        }
        if (springs_.empty()) return sum;
        Doubles unused(points.s.size());
        for (const Spring& spring : springs_) sum += spring.kappa / 2 * spring.add(points.s, unused);
        return sum;
    }

  private:
    std::vector<Star> stars_;
    std::vector<Spring> springs_;
    std::unique_ptr<double[]> curve_;
};

}  // namespace podium
