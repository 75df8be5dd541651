// Bradley-Terry scores of a list under soft rules (Wu et al., CIKM 2014): the minimum of
//
//   f(s) = sum_{i<j} w_ij l(s_i - s_j) + stars + springs + (tau/2) |s|^2,   l(x) = log(1 + e^-x),
//
// by Newton's method with conjugate gradients. A pair of weight w that i should win pulls i up and j
// down by w sigma(s_j - s_i). It couples the two by w sigma (1 - sigma), whichever of them should win.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include "base_pairs.hpp"
#include "score_vectors.hpp"
#include "soft_rules.hpp"

namespace podium {

struct Minimum {
    double value, norm;
    Row steps;
};

// Limits that stop the iteration, whether it has converged or not.
class Deadline {
  public:
    explicit Deadline(double seconds) : is_set_(std::isfinite(seconds)) {
        const std::chrono::duration<double> left(is_set_ ? std::max(seconds, 0.0) : 0.0);
        end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(left);
    }
    bool is_over() const { return is_set_ && Clock::now() >= end_; }

  private:
    using Clock = std::chrono::steady_clock;
    bool is_set_;
    Clock::time_point end_;
};

// A step that shrinks |gradient| must end at a slope below this share of the slope at its start.
constexpr double kSlope = 0.1;

class Newton {
  public:
    Newton(Pairs& pairs, Rules& rules, double tau, Row n, const Deadline& deadline, Doubles& s)
        : pairs_(pairs), rules_(rules), tau_(tau), n_(n), deadline_(deadline), s_(s), points_(s, n), gradient_(list_of(n)),
          diagonal_(list_of(n)), step_(list_of(n)), r_(list_of(n)), z_(list_of(n)), p_(list_of(n)),
          product_(list_of(n)), inverse_(list_of(n)) {}

    Minimum minimise(double tol, Row max_iter) {
        settle_stars();
        Doubles before, best;
        expand();
        double norm = largest(gradient_), least = norm;
        Row steps = 0, stalls = 0;
        const double first = std::max(norm, 1.0);
        while (norm > tol && steps < max_iter && stalls < 3 && !deadline_.is_over()) {
            const double scale = *std::max_element(diagonal_.begin(), diagonal_.end());
            solve(std::max(std::min(0.1, norm / (4 * scale)), 0.2 * tol / norm));
            before = s_;
            search(before);
            ++steps;
            const double now = largest(gradient_);
            // If a step no longer helps, only rounding error is left.
            stalls = now > 0.5 * norm && now < 1e-9 * (scale + first) ? stalls + 1 : 0;
            norm = now;
            if (norm < least) {
                least = norm;
                best = s_;
            }
        }
        if (norm > least && !best.empty()) {
            s_ = best;
            norm = least;
        }
        points_.update();
        return {pairs_.value(points_) + rules_.value(points_) + tau_ / 2 * dot(s_, s_), norm, steps};
    }

  private:
    // Moves the documents that rules concern to where they would settle if all others stayed.
    void settle_stars() {
        points_.update();
        const std::vector<Star>& stars = rules_.stars();
        Row docs = 0;
        for (std::size_t first = 0, last = 0; first < stars.size() && docs < 50; first = last, ++docs) {
            const Row doc = stars[first].doc;
            while (last < stars.size() && stars[last].doc == doc) ++last;
            double x = s_[room(doc)];
            for (Row turn = 0; turn < 6; ++turn) {
                const double scale = points_.scale(x);
                const Pull base = pairs_.at(doc, x, scale, points_);
                const Pull own = rules_.at(first, last, x, scale, points_);
                const double change = (base.gradient + own.gradient + tau_ * x) /
                                      (base.curvature + own.curvature + tau_);
                x -= std::clamp(change, -2.0, 2.0);
                if (std::abs(change) < 0.1) break;
            }
            s_[room(doc)] = x;
        }
    }

    void expand() {
        points_.update();
        std::fill(diagonal_.begin(), diagonal_.end(), tau_);
        times(diagonal_.data(), s_.data(), static_cast<Row>(s_.size()), gradient_.data());
        pairs_.expand(points_, gradient_, diagonal_);
        rules_.expand(points_, gradient_, diagonal_);
    }

    // step = -H^-1 gradient, within `eta` of it.
    void solve(double eta) {
        const Row n = static_cast<Row>(s_.size());
        double rz = conjugate_start(gradient_.data(), diagonal_.data(), n, inverse_.data(), step_.data(),
                                    r_.data(), z_.data(), p_.data());
        const double enough = eta * eta * rz;
        for (Row turn = 0; turn < 2 * n_ + 20 && rz > enough && !deadline_.is_over(); ++turn) {
            times(diagonal_.data(), p_.data(), n, product_.data());
            pairs_.product(p_, product_);
            rules_.product(p_, product_);
            const double bend = dot(p_, product_);
            if (!(bend > 0)) break;
            const double next = conjugate_step(rz / bend, p_.data(), product_.data(), inverse_.data(), n,
                                               step_.data(), r_.data(), z_.data());
            scaled_sum(z_.data(), next / rz, n, p_.data());
            rz = next;
        }
    }

    // Along the step f is convex: go back to where its slope is not much above zero. (f itself would not
    // do: near the minimum it changes by less than its rounding error.)
    void search(const Doubles& from) {
        const double start = dot(gradient_, step_);
        double t = 1, low = 0, low_slope = start;
        for (Row turn = 0; turn < 30 && !(turn > 0 && deadline_.is_over()); ++turn) {
            shifted(from.data(), t, step_.data(), static_cast<Row>(s_.size()), s_.data());
            expand();
            const double slope = dot(gradient_, step_);
            if (slope <= kSlope * std::abs(start) || (turn > 0 && std::abs(slope) < 0.5 * std::abs(start)))
                return;
            const double secant = low + (t - low) * low_slope / (low_slope - slope);
            t = std::clamp(secant, low + 0.1 * (t - low), low + 0.7 * (t - low));
        }
    }

    Pairs& pairs_;
    Rules& rules_;
    double tau_;
    Row n_;
    const Deadline& deadline_;
    Doubles& s_;
    Points points_;
    Doubles gradient_, diagonal_, step_, r_, z_, p_, product_, inverse_;
};

struct Lists {
    const double* b;
    const Row* offsets;
    const double *floor, *slope, *tau;
    const Row *doc, *lo, *hi;
    const double* weight;
    const Row *star_offsets, *spring_rows, *spring_starts;
    const double* kappa;
    const Row* spring_offsets;
};

// Scores without rules are nearly linear in the place.
inline void start_at_order(const Base& base, double tau, Doubles& s) {
    const double n = static_cast<double>(base.n), c = tau / n;
    const double slope = 0.5 / (c + 0.18);
    for (Row i = 0; i < base.n; ++i)
        s[room(i)] = slope * (1 - (2 * static_cast<double>(i) + 1) / n);
}

inline Minimum bradley_terry_of(const Lists& lists, Row q, double tol, Row max_iter,
                                const Deadline& deadline, double* scores) {
    const Row first = lists.offsets[q], n = lists.offsets[q + 1] - first;
    if (n == 0) return {0, 0, 0};
    const Base base(lists.b + first, n, lists.floor[q], lists.slope[q]);
    const Row star = lists.star_offsets[q];
    std::vector<Spring> springs;
    for (Row g = lists.spring_offsets[q]; g < lists.spring_offsets[q + 1]; ++g)
        springs.push_back({lists.spring_rows + lists.spring_starts[g],
                           lists.spring_rows + lists.spring_starts[g + 1], lists.kappa[g]});
    Rules rules(merged_stars(lists.doc + star, lists.lo + star, lists.hi + star, lists.weight + star,
                             lists.star_offsets[q + 1] - star, n),
                std::move(springs));
    Doubles s = list_of(n);
    start_at_order(base, lists.tau[q], s);
    Pairs pairs(base);
    const Minimum found = Newton(pairs, rules, lists.tau[q], n, deadline, s).minimise(tol, max_iter);
    std::copy_n(s.begin(), n, scores + first);
    return found;
}

// The minimum for every list.
inline void bradley_terry(const Lists& lists, Row n_lists, double tol, Row max_iter, double seconds,
                          double* scores, double* value, double* norm, Row* steps) {
    const Row work = n_lists > 1 ? 500 * lists.offsets[n_lists] : 0;
    const Deadline deadline(seconds);
    for_each_query(n_lists, work, [=](Row q) {
        const Minimum found = bradley_terry_of(lists, q, tol, max_iter, deadline, scores);
        value[q] = found.value;
        norm[q] = found.norm;
        steps[q] = found.steps;
    });
}

}  // namespace podium
