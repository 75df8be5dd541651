// Sums over all pairs of a list, sum_j w_ij K(s_i - s_j), in time and memory that grow with its length.
//
// K is one of log(2 cosh(x/2)) and its first two derivatives, (sigma - 1/2) and sigma (1 - sigma): all are
// analytic up to a distance of pi from the real axis. So with scores in panels of width 2, on panels p and
// q K(s - t) = sum_kl C_kl T_k(x) T_l(y) with Chebyshev polynomials of places x, y within the panels, up to
// 6^-terms, and C depends on p - q alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "eight_doubles.hpp"

namespace podium {

constexpr double kPanel = 2;
constexpr Row kFine = 20, kCoarse = 12;  // terms for f and its gradient (exact to rounding), and for products (to 1e-9)
constexpr Row kApart = 19;               // panels further apart: e^-36 or less from the asymptotes

inline double log_cosh(double x) { return std::abs(x) / 2 + std::log1p(std::exp(-std::abs(x))); }
inline double half_tanh(double x) { return std::tanh(x / 2) / 2; }
inline double logistic_bend(double x) { return 0.25 - half_tanh(x) * half_tanh(x); }

// C for every distance of panels up to kApart; terms of the target next to each other, in multiples of
// eight.
class Expansion {
  public:
    Expansion(double (*kernel)(double), Row terms)
        : terms_(terms), wide_((terms + kLanes - 1) / kLanes * kLanes),
          c_(room((2 * kApart + 1) * terms_ * wide_)) {
        const std::size_t n = room(terms);
        Doubles node(n), basis(n * n), values(n * n), half(n * n);
        for (std::size_t a = 0; a < n; ++a) {
            const double angle = std::numbers::pi * (static_cast<double>(a) + 0.5) / static_cast<double>(n);
            node[a] = std::cos(angle);
            for (std::size_t k = 0; k < n; ++k)
                basis[k * n + a] = std::cos(static_cast<double>(k) * angle) * (k ? 2 : 1) /
                                   static_cast<double>(n);
        }
        for (Row apart = -kApart; apart <= kApart; ++apart) {
            for (std::size_t a = 0; a < n; ++a) {
                for (std::size_t b = 0; b < n; ++b)
                    values[a * n + b] =
                        kernel(kPanel * (static_cast<double>(apart) + (node[a] - node[b]) / 2));
            }
            std::fill(half.begin(), half.end(), 0.0);
            for (std::size_t k = 0; k < n; ++k) {
                for (std::size_t a = 0; a < n; ++a) {
                    for (std::size_t b = 0; b < n; ++b)
                        half[k * n + b] += basis[k * n + a] * values[a * n + b];
                }
            }
            double* c = &c_[room((apart + kApart) * terms_ * wide_)];
            for (std::size_t l = 0; l < n; ++l) {
                for (std::size_t b = 0; b < n; ++b) {
                    for (std::size_t k = 0; k < n; ++k)
                        c[l * room(wide_) + k] += basis[l * n + b] * half[k * n + b];
                }
            }
        }
    }

    const double* at(Row apart) const { return &c_[room((apart + kApart) * terms_ * wide_)]; }

  private:
    Row terms_, wide_;
    Doubles c_;
};

// to_k += sum_l C_kl from_l
template <Row terms>
PODIUM_INLINE void translate(const double* c, const double* from, double* to) {
    constexpr Row blocks = (terms + kLanes - 1) / kLanes;
    Eight sum[blocks];
    for (Row b = 0; b < blocks; ++b) sum[b] = load(to + b * kLanes);
    for (Row l = 0; l < terms; ++l) {
        for (Row b = 0; b < blocks; ++b) sum[b] += load(c + (l * blocks + b) * kLanes) * from[l];
    }
    for (Row b = 0; b < blocks; ++b) store(sum[b], to + b * kLanes);
}

PODIUM_ANY_WIDTH
inline void translate_fine(const double* c, const double* from, double* to) { translate<kFine>(c, from, to); }

PODIUM_ANY_WIDTH
inline void translate_coarse(const double* c, const double* from, double* to) {
    translate<kCoarse>(c, from, to);
}

// A kernel as the sums use it: its expansion nearby, and its asymptote a |x| + b sign(x) far away.
struct Kernel {
    Expansion near;
    double slope, sign;
    Row terms;

    void add(Row apart, const double* from, double* to) const {
        if (std::abs(apart) <= kApart) {
            if (terms == kFine) translate_fine(near.at(apart), from, to);
            else translate_coarse(near.at(apart), from, to);
        } else {
            const double side = apart > 0 ? 1 : -1, d = static_cast<double>(apart);
            to[0] += from[0] * (side * (sign + slope * kPanel * d)) - from[1] * side * slope * kPanel / 2;
            to[1] += from[0] * side * slope * kPanel / 2;
        }
    }

    static const Kernel& loss() {
        static const Kernel kernel{Expansion(log_cosh, kFine), 0.5, 0, kFine};
        return kernel;
    }
    static const Kernel& pull() {
        static const Kernel kernel{Expansion(half_tanh, kFine), 0, 0.5, kFine};
        return kernel;
    }
    static const Kernel& bend() {
        static const Kernel kernel{Expansion(logistic_bend, kCoarse), 0, 0, kCoarse};
        return kernel;
    }
};

// T_0..T_19 of places in [-1, 1], eight places at a time.
PODIUM_ANY_WIDTH
inline void chebyshev(const double* x, Row blocks, double* t) {
    for (Row block = 0; block < blocks; ++block, x += kLanes, t += kFine * kLanes) {
        const Eight own = load(x), twice = own + own;
        Eight last = all(1), now = own;
        store(last, t);
        store(now, t + kLanes);
        for (Row k = 2; k < kFine; ++k) {
            const Eight next = twice * now - last;
            store(next, t + k * kLanes);
            last = now;
            now = next;
        }
    }
}

// m_k = sum_j v_j T_k(x_j)
template <Row terms>
PODIUM_INLINE void moments(const double* t, const double* v, Row blocks, double* m) {
    Eight sum[terms] = {};
    for (Row block = 0; block < blocks; ++block, t += kFine * kLanes, v += kLanes) {
        const Eight charge = load(v);
        for (Row k = 0; k < terms; ++k) sum[k] += charge * load(t + k * kLanes);
    }
    for (Row k = 0; k < terms; ++k) m[k] = sum_of(sum[k]);
}

// out_j = sum_k a_k T_k(x_j)
template <Row terms>
PODIUM_INLINE void evaluate(const double* t, const double* a, Row blocks, double* out) {
    for (Row block = 0; block < blocks; ++block, t += kFine * kLanes, out += kLanes) {
        Eight even = all(a[0]), odd = a[1] * load(t + kLanes);
        for (Row k = 2; k < terms; k += 2) {
            even += a[k] * load(t + k * kLanes);
            odd += a[k + 1] * load(t + (k + 1) * kLanes);
        }
        store(even + odd, out);
    }
}

PODIUM_ANY_WIDTH
inline void moments_fine(const double* t, const double* v, Row blocks, double* m) {
    moments<kFine>(t, v, blocks, m);
}
PODIUM_ANY_WIDTH
inline void moments_coarse(const double* t, const double* v, Row blocks, double* m) {
    moments<kCoarse>(t, v, blocks, m);
}
PODIUM_ANY_WIDTH
inline void evaluate_fine(const double* t, const double* a, Row blocks, double* out) {
    evaluate<kFine>(t, a, blocks, out);
}
PODIUM_ANY_WIDTH
inline void evaluate_coarse(const double* t, const double* a, Row blocks, double* out) {
    evaluate<kCoarse>(t, a, blocks, out);
}

// out_i = (s_i - start) / kPanel
PODIUM_ANY_WIDTH
inline void in_panels(const double* s, double start, Row n, double* out) {
    for (Row i = 0; i < n; i += kLanes) store((load(s + i) - start) * (1 / kPanel), out + i);
}

// Documents are in leaves of neighbours in the list, and within a leaf by panel. A group has the slots of one leaf
// and one panel. Their number is a multiple of eight; empty slots are at the end.
class Panels {
  public:
    Panels(Row n, Row leaf) : n_(n), leaf_(leaf), at_(room(n + kLanes)), number_(room(n)) {}

    void update(const Doubles& s, double low, double high) {
        const double wide = std::max(1.0, std::ceil((high - low) / kPanel));
        in_panels(s.data(), (low + high) / 2 - wide * kPanel / 2, n_, at_.data());
        number_panels(wide);
        group();
        place();
    }

    // out_i = floor sum_j v_j K(s_i - s_j) + slope sum_j |b_i - b_j| v_j K(s_i - s_j), the first over all j,
    // the second over those of other leaves: b falls along the list.
    void sums(const Kernel& kernel, double floor, double slope, const Doubles& b, const Doubles& v,
              Doubles& out) {
        collect(kernel, v, own_, total_);
        level_.assign(total_.size(), 0.0);
        for (std::size_t p = 0; p < ids_.size(); ++p) {
            field(kernel, p, total_, &level_[p * kWide]);
            for (std::size_t k = 0; k < kWide; ++k) level_[p * kWide + k] *= floor;
        }
        if (slope == 0) {
            for (const Group& group : groups_) {
                evaluate(kernel, group, &level_[group.panel * kWide], field_.data());
                for (const Run& run : runs_of(group))
                    std::copy_n(&field_[run.slot - group.slot], run.length, &out[run.doc]);
            }
            return;
        }
        charge_.resize(room(n_));
        for (std::size_t i = 0; i < room(n_); ++i) charge_[i] = b[i] * v[i];
        collect(kernel, charge_, own_b_, total_b_);
        add_margins(kernel, slope, b, out);
    }

  private:
    static constexpr std::size_t kWide = 24;  // room for the terms of a kernel

    struct Run {
        std::size_t slot, doc;
        Row length;
    };

    struct Group {
        std::size_t leaf, panel, slot, first_run, last_run;
        Row blocks;
    };

    struct Runs {
        const Run *first, *last;
        const Run* begin() const { return first; }
        const Run* end() const { return last; }
    };

    Runs runs_of(const Group& group) const {
        return {runs_.data() + group.first_run, runs_.data() + group.last_run};
    }

    // Panels by number, only those that hold documents.
    void number_panels(double wide) {
        const double last = std::min(wide - 1, 1e15);
        for (std::size_t i = 0; i < room(n_); ++i)
            number_[i] = static_cast<std::size_t>(std::max(0.0, std::min(at_[i], last)));
        ids_.clear();
        if (wide <= static_cast<double>(2 * n_ + 64)) {
            rank_.assign(static_cast<std::size_t>(wide), 0);
            for (const std::size_t p : number_) rank_[p] = 1;
            for (std::size_t p = 0; p < rank_.size(); ++p) {
                if (!rank_[p]) continue;
                rank_[p] = ids_.size();
                ids_.push_back(static_cast<Row>(p));
            }
            for (std::size_t& p : number_) p = rank_[p];
        } else {
            for (const std::size_t p : number_) ids_.push_back(static_cast<Row>(p));
            std::sort(ids_.begin(), ids_.end());
            ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
            for (std::size_t& p : number_) {
                const auto found = std::lower_bound(ids_.begin(), ids_.end(), static_cast<Row>(p));
                p = static_cast<std::size_t>(found - ids_.begin());
            }
        }
    }

    void group() {
        const std::size_t n = room(n_), leaf = room(leaf_);
        groups_.clear();
        runs_.clear();
        count_.assign(ids_.size(), 0);
        slots_ = 0;
        std::size_t leaf_number = 0;
        for (std::size_t lo = 0; lo < n; lo += leaf, ++leaf_number) {
            const std::size_t hi = std::min(n, lo + leaf);
            split_.clear();
            for (std::size_t i = lo; i < hi;) {
                std::size_t end = i + 1;
                while (end < hi && number_[end] == number_[i]) ++end;
                split_.push_back({0, i, static_cast<Row>(end - i)});
                count_[number_[i]] += end - i;
                i = end;
            }
            for (std::size_t r = 0; r < split_.size(); ++r) {
                const std::size_t panel = number_[split_[r].doc];
                if (!count_[panel]) continue;  // its group is there
                Group own{leaf_number, panel, slots_, runs_.size(), 0, 0};
                for (std::size_t other = r; other < split_.size(); ++other) {
                    Run run = split_[other];
                    if (number_[run.doc] != panel) continue;
                    run.slot = slots_;
                    slots_ += room(run.length);
                    runs_.push_back(run);
                }
                own.last_run = runs_.size();
                own.blocks = (static_cast<Row>(slots_ - own.slot) + kLanes - 1) / kLanes;
                slots_ = own.slot + room(own.blocks * kLanes);
                groups_.push_back(own);
                count_[panel] = 0;
            }
        }
    }

    // Places within panels, from -1 to 1, and their polynomials.
    void place() {
        x_.assign(slots_, 0.0);
        for (const Group& group : groups_) {
            const double middle = static_cast<double>(ids_[group.panel]) + 0.5;
            for (const Run& run : runs_of(group)) {
                for (std::size_t k = 0; k < room(run.length); ++k)
                    x_[run.slot + k] = 2 * (at_[run.doc + k] - middle);
            }
        }
        field_.resize(slots_);
        field_b_.resize(slots_);
        t_.resize(slots_ * room(kFine));
        own_.resize(groups_.size() * kWide);
        chebyshev(x_.data(), static_cast<Row>(slots_) / kLanes, t_.data());
    }

    // The moments of every group, and of all groups of a panel.
    void collect(const Kernel& kernel, const Doubles& v, Doubles& own, Doubles& total) {
        own.resize(groups_.size() * kWide);
        total.assign(ids_.size() * kWide, 0.0);
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            const Group& group = groups_[g];
            std::fill_n(&field_[room((group.blocks - 1) * kLanes)], kLanes, 0.0);
            for (const Run& run : runs_of(group))
                std::copy_n(&v[run.doc], run.length, &field_[run.slot - group.slot]);
            const double* t = &t_[group.slot * room(kFine)];
            double* m = &own[g * kWide];
            if (kernel.terms == kFine) moments_fine(t, field_.data(), group.blocks, m);
            else moments_coarse(t, field_.data(), group.blocks, m);
            for (std::size_t k = 0; k < room(kernel.terms); ++k) total[group.panel * kWide + k] += m[k];
        }
    }

    // On panel p the sums with all panels' moments, as a polynomial.
    void field(const Kernel& kernel, std::size_t p, const Doubles& moments, double* a) const {
        for (std::size_t q = 0; q < ids_.size(); ++q) kernel.add(ids_[p] - ids_[q], &moments[q * kWide], a);
    }

    void evaluate(const Kernel& kernel, const Group& group, const double* a, double* out) const {
        const double* t = &t_[group.slot * room(kFine)];
        if (kernel.terms == kFine) evaluate_fine(t, a, group.blocks, out);
        else evaluate_coarse(t, a, group.blocks, out);
    }

    // |b_i - b_j| = (b_i - b_j) for the leaves behind a document's leaf, and its negative for those before.
    void add_margins(const Kernel& kernel, double slope, const Doubles& b, Doubles& out) {
        Doubles &behind = total_, &behind_b = total_b_;  // minus those before
        alignas(64) double a[kWide], a_b[kWide];
        for (std::size_t first = 0, last = 0; first < groups_.size(); first = last) {
            while (last < groups_.size() && groups_[last].leaf == groups_[first].leaf) ++last;
            pass(first, last, behind, behind_b);
            for (std::size_t g = first; g < last; ++g) {
                const Group& group = groups_[g];
                std::fill_n(a, kWide, 0.0);
                std::fill_n(a_b, kWide, 0.0);
                field(kernel, group.panel, behind, a);
                field(kernel, group.panel, behind_b, a_b);
                for (std::size_t k = 0; k < kWide; ++k) {
                    a_b[k] = level_[group.panel * kWide + k] - slope * a_b[k];
                    a[k] *= slope;
                }
                evaluate(kernel, group, a, field_.data());
                evaluate(kernel, group, a_b, field_b_.data());
                for (const Run& run : runs_of(group)) {
                    const std::size_t at = run.slot - group.slot;
                    for (std::size_t k = 0; k < room(run.length); ++k)
                        out[run.doc + k] = b[run.doc + k] * field_[at + k] + field_b_[at + k];
                }
            }
            pass(first, last, behind, behind_b);
        }
    }

    void pass(std::size_t first, std::size_t last, Doubles& behind, Doubles& behind_b) const {
        for (std::size_t g = first; g < last; ++g) {
            const std::size_t p = groups_[g].panel * kWide;
            for (std::size_t k = 0; k < kWide; ++k) {
                behind[p + k] -= own_[g * kWide + k];
                behind_b[p + k] -= own_b_[g * kWide + k];
            }
        }
    }

    Row n_, leaf_;
    Doubles at_;
    std::vector<std::size_t> number_, rank_, count_;
    std::vector<Row> ids_;
    std::vector<Run> split_, runs_;
    std::vector<Group> groups_;
    std::size_t slots_ = 0;
    Doubles x_, t_, charge_, field_, field_b_, own_, own_b_, total_, total_b_, level_;
};

}  // namespace podium
