// A small dense quadratic programme over a simplex, by an active set method.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "queries.hpp"

namespace podium {

// a.b in four parallel sums, always the same ones, so rounding is always the same.
inline double dot(const double* a, const double* b, std::size_t n) {
    double sums[4] = {};
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
    for (; i < n; ++i) sums[0] += a[i] * b[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Rows of a Cholesky factor of K = H + sigma 11' + ridge I over a growing and shrinking list of indices.
// Steps within the simplex sum to 0, so 11' changes nothing for them and makes K definite whenever the
// indices are affinely independent; the ridge helps if they are not.
struct Factor {
    const double* H;
    Row n;
    double sigma, ridge;
    std::vector<Row> indices;
    std::vector<std::vector<double>> rows;  // rows of the first indices; extend() computes the others

    void remove(std::size_t place) {
        indices.erase(indices.begin() + static_cast<std::ptrdiff_t>(place));
        rows.resize(std::min(rows.size(), place));
    }

    void extend() {
        for (std::size_t r = rows.size(); r < indices.size(); ++r) {
            std::vector<double> row(r + 1);
            for (std::size_t c = 0; c <= r; ++c) {
                const double* other = c < r ? rows[c].data() : row.data();
                const double sum = H[indices[r] * n + indices[c]] + sigma - dot(row.data(), other, c);
                row[c] = c < r ? sum / other[c] : std::sqrt(std::max(sum + ridge, ridge));
            }
            rows.push_back(std::move(row));
        }
    }

    // K x = right, in place.
    void solve(std::vector<double>& x) const {
        for (std::size_t r = 0; r < rows.size(); ++r)
            x[r] = (x[r] - dot(rows[r].data(), x.data(), r)) / rows[r][r];
        for (std::size_t r = rows.size(); r-- > 0;) {
            x[r] /= rows[r][r];
            for (std::size_t c = 0; c < r; ++c) x[c] -= rows[r][c] * x[r];
        }
    }
};

// Ha - b, where a is 0 outside `support`.
inline void qp_gradient(const double* H, const double* b, Row n, const std::vector<Row>& support,
                        const double* a, double* gradient) {
    std::fill(gradient, gradient + n, 0.0);
    for (const Row i : support)
        for (Row j = 0; j < n; ++j) gradient[j] += a[i] * H[i * n + j];
    for (Row j = 0; j < n; ++j) gradient[j] -= b[j];
}

// The step to the minimum over the support's affine hull: K p = mu - g with sum p = 0.
inline std::vector<double> hull_step(Factor& factor, const double* gradient) {
    factor.extend();
    const std::size_t m = factor.indices.size();
    std::vector<double> ones(m, 1.0), p(m);
    for (std::size_t r = 0; r < m; ++r) p[r] = gradient[factor.indices[r]];
    factor.solve(ones);
    factor.solve(p);
    double sum_ones = 0, sum_p = 0;
    for (std::size_t r = 0; r < m; ++r) sum_ones += ones[r], sum_p += p[r];
    const double mu = sum_p / sum_ones;
    for (std::size_t r = 0; r < m; ++r) p[r] = mu * ones[r] - p[r];
    return p;
}

// a moves by p as far as it stays >= 0. Returns the place in the support that stopped it, or -1.
inline std::ptrdiff_t walk(const std::vector<Row>& support, const std::vector<double>& p, double* a) {
    double length = 1;
    std::ptrdiff_t stopped = -1;
    for (std::size_t r = 0; r < support.size(); ++r) {
        if (p[r] >= 0 || -length * p[r] <= a[support[r]]) continue;
        length = a[support[r]] / -p[r];
        stopped = static_cast<std::ptrdiff_t>(r);
    }
    for (std::size_t r = 0; r < support.size(); ++r)
        a[support[r]] = std::max(0.0, a[support[r]] + length * p[r]);
    if (stopped >= 0) a[support[static_cast<std::size_t>(stopped)]] = 0;
    return stopped;
}

// a >= 0 with sum `total`: the scaled start. If the start is 0, or H is 0, one index has all of it, because the
// minimum is then a corner.
inline void feasible_start(const double* H, const double* b, Row n, double total, const double* start,
                           double* a) {
    double sum = 0, curvature = 0;
    for (Row i = 0; i < n; ++i) {
        sum += a[i] = std::max(0.0, start[i]);
        curvature = std::max(curvature, H[i * n + i]);
    }
    if (sum > 0 && curvature > 0) {
        for (Row i = 0; i < n; ++i) a[i] *= total / sum;
        return;
    }
    auto value = [=](Row i) { return total * H[i * n + i] / 2 - b[i]; };
    Row best = 0;
    for (Row i = 1; i < n; ++i)
        if (value(i) < value(best)) best = i;
    std::fill(a, a + n, 0.0);
    a[best] = total;
}

// Minimises 1/2 a'Ha - b'a over a >= 0, sum a = total. On the support (a > 0) it walks to the minimum of the affine
// hull and drops the index that stops the walk. At the minimum it admits the index of the steepest descent.
inline void simplex_qp(const double* H, const double* b, Row n, double total, const double* start,
                       double* a) {
    if (n == 0) return;
    feasible_start(H, b, n, total, start, a);
    constexpr double kRounding = 1e-14;
    double sigma = 0, largest = 0;
    for (Row i = 0; i < n; ++i) {
        sigma = std::max(sigma, H[i * n + i]);
        largest = std::max(largest, std::abs(b[i]));
    }
    if (sigma == 0) sigma = 1;
    Factor factor{H, n, sigma, 1e-13 * sigma, {}, {}};
    std::vector<Row>& support = factor.indices;
    for (Row i = 0; i < n; ++i)
        if (a[i] > 0) support.push_back(i);
    std::vector<double> gradient(static_cast<std::size_t>(n));
    Row admitted = -1;
    int full_steps = 0;  // since the support changed: a second step removes rounding errors
    for (Row step = 0; step < 100 + 50 * n && !support.empty(); ++step) {
        qp_gradient(H, b, n, support, a, gradient.data());
        double terms = 0;  // the largest term in the sums of Ha, |H_ij|^2 <= H_ii H_jj
        for (const Row i : support) terms += a[i] * std::sqrt(H[i * n + i] * sigma);
        const double small = kRounding * (terms + largest);
        double low = gradient[static_cast<std::size_t>(support[0])], high = low;
        for (const Row i : support) {
            low = std::min(low, gradient[static_cast<std::size_t>(i)]);
            high = std::max(high, gradient[static_cast<std::size_t>(i)]);
        }
        if (high - low <= small || full_steps == 3) {
            const Row steepest = std::min_element(gradient.begin(), gradient.end()) - gradient.begin();
            const bool is_new = std::find(support.begin(), support.end(), steepest) == support.end();
            if (!is_new || gradient[static_cast<std::size_t>(steepest)] >= low - small) break;
            support.push_back(steepest);
            admitted = steepest;
            full_steps = 0;
        }
        const std::vector<double> p = hull_step(factor, gradient.data());
        const std::ptrdiff_t stopped = walk(support, p, a);
        full_steps = stopped < 0 ? full_steps + 1 : 0;
        if (stopped >= 0) {
            const Row dropped = support[static_cast<std::size_t>(stopped)];
            factor.remove(static_cast<std::size_t>(stopped));
            if (dropped == admitted) break;  // dropped at once: the rest is rounding
        }
        admitted = -1;
    }
    double sum = 0;
    for (Row i = 0; i < n; ++i) sum += a[i];
    for (Row i = 0; i < n; ++i) a[i] *= total / sum;
}

}  // namespace podium
