// Orders and the sums of ranking measures, as Python sees them.
#include "ranking.hpp"

#include "bindings.hpp"

void bind_ranking(nb::module_& m) {
    m.def("order",
          [](const In<double>& scores, const std::optional<In<double>>& tie_keys, const In<Row>& offsets) {
              std::unique_ptr<Row[]> out(new Row[scores.shape(0)]);
              {
                  nb::gil_scoped_release unlocked;
                  order(scores.data(), tie_keys ? tie_keys->data() : nullptr, offsets.data(),
                        queries(offsets), out.get());
              }
              return give(std::move(out), {scores.shape(0)});
          },
          "scores"_a, "tie_keys"_a.none(), "offsets"_a);
    m.def("string_places",
          [](const In<std::uint8_t>& bytes, const In<Row>& bounds, const In<Row>& offsets) {
              const std::size_t n = bounds.shape(0) - 1;
              std::unique_ptr<double[]> out(new double[n]);
              {
                  nb::gil_scoped_release unlocked;
                  string_places(bytes.data(), bounds.data(), offsets.data(), queries(offsets), out.get());
              }
              return give(std::move(out), {n});
          },
          "bytes"_a, "bounds"_a, "offsets"_a);
    m.def("discounted_sum",
          [](const In<double>& values, const In<Row>& order, const In<Row>& offsets,
             const In<double>& discount) {
              return per_query<double>(offsets, [&](Row n, double* out) {
                  discounted_sum(values.data(), order.data(), offsets.data(), n, discount.data(),
                                 static_cast<Row>(discount.shape(0)), out);
              });
          },
          "values"_a, "order"_a, "offsets"_a, "discount"_a);
    m.def("ideal_sum",
          [](const In<double>& values, const In<Row>& offsets, const In<double>& discount) {
              return per_query<double>(offsets, [&](Row n, double* out) {
                  ideal_sum(values.data(), offsets.data(), n, discount.data(),
                            static_cast<Row>(discount.shape(0)), out);
              });
          },
          "values"_a, "offsets"_a, "discount"_a);
    m.def("precision_sum",
          [](const In<bool>& relevant, const In<Row>& order, const In<Row>& offsets, Row depth) {
              return per_query<double>(offsets, [&](Row n, double* out) {
                  precision_sum(relevant.data(), order.data(), offsets.data(), n, depth, out);
              });
          },
          "relevant"_a, "order"_a, "offsets"_a, "depth"_a);
    m.def("tied_precision_sum",
          [](const In<bool>& relevant, const In<Row>& order, const In<double>& scores, const In<Row>& offsets,
             Row depth) {
              return per_query<double>(offsets, [&](Row n, double* out) {
                  tied_precision_sum(relevant.data(), order.data(), scores.data(), offsets.data(), n, depth, out);
              });
          },
          "relevant"_a, "order"_a, "scores"_a, "offsets"_a, "depth"_a);
    m.def("first_place",
          [](const In<bool>& relevant, const In<Row>& order, const In<Row>& offsets, Row depth) {
              return per_query<Row>(offsets, [&](Row n, Row* out) {
                  first_place(relevant.data(), order.data(), offsets.data(), n, depth, out);
              });
          },
          "relevant"_a, "order"_a, "offsets"_a, "depth"_a);
    m.def("cascade",
          [](const In<double>& stop, const In<Row>& order, const In<Row>& offsets, Row depth) {
              return per_query<double>(offsets, [&](Row n, double* out) {
                  cascade(stop.data(), order.data(), offsets.data(), n, depth, out);
              });
          },
          "stop"_a, "order"_a, "offsets"_a, "depth"_a);
    m.def("pair_counts",
          [](const In<double>& a, const In<double>& b, const In<Row>& offsets) {
              const Row n = queries(offsets);
              std::unique_ptr<Row[]> out(new Row[static_cast<std::size_t>(4 * n)]);
              {
                  nb::gil_scoped_release unlocked;
                  pair_counts(a.data(), b.data(), offsets.data(), n, out.get());
              }
              return give(std::move(out), {static_cast<std::size_t>(n), 4});
          },
          "a"_a, "b"_a, "offsets"_a);
    m.def("exp2_gain",
          [](const In<double>& labels) {
              std::unique_ptr<double[]> out(new double[labels.shape(0)]);
              {
                  nb::gil_scoped_release unlocked;
                  exp2_gain(labels.data(), static_cast<Row>(labels.shape(0)), out.get());
              }
              return give(std::move(out), {labels.shape(0)});
          },
          "labels"_a);
}
