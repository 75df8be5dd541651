// Sums of regression trees: sixteen rows, or sixteen trees of one row, walk down side by side.
//
// A step down waits for two loads and a comparison, about 17 cycles. Sixteen walks hide that wait.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "queries.hpp"

namespace podium {

// x[feature] <= threshold goes to node `left`, else to `left + 1`. A leaf is its own left child with an
// infinite threshold, so a row that reaches it stays.
struct TreeNode {
    double threshold;
    std::int32_t feature;
    std::int32_t left;
};

enum TreeFlag : std::uint8_t {
    kNanGoesRight = 1,   // a missing value goes right
    kZeroIsMissing = 2,  // LightGBM's missing type "zero": 0 goes the way of missing values
    kZeroGoesRight = 4,
};

struct Forest {
    const TreeNode* nodes;
    const std::uint8_t* flags;   // one for each node
    const double* values;        // one for each node; only leaves use theirs
    const std::int32_t* roots;   // one for each tree
    const std::int32_t* depths;  // steps from the root to the deepest leaf
    Row n_trees;
};

// What a row may contain: only numbers; also NaN; or zeros that mean "missing".
enum class RowKind { kNumbers, kNan, kZero };

inline constexpr double kNearlyZero = 1e-35f;  // LightGBM's kZeroThreshold, a float there
inline constexpr int kLanes = 16;

template <RowKind kind, class T>
[[gnu::always_inline]] inline std::int32_t step(const Forest& forest, std::int32_t at, const T* row) {
    const TreeNode& node = forest.nodes[at];
    const double x = static_cast<double>(row[node.feature]);
    std::int32_t right = x > node.threshold;
    if constexpr (kind != RowKind::kNumbers) {
        const std::uint8_t flags = forest.flags[at];
        right |= (x != x) & (flags & kNanGoesRight);
        if constexpr (kind == RowKind::kZero) {
            if ((flags & kZeroIsMissing) && x == 0) right = (flags & kZeroGoesRight) != 0;
        }
    }
    return node.left + right;
}

// One tree for sixteen rows. All rows take as many steps as the deepest leaf needs: a test of which rows have
// arrived would cost more than it saves.
template <RowKind kind, class T>
void add_tree(const Forest& forest, Row tree, const T* x, Row width, double* out) {
    std::int32_t at[kLanes];
    std::fill(at, at + kLanes, forest.roots[tree]);
    for (std::int32_t depth = forest.depths[tree]; depth > 0; --depth)
        for (int lane = 0; lane < kLanes; ++lane)
            at[lane] = step<kind>(forest, at[lane], x + lane * width);
    for (int lane = 0; lane < kLanes; ++lane) out[lane] += forest.values[at[lane]];
}

// Sixteen trees at a time for one row, added in their order.
template <RowKind kind, class T>
double sum_trees(const Forest& forest, const T* row) {
    double sum = 0;
    for (Row first = 0; first < forest.n_trees; first += kLanes) {
        const int lanes = static_cast<int>(std::min<Row>(kLanes, forest.n_trees - first));
        std::int32_t at[kLanes];
        std::copy(forest.roots + first, forest.roots + first + lanes, at);
        const std::int32_t depth = *std::max_element(forest.depths + first, forest.depths + first + lanes);
        for (std::int32_t level = 0; level < depth; ++level)
            for (int lane = 0; lane < lanes; ++lane) at[lane] = step<kind>(forest, at[lane], row);
        for (int lane = 0; lane < lanes; ++lane) sum += forest.values[at[lane]];
    }
    return sum;
}

template <RowKind kind, class T>
void predict_rows(const Forest& forest, const T* x, Row n_rows, Row width, double* out) {
    std::fill(out, out + n_rows, 0.0);
    Row row = 0;
    for (; row + kLanes <= n_rows; row += kLanes)
        for (Row tree = 0; tree < forest.n_trees; ++tree)
            add_tree<kind>(forest, tree, x + row * width, width, out + row);
    for (; row < n_rows; ++row) out[row] = sum_trees<kind>(forest, x + row * width);
}

// LightGBM treats values within kNearlyZero of 0 as 0.
template <class T>
bool is_nearly_zero(T x) {
    return x != 0 && std::fabs(static_cast<double>(x)) <= kNearlyZero;
}

template <class T>
void predict_block(const Forest& forest, bool zero_is_missing, const T* x, Row n_rows, Row width, double* out) {
    bool has_nan = false, has_nearly_zero = false;
    for (Row i = 0; i < n_rows * width; ++i) {
        has_nan |= x[i] != x[i];
        has_nearly_zero |= is_nearly_zero(x[i]);
    }
    std::vector<T> rounded;
    if (has_nearly_zero) {
        rounded.assign(x, x + n_rows * width);
        std::replace_if(rounded.begin(), rounded.end(), is_nearly_zero<T>, T(0));
        x = rounded.data();
    }
    if (zero_is_missing) return predict_rows<RowKind::kZero>(forest, x, n_rows, width, out);
    if (has_nan) return predict_rows<RowKind::kNan>(forest, x, n_rows, width, out);
    predict_rows<RowKind::kNumbers>(forest, x, n_rows, width, out);
}

// One score per row. Rows are handed to threads in blocks: each score is summed in the order of the trees.
template <class T>
void predict_trees(const Forest& forest, bool zero_is_missing, const T* x, Row n_rows, Row width, double* out) {
    constexpr Row kBlock = 256;
    const Row blocks = (n_rows + kBlock - 1) / kBlock;
#pragma omp parallel for schedule(dynamic) if (is_long(n_rows * forest.n_trees))
    for (Row block = 0; block < blocks; ++block) {
        const Row first = block * kBlock;
        predict_block(forest, zero_is_missing, x + first * width, std::min(kBlock, n_rows - first), width,
                      out + first);
    }
}

}  // namespace podium
