// Scores of a list as vectors of eight, and quotients of their exponentials.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "eight_doubles.hpp"

namespace podium {

inline Row padded(Row n) { return (n + kLanes - 1) / kLanes * kLanes; }

// Numbers of a list, followed by zeros, so that eight can be read from each place.
inline Doubles list_of(Row n) { return Doubles(room(padded(n) + kLanes)); }

PODIUM_ANY_WIDTH
inline void exp_all(const double* s, double shift, Row n, double* e) {
    for (Row i = 0; i < n; i += kLanes) store(exp_of(clamped(load(s + i) - shift, 700)), e + i);
}

PODIUM_ANY_WIDTH
inline std::pair<double, double> range_of(const double* s, Row n) {
    Eight low = all(s[0]), high = low;
    for (Row i = 0; i < n; i += kLanes) {
        const Eight x = first(n - i) > 0.0 ? load(s + i) : low;
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    std::pair<double, double> range{low[0], high[0]};
    for (Row k = 1; k < kLanes; ++k) {
        range.first = std::min(range.first, low[k]);
        range.second = std::max(range.second, high[k]);
    }
    return range;
}

// c q_j = e^(s_j - x) for the documents j from lo on.
struct Quotients {
    const double* q;
    double c;
};

// Scores, and e^s for quotients if all of these fit doubles.
class Points {
  public:
    Points(const Doubles& scores, Row n) : s(scores), n_(n), e_(list_of(n)), buffer_(list_of(n)) {}

    void update() {
        std::tie(low_, high_) = range_of(s.data(), n_);
        shift_ = (low_ + high_) / 2;
        near_ = high_ - low_ <= 600;
        if (near_) exp_all(s.data(), shift_, n_, e_.data());
    }

    // The quotients of document i to the documents lo..hi-1.
    Quotients against(Row i, Row lo, Row hi) {
        return near_ ? Quotients{&e_[room(lo)], 1 / e_[room(i)]} : exact(s[room(i)], lo, hi);
    }

    // The factor e^(shift - x) that turns e^s into quotients to a score x; 0 if that is not possible.
    double scale(double x) const { return near_ && std::abs(x - shift_) <= 300 ? std::exp(shift_ - x) : 0; }

    Quotients against(double x, double scale, Row lo, Row hi) {
        return scale > 0 ? Quotients{&e_[room(lo)], scale} : exact(x, lo, hi);
    }

    // Whether quotients come from numbers q_j: e^(s_j - s_i) = q_j / q_i.
    bool near() const { return near_; }
    double low() const { return low_; }
    double high() const { return high_; }

    const Doubles& s;

  private:
    Quotients exact(double x, Row lo, Row hi) {
        exp_all(&s[room(lo)], x, hi - lo, buffer_.data());
        return {buffer_.data(), 1};
    }

    Row n_;
    Doubles e_, buffer_;
    double low_ = 0, high_ = 0, shift_ = 0;
    bool near_ = true;
};

PODIUM_ANY_WIDTH
inline double dot(const double* a, const double* b, Row n) {
    Eight sum{};
    for (Row i = 0; i < n; i += kLanes) sum += load(a + i) * load(b + i);
    return sum_of(sum);
}

inline double dot(const Doubles& a, const Doubles& b) {
    return dot(a.data(), b.data(), static_cast<Row>(a.size()));
}

// One step of conjugate gradients: x += a p, r -= a Hp, z = r / diagonal; r.z
PODIUM_ANY_WIDTH
inline double conjugate_step(double a, const double* p, const double* product, const double* inverse,
                             Row n, double* x, double* r, double* z) {
    Eight sum{};
    for (Row i = 0; i < n; i += kLanes) {
        const Eight left = load(r + i) - a * load(product + i), scaled = left * load(inverse + i);
        store(load(x + i) + a * load(p + i), x + i);
        store(left, r + i);
        store(scaled, z + i);
        sum += left * scaled;
    }
    return sum_of(sum);
}

PODIUM_ANY_WIDTH
inline void scaled_sum(const double* z, double a, Row n, double* p) {
    for (Row i = 0; i < n; i += kLanes) store(load(z + i) + a * load(p + i), p + i);
}

PODIUM_ANY_WIDTH
inline void times(const double* a, const double* b, Row n, double* out) {
    for (Row i = 0; i < n; i += kLanes) store(load(a + i) * load(b + i), out + i);
}

// The largest |x_i|, or NaN if any x_i is NaN.
PODIUM_ANY_WIDTH
inline double largest(const double* x, Row n) {
    Eight most{}, sum{};
    for (Row i = 0; i < n; i += kLanes) {
        const Eight size = size_of(load(x + i));
        most = size > most ? size : most;
        sum += size * 0;  // NaN and infinity make the sum NaN
    }
    double out = 0, odd = 0;
    for (Row k = 0; k < kLanes; ++k) {
        out = std::max(out, most[k]);
        odd += sum[k];
    }
    return out + odd;
}

inline double largest(const Doubles& x) { return largest(x.data(), static_cast<Row>(x.size())); }

// Conjugate gradients from zero: r = -gradient, z = p = r / diagonal; r.z
PODIUM_ANY_WIDTH
inline double conjugate_start(const double* gradient, const double* diagonal, Row n, double* inverse,
                              double* x, double* r, double* z, double* p) {
    Eight sum{};
    for (Row i = 0; i < n; i += kLanes) {
        const Eight part = 1 / load(diagonal + i), right = -load(gradient + i), scaled = right * part;
        store(part, inverse + i);
        store(Eight{}, x + i);
        store(right, r + i);
        store(scaled, z + i);
        store(scaled, p + i);
        sum += right * scaled;
    }
    return sum_of(sum);
}

// out = a + t b
PODIUM_ANY_WIDTH
inline void shifted(const double* a, double t, const double* b, Row n, double* out) {
    for (Row i = 0; i < n; i += kLanes) store(load(a + i) + t * load(b + i), out + i);
}

// Sums over a document's pairs: the force that pulls its score down, and the curvature there.
struct Pull {
    double gradient = 0, curvature = 0;
};

}  // namespace podium
