// All pairs of the original order: computed one by one in short lists, and by smooth sums in long ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "score_vectors.hpp"
#include "pair_sums.hpp"

namespace podium {

// The pairs of the original order: i should win against every j > i with w_ij = floor + slope (b_i - b_j).
// Half of each pair's loss is linear, l(x) = log(2 cosh(x/2)) - x/2: sum_{i<j} w_ij (s_i - s_j) / 2 =
// drift.s.
struct Base {
    Row n;
    double floor, slope;
    Doubles b, drift;

    Base(const double* scores, Row size, double weight, double margin)
        : n(size), floor(weight), slope(margin), b(list_of(size)), drift(list_of(size)) {
        double mean = 0, total = 0;
        if (slope != 0) {
            for (Row i = 0; i < n; ++i) mean += scores[i] / static_cast<double>(n);
            for (Row i = 0; i < n; ++i) total += b[room(i)] = scores[i] - mean;
        }
        for (Row i = 0; i < n; ++i) {
            const double pairs = static_cast<double>(n - 1 - 2 * i);
            const double margins = static_cast<double>(n) * b[room(i)] - total;
            drift[room(i)] = (floor * pairs + slope * margins) / 2;
        }
    }
};

// Rows of the base's Hessian without its diagonal. Adds the sums of w (sigma - 1/2) to the gradient, and those of
// w sigma (1 - sigma) to the diagonal. c_i q_j = e^(s_j - s_i); if `inverse`, c_i = 1 / q_i.
PODIUM_ANY_WIDTH
inline void base_rows(const double* q, bool inverse, double floor, double slope, const double* b, Row from,
                      Row to, Row n, double* curve, double* gradient, double* diagonal) {
    const Row stride = padded(n);
    for (Row i = from; i < to; ++i) {
        const double c = inverse ? 1 / q[i] : 1, b_i = b[i];
        double* row = curve + i * stride;
        Eight g{}, h{};
        for (Row j = 0; j < n; j += kLanes) {
            const Eight live = first(n - j), r = load(q + j) * c, t = 1 / (1 + r);
            const Eight w = live * (floor + slope * size_of(b_i - load(b + j)));
            const Eight bend = w * (r * t * t);
            g += w * (t - 0.5);
            h += bend;
            store(bend, row + j);
        }
        gradient[i] += sum_of(g);
        diagonal[i] += sum_of(h) - row[i];
        row[i] = 0;
    }
}

// The sums without the rows.
PODIUM_ANY_WIDTH
inline Pull base_pull(const double* q, double c, double floor, double slope, double b_i, const double* b,
                      Row n) {
    Eight g{}, h{};
    for (Row j = 0; j < n; j += kLanes) {
        const Eight live = first(n - j), r = load(q + j) * c, t = 1 / (1 + r);
        const Eight w = live * (floor + slope * size_of(b_i - load(b + j)));
        g += w * (t - 0.5);
        h += w * (r * t * t);
    }
    return {sum_of(g), sum_of(h)};
}

// out -= the matrix times v, four rows of it at a time.
PODIUM_ANY_WIDTH
inline void subtract_product(const double* matrix, const double* v, Row n, double* out) {
    for (Row i = 0; i < n; i += 4) {
        const double* row = matrix + i * n;
        const double v0 = v[i], v1 = v[i + 1], v2 = v[i + 2], v3 = v[i + 3];
        for (Row j = 0; j < n; j += kLanes) {
            const Eight two = load(row + j) * v0 + load(row + n + j) * v1;
            const Eight four = two + (load(row + 2 * n + j) * v2 + load(row + 3 * n + j) * v3);
            store(load(out + j) - four, out + j);
        }
    }
}

// sum_j w_j log(2 cosh(x_j / 2)), x_j = s_i - s_j and c q_j = e^-x_j.
PODIUM_ANY_WIDTH
inline double base_loss(const double* q, double c, double s_i, const double* s, double floor, double slope,
                        double b_i, const double* b, Row n) {
    Eight sum{};
    for (Row j = 0; j < n; j += kLanes) {
        const Eight live = first(n - j), half = 0.5 * (s_i - load(s + j));
        const Eight w = live * (floor + slope * (b_i - load(b + j)));
        sum += w * (log_of(load(q + j) * c + 1) + half);
    }
    return sum_of(sum);
}

// Pairs of the base within leaves of neighbours, computed pair by pair; their Hessian is stored as matrices.
class Leaves {
  public:
    Leaves(const Base& base, double floor, Row leaf)
        : base_(base), floor_(floor), leaf_(leaf) {
        Row size = 0;
        for (Row lo = 0; lo < base.n; lo += leaf) size += wide(lo) * wide(lo);
        curve_ = std::make_unique<double[]>(room(size));
    }

    void expand(Points& points, Doubles& gradient, Doubles& diagonal) {
        double* curve = curve_.get();
        for (Row lo = 0; lo < base_.n; lo += leaf_) {
            const Row n = std::min(leaf_, base_.n - lo), stride = padded(n);
            const auto rows = [&](const double* q, bool inverse, Row from, Row to) {
                base_rows(q, inverse, floor_, base_.slope, &base_.b[room(lo)], from, to, n, curve,
                          &gradient[room(lo)], &diagonal[room(lo)]);
            };
            if (points.near()) {
                rows(points.against(lo, lo, lo + n).q, true, 0, n);
            } else {
                for (Row i = 0; i < n; ++i) rows(points.against(lo + i, lo, lo + n).q, false, i, i + 1);
            }
            curve += stride * stride;
        }
    }

    // out += (H - its diagonal) v
    void product(const Doubles& v, Doubles& out) const {
        const double* curve = curve_.get();
        for (Row lo = 0; lo < base_.n; lo += leaf_) {
            subtract_product(curve, &v[room(lo)], wide(lo), &out[room(lo)]);
            curve += wide(lo) * wide(lo);
        }
    }

    // sum of w log(2 cosh(x/2))
    double value(Points& points) const {
        double sum = 0;
        for (Row i = 0; i < base_.n; ++i) {
            const Row end = std::min(base_.n, i / leaf_ * leaf_ + leaf_);
            const std::size_t own = room(i);
            const auto [q, c] = points.against(i, i + 1, end);
            sum += base_loss(q, c, points.s[own], &points.s[own + 1], floor_, base_.slope, base_.b[own],
                             &base_.b[own + 1], end - i - 1);
        }
        return sum;
    }

  private:
    Row wide(Row lo) const { return padded(std::min(leaf_, base_.n - lo)); }

    const Base& base_;
    double floor_;
    Row leaf_;
    std::unique_ptr<double[]> curve_;
};

constexpr Row kDense = 32, kDenseMargin = 128, kLeaf = 32;

// All pairs of the base. Short lists are computed pair by pair. Long lists use smooth sums, except the margins of
// neighbours: their |b_i - b_j| is not smooth, so they are computed pair by pair.
class Pairs {
  public:
    explicit Pairs(const Base& base) : base_(base) {
        if (base.n <= (base.slope == 0 ? kDense : kDenseMargin)) {
            leaves_.emplace(base, base.floor, padded(base.n));
            return;
        }
        panels_.emplace(base.n, base.slope == 0 ? base.n : kLeaf);
        if (base.slope != 0) leaves_.emplace(base, 0.0, kLeaf);
        ones_ = list_of(base.n);
        std::fill_n(ones_.begin(), base.n, 1.0);
        sums_ = list_of(base.n);
    }

    void expand(Points& points, Doubles& gradient, Doubles& diagonal) {
        const Row n = padded(base_.n);
        shifted(gradient.data(), -1, base_.drift.data(), n, gradient.data());
        if (leaves_) leaves_->expand(points, gradient, diagonal);
        if (!panels_) return;
        panels_->update(points.s, points.low(), points.high());
        sum(Kernel::pull(), ones_);
        shifted(gradient.data(), 1, sums_.data(), n, gradient.data());
        sum(Kernel::bend(), ones_);
        shifted(sums_.data(), -base_.floor / 4, ones_.data(), n, sums_.data());
        shifted(diagonal.data(), 1, sums_.data(), n, diagonal.data());
    }

    // out += (H - its diagonal) v
    void product(const Doubles& v, Doubles& out) {
        if (leaves_) leaves_->product(v, out);
        if (!panels_) return;
        sum(Kernel::bend(), v);
        const Row n = padded(base_.n);
        shifted(sums_.data(), -base_.floor / 4, v.data(), n, sums_.data());
        shifted(out.data(), -1, sums_.data(), n, out.data());
    }

    double value(Points& points) {
        double total = leaves_ ? leaves_->value(points) : 0;
        if (panels_) {
            panels_->update(points.s, points.low(), points.high());
            sum(Kernel::loss(), ones_);
            for (std::size_t i = 0; i < room(base_.n); ++i)
                total += (sums_[i] - base_.floor * std::numbers::ln2) / 2;
        }
        for (std::size_t i = 0; i < room(base_.n); ++i) total -= base_.drift[i] * points.s[i];
        return total;
    }

    // The forces on one document if its score were x.
    Pull at(Row i, double x, double scale, Points& points) const {
        const auto [q, c] = points.against(x, scale, 0, base_.n);
        Pull pull = base_pull(q, c, base_.floor, base_.slope, base_.b[room(i)], base_.b.data(), base_.n);
        const double own = 1 / (1 + q[i] * c) - 0.5;  // the pair of the document with itself
        pull.gradient -= base_.drift[room(i)] + base_.floor * own;
        pull.curvature -= base_.floor * (0.25 - own * own);
        return pull;
    }

  private:
    void sum(const Kernel& kernel, const Doubles& v) {
        panels_->sums(kernel, base_.floor, base_.slope, base_.b, v, sums_);
    }

    const Base& base_;
    std::optional<Leaves> leaves_;
    std::optional<Panels> panels_;
    Doubles ones_, sums_;
};

}  // namespace podium
