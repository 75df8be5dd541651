// Rank-preserving clustering, as Python sees it.
#include "rank_preserving_clusters.hpp"

#include "bindings.hpp"

void bind_clusters(nb::module_& m) {
    m.def("rank_clusters",
          [](const In2<double>& x, const In<Row>& offsets, const In2<Row>& bounds, Row max_sweeps) {
              const std::size_t n = bounds.shape(0), k = bounds.shape(1) + 1, d = x.shape(1);
              std::unique_ptr<Row[]> borders(new Row[n * (k - 1)]), counts(new Row[k]);
              std::unique_ptr<double[]> centres(new double[k * d]);
              Doubles objective;
              std::vector<Row> moves;
              {
                  nb::gil_scoped_release unlocked;
                  std::copy(bounds.data(), bounds.data() + n * (k - 1), borders.get());
                  const Lists lists{x.data(),           static_cast<Row>(d), offsets.data(),
                                    queries(offsets), static_cast<Row>(k), borders.get()};
                  const Clusters found = rank_clusters(lists, max_sweeps, objective, moves);
                  for (std::size_t c = 0; c < k; ++c) {
                      counts[c] = found.all[c].count;
                      std::copy(found.all[c].centre.begin(), found.all[c].centre.end(), centres.get() + c * d);
                  }
              }
              return std::make_tuple(give(std::move(borders), {n, k - 1}), give(std::move(centres), {k, d}),
                                     give(std::move(counts), {k}), give(std::move(objective)),
                                     give(std::move(moves)));
          },
          "x"_a, "offsets"_a, "bounds"_a, "max_sweeps"_a);
}
