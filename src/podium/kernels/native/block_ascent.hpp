// Block ascent: minimise 1/2 |w|^2 + sum_i total_i max_k (offset_ik + slope_ik.w). The dual has weights a_ik >= 0
// that sum to total_i in each block i, with w = -sum a slope. Block ascent maximises it block by block.
#pragma once

#include <algorithm>

#include "matrix_products.hpp"

namespace podium {

// The planes of all blocks: each block has the same number of places, of which the first used[i] hold planes.
struct Planes {
    const double *slopes, *offsets;
    const Row* used;
    Row n_blocks, places, d;

    const double* slope(Row i, Row k) const { return slopes + (i * places + k) * d; }
};

// Moves weight within block i from the lowest plane with a positive weight to the highest, as long as the
// dual rises, up to `steps` times. Returns the duality gap of the block before the moves.
PODIUM_ANY_WIDTH
inline double climb_block(const Planes& planes, Row i, Row steps, double* a, double* w, double* values,
                          double* way, double* along) {
    const Row n = planes.used[i], d = planes.d;
    const double* slopes = planes.slope(i, 0);
    dot_rows(Rows<double>{slopes, d, 0}, n, w, values);
    for (Row k = 0; k < n; ++k) values[k] += planes.offsets[i * planes.places + k];
    const double top = *std::max_element(values, values + n);
    double gap = 0;
    for (Row k = 0; k < n; ++k) gap += a[k] * (top - values[k]);
    for (Row step = 0; step < steps; ++step) {
        const Row high = std::max_element(values, values + n) - values;
        Row low = -1;
        for (Row k = 0; k < n; ++k)
            if (a[k] > 0 && (low < 0 || values[k] < values[low])) low = k;
        if (low < 0 || values[high] <= values[low]) break;
        const double *up = slopes + high * d, *down = slopes + low * d;
        double length = 0;
        for (Row j = 0; j < d; ++j) way[j] = up[j] - down[j];
        dot_rows(Rows<double>{way, d, 0}, 1, way, &length);
        const double most = a[low];
        const double moved = length > 0 ? std::min(most, (values[high] - values[low]) / length) : most;
        a[high] += moved;
        a[low] = moved == most ? 0 : most - moved;
        for (Row j = 0; j < d; ++j) w[j] -= moved * way[j];
        if (step + 1 == steps) break;
        dot_rows(Rows<double>{slopes, d, 0}, n, way, along);
        for (Row k = 0; k < n; ++k) values[k] -= moved * along[k];
    }
    return gap;
}

// Sweeps over all blocks until their gaps sum to at most `enough`. Returns the sum of the last sweep.
inline double block_ascent(const Planes& planes, Row sweeps, Row steps, double enough, double* a, double* w) {
    Doubles values(room(planes.places)), way(room(planes.d)), along(room(planes.places));
    double gap = 0;
    for (Row sweep = 0; sweep < sweeps; ++sweep) {
        gap = 0;
        for (Row i = 0; i < planes.n_blocks; ++i)
            gap += climb_block(planes, i, steps, a + i * planes.places, w, values.data(), way.data(),
                               along.data());
        if (gap <= enough) break;
    }
    return gap;
}

}  // namespace podium
