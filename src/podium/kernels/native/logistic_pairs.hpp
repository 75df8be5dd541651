// RankNet's loss of pairs of documents (u, v) of one query, u better than v, and LambdaRank's weighted loss.
// They have one sum per query, and per document the gradient and the diagonal of the Hessian.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "eight_doubles.hpp"

namespace podium {

// If scores are no further apart, the quotients of their exponentials, and the squares of these, fit doubles.
constexpr double kNear = 300;

// log(1 + exp(-x)), and sigma(-x) = 1 / (1 + exp(x)), for any x.
struct Logistic {
    double loss, sigma;
    explicit Logistic(double x) {
        const double e = std::exp(-std::abs(x));
        loss = std::log1p(e) + std::max(-x, 0.0);
        sigma = (x >= 0 ? e : 1) / (1 + e);
    }
};

// A sum of logs is the log of a product, as long as the product fits a double: each factor is at most
// 1 + exp(range).
class LogOfProduct {
  public:
    explicit LogOfProduct(double range) : product_(1), capacity_(static_cast<Row>(700 / (range + 1))) {}

    Row capacity() const { return capacity_; }

    // Returns the lanes, each with room for this many more factors.
    double* lanes(Row factors) {
        if (used_ + factors > capacity_) flush();
        used_ += factors;
        return product_.at;
    }

    double total() {
        flush();
        return total_;
    }

  private:
    void flush() {
        for (double& p : product_.at) {
            total_ += std::log(p);
            p = 1;
        }
        used_ = 0;
    }

    Lanes product_;
    double total_ = 0;
    Row capacity_, used_ = 0;
};

// Two documents u against n documents v (n is a multiple of kLanes; a zero in e means no document, and so does a
// zero in inverse). With r = e_v / e_u: sigma = r / (1 + r), sigma (1 - sigma) = r / (1 + r)^2, loss = log(1 + r).
// One division serves both u: 1 / a = b / (a b). Without `curved` the curvature is not touched.
template <bool curved>
PODIUM_INLINE void add_logistic_rows(const double* inverse, const double* e, Row n, double* gradient,
                                     double* curvature, double* product, double* gradient_u, double* curvature_u) {
    const Eight inverse_0 = all(inverse[0]), inverse_1 = all(inverse[1]);
    Eight p = load(product), g_0{}, g_1{}, c_0{}, c_1{};
    for (Row v = 0; v < n; v += kLanes) {
        const Eight e_v = load(e + v), r_0 = e_v * inverse_0, r_1 = e_v * inverse_1;
        const Eight factor_0 = 1 + r_0, factor_1 = 1 + r_1, both = factor_0 * factor_1, t = 1 / both;
        const Eight t_0 = t * factor_1, t_1 = t * factor_0, sigma_0 = r_0 * t_0, sigma_1 = r_1 * t_1;
        p *= both;
        g_0 += sigma_0;
        g_1 += sigma_1;
        store(load(gradient + v) + (sigma_0 + sigma_1), gradient + v);
        if constexpr (!curved) continue;
        const Eight slope_0 = sigma_0 * t_0, slope_1 = sigma_1 * t_1;
        c_0 += slope_0;
        c_1 += slope_1;
        store(load(curvature + v) + (slope_0 + slope_1), curvature + v);
    }
    store(p, product);
    gradient_u[0] -= sum_of(g_0);
    gradient_u[1] -= sum_of(g_1);
    if constexpr (!curved) return;
    curvature_u[0] += sum_of(c_0);
    curvature_u[1] += sum_of(c_1);
}

PODIUM_ANY_WIDTH
inline void logistic_rows(const double* inverse, const double* e, Row n, double* gradient, double* curvature,
                          double* product, double* gradient_u, double* curvature_u) {
    add_logistic_rows<true>(inverse, e, n, gradient, curvature, product, gradient_u, curvature_u);
}

PODIUM_ANY_WIDTH
inline void flat_logistic_rows(const double* inverse, const double* e, Row n, double* gradient, double* curvature,
                               double* product, double* gradient_u, double* curvature_u) {
    add_logistic_rows<false>(inverse, e, n, gradient, curvature, product, gradient_u, curvature_u);
}

PODIUM_ANY_WIDTH
inline void logistic_row_product(double inverse_u, double direction_u, const double* __restrict e,
                                 const double* __restrict direction, Row n, double* __restrict out,
                                 double* __restrict out_u) {
    double sum[kLanes];
    for (Row k = 0; k < kLanes; ++k) sum[k] = out_u[k];
    for (Row v = 0; v < n; v += kLanes) {
        for (Row k = 0; k < kLanes; ++k) {
            const double r = e[v + k] * inverse_u, t = 1 / (1 + r);
            const double change = r * t * t * (direction_u - direction[v + k]);
            sum[k] += change;
            out[v + k] -= change;
        }
    }
    for (Row k = 0; k < kLanes; ++k) out_u[k] = sum[k];
}

// The documents of one query by level, highest first, with zeros behind them for the last lanes.
struct Leveled {
    Row n;
    const Row* rows;
    Doubles score, e;       // e is empty unless the scores are near each other
    std::vector<Row> next;  // where the next lower level of each document begins
    double range = 0;

    Leveled(const double* scores, const Row* levels, const Row* by_level, Row size)
        : n(size), rows(by_level), score(room(n)), next(room(n)) {
        if (n == 0) return;
        for (Row i = 0; i < n; ++i) score[room(i)] = scores[rows[i]];
        const auto [low, high] = std::minmax_element(score.begin(), score.end());
        range = *high - *low;
        if (near()) e = exponentials(*high);
        for (Row i = n; i-- > 0;)
            next[room(i)] = i + 1 < n && levels[rows[i]] == levels[rows[i + 1]] ? next[room(i + 1)] : i + 1;
    }

    bool near() const { return range <= kNear; }

    Doubles gathered(const double* values) const {
        Doubles out(room(n + kLanes));
        for (Row i = 0; i < n; ++i) out[room(i)] = values[rows[i]];
        return out;
    }

    void scatter(const Doubles& from, double* to) const {
        for (Row i = 0; i < n; ++i) to[rows[i]] = from[room(i)];
    }

  private:
    Doubles exponentials(double top) const {
        const Row lanes = whole_lanes(n);
        Doubles padded(score), out(room(lanes + kLanes));
        padded.resize(room(lanes), top);
        exp_each(padded.data(), top, lanes, out.data());
        std::fill(out.begin() + n, out.end(), 0.0);
        return out;
    }
};

inline double logistic_near(const Leveled& docs, bool curved, Doubles& gradient, Doubles& curvature) {
    LogOfProduct logs(docs.range);
    const auto add_rows = curved ? logistic_rows : flat_logistic_rows;
    for (Row u = 0; u < docs.n;) {
        const Row next = docs.next[room(u)];
        const Row rows = u + 1 < next ? 2 : 1;
        const double inverse[2] = {1 / docs.e[room(u)], rows == 2 ? 1 / docs.e[room(u + 1)] : 0};
        double g[2] = {}, c[2] = {};
        const Row most = std::max<Row>(1, logs.capacity() / 2);
        for (Row v = next; v < docs.n; v += kLanes * most) {
            const Row blocks = std::min(most, (docs.n - v + kLanes - 1) / kLanes);
            add_rows(inverse, &docs.e[room(v)], blocks * kLanes, &gradient[room(v)], &curvature[room(v)],
                     logs.lanes(2 * blocks), g, c);
        }
        for (Row i = 0; i < rows; ++i) {
            gradient[room(u + i)] += g[i];
            curvature[room(u + i)] += c[i];
        }
        u += rows;
    }
    return logs.total();
}

inline double logistic_far(const Leveled& docs, Doubles& gradient, Doubles& curvature) {
    double value = 0;
    for (std::size_t u = 0; u < room(docs.n); ++u) {
        for (std::size_t v = room(docs.next[u]); v < room(docs.n); ++v) {
            const Logistic pair(docs.score[u] - docs.score[v]);
            const double slope = pair.sigma * (1 - pair.sigma);
            value += pair.loss;
            gradient[u] -= pair.sigma;
            gradient[v] += pair.sigma;
            curvature[u] += slope;
            curvature[v] += slope;
        }
    }
    return value;
}

// sum over pairs of one query of log(1 + exp(-(s_u - s_v))); by_level holds its rows by level, highest first. Writes
// the gradient, and the curvature unless that is null.
inline double logistic_pairs_of_list(const double* scores, const Row* levels, const Row* by_level, Row n,
                                     double* gradient, double* curvature) {
    const Leveled docs(scores, levels, by_level, n);
    Doubles g(room(n + kLanes)), c(room(n + kLanes));
    const double value = docs.near() ? logistic_near(docs, curvature != nullptr, g, c) : logistic_far(docs, g, c);
    docs.scatter(g, gradient);
    if (curvature != nullptr) docs.scatter(c, curvature);
    return value;
}

inline void logistic_pairs(const double* scores, const Row* levels, const Row* by_level,
                           const Row* offsets, Row n_queries, double* values, double* gradient,
                           double* curvature) {
    for_each_query(n_queries, pairs_in(offsets, n_queries), [=](Row q) {
        const Row first = offsets[q], n = offsets[q + 1] - first;
        values[q] = logistic_pairs_of_list(scores, levels, by_level + first, n, gradient, curvature);
    });
}

// The Hessian times a direction: the sum over a document's pairs of sigma (1 - sigma) times the difference
// of directions.
inline void logistic_pairs_product(const double* scores, const Row* levels, const Row* by_level,
                                   const Row* offsets, Row n_queries, const double* direction,
                                   double* out) {
    for_each_query(n_queries, pairs_in(offsets, n_queries), [=](Row q) {
        const Row first = offsets[q];
        const Leveled docs(scores, levels, by_level + first, offsets[q + 1] - first);
        const Doubles d = docs.gathered(direction);
        Doubles product(room(docs.n + kLanes));
        for (std::size_t u = 0; u < room(docs.n); ++u) {
            Lanes own(0);
            const std::size_t next = room(docs.next[u]);
            if (docs.near()) {
                const Row blocks = (docs.n - docs.next[u] + kLanes - 1) / kLanes;
                logistic_row_product(1 / docs.e[u], d[u], &docs.e[next], &d[next], blocks * kLanes,
                                     &product[next], own.at);
            } else {
                for (std::size_t v = next; v < room(docs.n); ++v) {
                    const double sigma = Logistic(docs.score[u] - docs.score[v]).sigma;
                    const double change = sigma * (1 - sigma) * (d[u] - d[v]);
                    own.at[0] += change;
                    product[v] -= change;
                }
            }
            product[u] += own.sum();
        }
        docs.scatter(product, out);
    });
}

// LambdaRank: logistic losses of pairs with gain_u > gain_v, at least one of them among the first `truncation` of
// the order by score. Each pair is weighted by the change of DCG if the two were exchanged:
// (gain_u - gain_v) |discount(pos_u) - discount(pos_v)|.
inline void lambda_pairs(const double* scores, const double* gains, const Row* order, const Row* offsets,
                         Row n_queries, const double* discount, Row truncation, double* values,
                         double* gradient, double* curvature) {
    for_each_query(n_queries, pairs_in(offsets, n_queries), [=](Row q) {
        const Row first = offsets[q], n = offsets[q + 1] - first;
        Doubles s(room(n)), gain(room(n)), g(room(n)), c(room(n));
        for (Row i = 0; i < n; ++i) {
            s[room(i)] = scores[order[first + i]];
            gain[room(i)] = gains[order[first + i]];
        }
        double value = 0;
        for (std::size_t i = 0; i < room(std::min(truncation, n)); ++i) {
            for (std::size_t j = i + 1; j < room(n); ++j) {
                if (gain[i] == gain[j]) continue;
                const auto [u, v] = gain[i] > gain[j] ? std::pair(i, j) : std::pair(j, i);
                const double weight = (gain[u] - gain[v]) * std::abs(discount[u] - discount[v]);
                const Logistic pair(s[u] - s[v]);
                const double slope = weight * pair.sigma * (1 - pair.sigma);
                value += weight * pair.loss;
                g[u] -= weight * pair.sigma;
                g[v] += weight * pair.sigma;
                c[u] += slope;
                c[v] += slope;
            }
        }
        values[q] = value;
        for (Row i = 0; i < n; ++i) {
            gradient[order[first + i]] = g[room(i)];
            curvature[order[first + i]] = c[room(i)];
        }
    });
}

}  // namespace podium
