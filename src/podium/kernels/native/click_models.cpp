// EM steps of click models, as Python sees them.
#include "click_models.hpp"

#include "bindings.hpp"

void bind_clicks(nb::module_& m) {
    m.def("click_cells_pass",
          [](const In<Row>& pair_offsets, const In<Row>& context, const In<double>& impressions,
             const In<double>& clicks, const In<double>& attraction, const In<double>& examination) {
              const std::size_t n_pairs = attraction.shape(0), n_contexts = examination.shape(0);
              std::unique_ptr<double[]> attracted(new double[n_pairs]), examined(new double[n_contexts]);
              double log_likelihood = 0;
              {
                  nb::gil_scoped_release unlocked;
                  log_likelihood = click_cells_pass(pair_offsets.data(), static_cast<Row>(n_pairs), context.data(),
                                                    impressions.data(), clicks.data(), attraction.data(),
                                                    examination.data(), static_cast<Row>(n_contexts),
                                                    attracted.get(), examined.get());
              }
              return std::make_tuple(give(std::move(attracted), {n_pairs}), give(std::move(examined), {n_contexts}),
                                     log_likelihood);
          },
          "pair_offsets"_a, "context"_a, "impressions"_a, "clicks"_a, "attraction"_a, "examination"_a);
    m.def("click_chain_pass",
          [](const In<Row>& pair, const In<bool>& clicked, const In<double>& weight, const In<Row>& offsets,
             const In<Row>& query_offsets, const In<double>& attraction, const In<double>& stopping,
             double continuation, bool by_rank) {
              const std::size_t n_pairs = attraction.shape(0), n_stops = stopping.shape(0);
              std::unique_ptr<double[]> examined(new double[n_pairs]), stopped(new double[n_stops]),
                  went_on(new double[2]);
              double log_likelihood = 0;
              {
                  nb::gil_scoped_release unlocked;
                  const Chain chain{attraction.data(), stopping.data(), continuation, by_rank};
                  log_likelihood = click_chain_pass(chain, pair.data(), clicked.data(), weight.data(),
                                                    offsets.data(), query_offsets.data(), queries(query_offsets),
                                                    static_cast<Row>(n_pairs), static_cast<Row>(n_stops),
                                                    examined.get(), stopped.get(), went_on.get());
              }
              return std::make_tuple(give(std::move(examined), {n_pairs}), give(std::move(stopped), {n_stops}),
                                     give(std::move(went_on), {2}), log_likelihood);
          },
          "pair"_a, "clicked"_a, "weight"_a, "offsets"_a, "query_offsets"_a, "attraction"_a, "stopping"_a,
          "continuation"_a, "by_rank"_a);
}
