// Passes over X: the scores X w of some queries, a function g of these, and X' g, while the rows are in the cache. So
// X comes from memory once; two products read it twice.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "matrix_products.hpp"

namespace podium {

// The rows of a feature matrix, or some of them in an order of their own.
template <class T>
struct Features {
    const T* x;
    Row d;
    const Row* rows;

    void multiply(Row first, Row n, const double* w, double* out, Ahead& ahead) const {
        if (rows == nullptr) return dot_rows_of(Rows<T>{x, d, first}, n, w, out, ahead);
        dot_chosen_rows(x, d, rows + first, n, w, out, ahead);
    }

    void add(Row first, Row n, const double* g, double* out, Ahead& ahead) const {
        if (rows == nullptr) return add_rows_of(Rows<T>{x, d, first}, n, g, out, ahead);
        add_rows_of(ChosenRows<T>{x, d, rows + first}, n, g, out, ahead);
    }

    // The next rows, to be prefetched while others are in use, so many half rows for each of them.
    Ahead ahead(Row first, Row end, Row pace) const { return Ahead::of(x, d, rows, first, end, pace); }

    Row bytes_per_row() const { return d * static_cast<Row>(sizeof(T)); }
};

// Runs of queries: each but the last is as short as it can be with this many rows. Returns the first query of each
// run, and the end. Runs do not depend on the number of threads.
inline std::vector<Row> runs_of_queries(const Row* offsets, Row begin, Row end, Row least_rows) {
    std::vector<Row> starts{begin};
    for (Row q = begin; q < end; ++q)
        if (offsets[q + 1] - offsets[starts.back()] >= least_rows || q + 1 == end) starts.push_back(q + 1);
    return starts;
}

// The rows of a block: a constant, so that sums do not depend on the number of threads.
constexpr Row kPassBlock = 4 * kBlock;

// Room for one number per row of the longest strip. `from(first)` is its place for row 0 if the strip begins at row
// `first`: so functions of a query count rows from the first row of all, but only a strip takes memory.
class StripNumbers {
  public:
    StripNumbers(const Row* offsets, const std::vector<Row>& strips) {
        Row most = 0;
        for (std::size_t i = 0; i + 1 < strips.size(); ++i)
            most = std::max(most, offsets[strips[i + 1]] - offsets[strips[i]]);
        numbers_ = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(most));
    }

    double* from(Row first) const { return numbers_.get() - first; }

  private:
    std::unique_ptr<double[]> numbers_;
};

// Calls evaluate(q, scores, g) for each query when the scores of its rows are there; it writes g of these rows.
// out = X' g. Where most fits begin, at w = 0, the scores need no product. All scores are kept if `kept` has room.
template <class T, class Evaluate>
void linear_pass(const Features<T>& features, const double* w, const Row* offsets, Row n_queries, Row steps,
                 double* kept, double* out, Evaluate evaluate) {
    const Row d = features.d, strip_rows = kWindowBytes / 2 / std::max<Row>(1, features.bytes_per_row());
    const std::vector<Row> blocks = runs_of_queries(offsets, 0, n_queries, kPassBlock);
    const Row n_blocks = static_cast<Row>(blocks.size()) - 1;
    std::vector<double> partial(static_cast<std::size_t>(n_blocks * d), 0.0);
    double* sums = partial.data();
    const bool at_zero = std::all_of(w, w + d, [](double x) { return x == 0; });
#pragma omp parallel for schedule(dynamic) if (is_long(offsets[n_queries] * d / 4 + steps))
    for (Row b = 0; b < n_blocks; ++b) {
        const std::vector<Row> strips = runs_of_queries(offsets, blocks[room(b)], blocks[room(b + 1)], strip_rows);
        const StripNumbers own_scores(offsets, strips), slopes(offsets, strips);
        for (std::size_t i = 0; i + 1 < strips.size(); ++i) {
            const Row first = offsets[strips[i]], n = offsets[strips[i + 1]] - first;
            const Row next = first + n, end = std::min(offsets[n_queries], next + strip_rows);
            double *scores = kept == nullptr ? own_scores.from(first) : kept, *g = slopes.from(first);
            Ahead ahead = features.ahead(next, end, at_zero ? 2 : 1);  // half of the next rows in each product
            if (at_zero) std::fill_n(scores + first, n, 0.0);
            else features.multiply(first, n, w, scores + first, ahead);
            for (Row q = strips[i]; q < strips[i + 1]; ++q) evaluate(q, scores, g);
            features.add(first, n, g + first, sums + b * d, ahead);
        }
    }
    std::fill(out, out + d, 0.0);
    for (Row b = 0; b < n_blocks; ++b)
        for (Row j = 0; j < d; ++j) out[j] += sums[b * d + j];
}

}  // namespace podium
