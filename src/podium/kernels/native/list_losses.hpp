// Losses of whole lists: cross entropies of choices, and the likelihood of an order (Plackett-Luce).
// They have one value per query, and per document the gradient and the diagonal of the Hessian.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "eight_doubles.hpp"
#include "logistic_pairs.hpp"

namespace podium {

// q_j = exp(s_j) / sum_l exp(s_l) of one query. Returns log sum_l exp(s_l).
inline double softmax(const double* scores, Row n, double* q) {
    const double top = *std::max_element(scores, scores + n);
    double sum = 0;
    for (Row j = 0; j < n; ++j) sum += q[j] = std::exp(scores[j] - top);
    for (Row j = 0; j < n; ++j) q[j] /= sum;
    return top + std::log(sum);
}

// -sum_j target_j log softmax_j(s) of one query, with its gradient, and its curvature unless that is null.
inline double cross_entropy_of_list(const double* s, const double* p, Row n, double* g, double* c) {
    if (n == 0) return 0;
    const double log_sum = softmax(s, n, g);
    double mass = 0, value = 0;
    for (Row j = 0; j < n; ++j) {
        mass += p[j];
        value += p[j] * (log_sum - s[j]);
    }
    for (Row j = 0; c != nullptr && j < n; ++j) c[j] = mass * g[j] * (1 - g[j]);
    for (Row j = 0; j < n; ++j) g[j] = mass * g[j] - p[j];
    return value;
}

// The same for each query. The target may have any weights; a query of zeros adds nothing.
inline void softmax_cross_entropy(const double* scores, const double* target, const Row* offsets,
                                  Row n_queries, double* values, double* gradient, double* curvature) {
    for_each_query(n_queries, 20 * offsets[n_queries], [=](Row q) {
        const Row first = offsets[q], n = offsets[q + 1] - first;
        values[q] = cross_entropy_of_list(scores + first, target + first, n, gradient + first, curvature + first);
    });
}

// weight * (diag(q) - q q') d, added to out; q must sum to 1.
inline void add_softmax_product(const double* q, const double* d, Row n, double weight, double* out) {
    double mean = 0;
    for (Row j = 0; j < n; ++j) mean += q[j] * d[j];
    for (Row j = 0; j < n; ++j) out[j] += weight * q[j] * (d[j] - mean);
}

inline void softmax_cross_entropy_product(const double* scores, const double* target, const Row* offsets,
                                          Row n_queries, const double* direction, double* out) {
    for_each_query(n_queries, 20 * offsets[n_queries], [=](Row query) {
        const Row first = offsets[query], n = offsets[query + 1] - first;
        if (n == 0) return;
        Doubles q(room(n));
        softmax(scores + first, n, q.data());
        double mass = 0;
        for (Row j = 0; j < n; ++j) mass += target[first + j];
        std::fill_n(out + first, n, 0.0);
        add_softmax_product(q.data(), direction + first, n, mass, out + first);
    });
}

// The choices among the documents of one query that are left after a prefix.
class Choices {
  public:
    Choices(const double* scores, Row n) : scores_(scores), n_(n), e_(room(n)) {
        const auto [low, high] = std::minmax_element(scores, scores + n);
        near_ = *high - *low <= kNear;
        top_ = *high;
        for (Row j = 0; j < n; ++j) e_[room(j)] = std::exp(scores[j] - top_);
    }

    // Softmax over the remaining documents, 0 elsewhere. Returns the log of the sum.
    double softmax(const std::vector<char>& left, double* q) const {
        double top = near_ ? top_ : -std::numeric_limits<double>::infinity();
        for (Row j = 0; j < n_ && !near_; ++j)
            if (left[room(j)]) top = std::max(top, scores_[j]);
        double sum = 0;
        for (Row j = 0; j < n_; ++j) {
            const double e = near_ ? e_[room(j)] : std::exp(scores_[j] - top);
            sum += q[j] = left[room(j)] ? e : 0;
        }
        for (Row j = 0; j < n_; ++j) q[j] /= sum;
        return top + std::log(sum);
    }

  private:
    const double* scores_;
    Row n_;
    Doubles e_;
    double top_;
    bool near_;
};

// ListNet's top-j: the cross entropy of ordered prefixes of `depth` documents. It is the sum, over all shorter
// prefixes, of P_y(prefix) times the cross entropy of the next choice. Calls see(weight, p, q, log_sum) for each.
template <class See>
class Prefixes {
  public:
    Prefixes(const double* labels, const double* scores, Row n, See see)
        : labels_(labels, n), scores_(scores, n), n_(n), q_(room(n)), left_(room(n), 1), see_(see) {}

    // Adds `depth` more choices after a prefix of this probability.
    void visit(Row depth, double weight) {
        Doubles p(room(n_));
        labels_.softmax(left_, p.data());
        const double log_sum = scores_.softmax(left_, q_.data());
        see_(weight, p.data(), q_.data(), log_sum);
        for (std::size_t j = 0; depth > 1 && j < room(n_); ++j) {
            if (!(weight * p[j] > 0)) continue;
            left_[j] = 0;
            visit(depth - 1, weight * p[j]);
            left_[j] = 1;
        }
    }

  private:
    Choices labels_, scores_;
    Row n_;
    Doubles q_;
    std::vector<char> left_;
    See see_;
};

// mass is the weight of each query; a query of weight 0 adds nothing.
inline void top_cross_entropy(const double* scores, const double* labels, const double* mass,
                              const Row* offsets, Row n_queries, Row depth, double* values,
                              double* gradient, double* curvature) {
    for_each_query(n_queries, 1000 * offsets[n_queries], [=](Row query) {
        const Row first = offsets[query], n = offsets[query + 1] - first;
        double value = 0, *g = gradient + first, *c = curvature + first;
        const double* s = scores + first;
        std::fill_n(g, n, 0.0);
        std::fill_n(c, n, 0.0);
        auto see = [&](double weight, const double* p, const double* q, double log_sum) {
            for (Row j = 0; j < n; ++j) {
                if (p[j] > 0) value += weight * p[j] * (log_sum - s[j]);
                g[j] += weight * (q[j] - p[j]);
                c[j] += weight * q[j] * (1 - q[j]);
            }
        };
        if (n > 0 && mass[query] > 0) Prefixes(labels + first, s, n, see).visit(std::min(depth, n), mass[query]);
        values[query] = value;
    });
}

inline void top_cross_entropy_product(const double* scores, const double* labels, const double* mass,
                                      const Row* offsets, Row n_queries, Row depth,
                                      const double* direction, double* out) {
    for_each_query(n_queries, 1000 * offsets[n_queries], [=](Row query) {
        const Row first = offsets[query], n = offsets[query + 1] - first;
        std::fill_n(out + first, n, 0.0);
        auto see = [=](double weight, const double*, const double* q, double) {
            add_softmax_product(q, direction + first, n, weight, out + first);
        };
        if (n > 0 && mass[query] > 0)
            Prefixes(labels + first, scores + first, n, see).visit(std::min(depth, n), mass[query]);
    });
}

// A sum of m exp(x), and of the squares of its terms, in units of the largest exp(x). So it neither overflows nor
// loses relevant digits, however far apart the scores are.
struct ScaledSum {
    double exponent = -std::numeric_limits<double>::infinity(), sum = 0, squares = 0;

    void add(double m, double x) {
        const double e = std::exp(-std::abs(exponent - x));
        if (x <= exponent) {
            sum += m * e;
            squares += m * e * m * e;
        } else {
            sum = sum * e + m;
            squares = squares * e * e + m * m;
            exponent = x;
        }
    }
};

// Plackett-Luce, stage by stage: stage i chooses the document at place i among those from i on. tail[i] is
// the sum of their exp(s), and chances is the sum of 1 / tail over the stages so far. The document at place j can
// be chosen in every stage up to j, with probabilities exp(s_j) / tail[i].
struct Stages {
    Row n, stages;
    Doubles s;
    std::vector<ScaledSum> tail;
    ScaledSum chances;

    Stages(const double* scores, const Row* order, Row size, Row wanted)
        : n(size), stages(std::min(wanted, size)), s(room(n)), tail(room(n + 1)) {
        for (Row i = 0; i < n; ++i) s[room(i)] = scores[order[i]];
        for (std::size_t i = room(n); i-- > 0;) {
            tail[i] = tail[i + 1];
            tail[i].add(1, s[i]);
        }
    }

    bool enter(std::size_t i) {
        if (i >= room(stages)) return false;
        chances.add(1 / tail[i].sum, -tail[i].exponent);
        return true;
    }

    // exp(s_i) in units of chances.
    double unit(std::size_t i) const { return std::exp(s[i] + chances.exponent); }
};

// ListMLE of one query, whose documents are `rows` in order, with scores s, all within kNear of the largest. So all
// exponentials, and their quotients squared, fit doubles: one exp per document is enough.
inline double likelihood_near(const Doubles& s, double top, const Row* rows, Row n, Row stages, double* gradient,
                              double* curvature) {
    const Row lanes = whole_lanes(n);
    Doubles e(room(lanes)), tail(room(lanes), 1.0), logs(room(whole_lanes(stages)));
    exp_each(s.data(), top, lanes, e.data());
    double sum = 0, value = 0, chances = 0, squares = 0;
    for (std::size_t i = room(n); i-- > 0;) tail[i] = sum += e[i];
    log_each(tail.data(), whole_lanes(stages), logs.data());
    for (std::size_t i = 0; i < room(stages); ++i) value += logs[i] + (top - s[i]);
    for (std::size_t i = 0; i < room(n); ++i) {
        const bool chosen = i < room(stages);
        const double chance = chosen ? 1 / tail[i] : 0;
        chances += chance;
        squares += chance * chance;
        const double probability = e[i] * chances;
        gradient[rows[i]] = probability - chosen;
        if (curvature != nullptr) curvature[rows[i]] = std::max(probability - e[i] * e[i] * squares, 0.0);
    }
    return value;
}

// The same for any scores.
inline double likelihood_far(const double* scores, const Row* rows, Row n, Row stages, double* gradient,
                             double* curvature) {
    Stages list(scores, rows, n, stages);
    double value = 0;
    for (std::size_t i = 0; i < room(n); ++i) {
        const bool chosen = list.enter(i);
        if (chosen) value += std::log(list.tail[i].sum) + (list.tail[i].exponent - list.s[i]);
        const double e = list.unit(i), probability = e * list.chances.sum;
        gradient[rows[i]] = probability - chosen;
        if (curvature != nullptr)
            curvature[rows[i]] = std::max(probability - e * e * list.chances.squares, 0.0);
    }
    return value;
}

// ListMLE of one query: -sum_{i <= stages} log of the probability of choosing rows[i] among rows[i..n]. Writes the
// gradient, and the curvature unless that is null.
inline double likelihood_of_list(const double* scores, const Row* rows, Row n, Row stages, double* gradient,
                                 double* curvature) {
    if (n == 0) return 0;
    Doubles s(room(whole_lanes(n)), scores[rows[0]]);
    for (Row i = 0; i < n; ++i) s[room(i)] = scores[rows[i]];
    const auto [low, high] = std::minmax_element(s.begin(), s.end());
    if (*high - *low <= kNear) {
        const double value = likelihood_near(s, *high, rows, n, std::min(stages, n), gradient, curvature);
        // A score that is not a number makes every gradient NaN, but not every logarithm.
        return std::isnan(gradient[rows[0]]) ? gradient[rows[0]] : value;
    }
    return likelihood_far(scores, rows, n, stages, gradient, curvature);
}

inline void plackett_luce(const double* scores, const Row* order, const Row* stages, const Row* offsets,
                          Row n_queries, double* values, double* gradient, double* curvature) {
    for_each_query(n_queries, 30 * offsets[n_queries], [=](Row q) {
        const Row first = offsets[q], n = offsets[q + 1] - first;
        values[q] = likelihood_of_list(scores, order + first, n, stages[q], gradient, curvature);
    });
}

// The Hessian of ListMLE times a direction. A stage gives q_j (d_j - mean_i), where mean_i is the mean of d under
// q. All stages together give the sum of q_j times (d_j - the mean of mean_i weighted by 1 / tail). The means are
// updated from stage to stage.
inline void plackett_luce_product(const double* scores, const Row* order, const Row* stages,
                                  const Row* offsets, Row n_queries, const double* direction,
                                  double* out) {
    for_each_query(n_queries, 60 * offsets[n_queries], [=](Row q) {
        const Row* rows = order + offsets[q];
        Stages list(scores, rows, offsets[q + 1] - offsets[q], stages[q]);
        Doubles mean(room(list.n + 1));
        for (std::size_t i = room(list.n); i-- > 0;) {
            const double share = std::exp(list.s[i] - list.tail[i].exponent) / list.tail[i].sum;
            mean[i] = mean[i + 1] + share * (direction[rows[i]] - mean[i + 1]);
        }
        double mean_of_means = 0;
        for (std::size_t i = 0; i < room(list.n); ++i) {
            if (list.enter(i)) {
                const double unit = std::exp(-list.tail[i].exponent - list.chances.exponent);
                const double share = unit / list.tail[i].sum / list.chances.sum;
                mean_of_means += share * (mean[i] - mean_of_means);
            }
            out[rows[i]] = list.unit(i) * list.chances.sum * (direction[rows[i]] - mean_of_means);
        }
    });
}

}  // namespace podium
