// Orders and sums for ranking measures, as Python sees them.
#include "ranking.hpp"

#include "bindings.hpp"

namespace {

template <class T>
Out<double> discounted_sum_of(const In<T>& values, const In<Row>& order, const In<Row>& offsets,
                              const In<double>& discount) {
    return per_query<double>(offsets, [&](Row n, double* out) {
        discounted_sum(values.data(), order.data(), offsets.data(), n, discount.data(),
                       static_cast<Row>(discount.shape(0)), out);
    });
}

template <class T>
Out<double> tied_discounted_sum_of(const In<T>& values, const In<double>& scores, const In<Row>& offsets,
                                   const In<double>& discount) {
    return per_query<double>(offsets, [&](Row n, double* out) {
        tied_discounted_sum(values.data(), scores.data(), offsets.data(), n, discount.data(),
                            static_cast<Row>(discount.shape(0)), out);
    });
}

}  // namespace

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
    m.def("is_order",
          [](const In<double>& scores, const In<Row>& rows, const In<Row>& offsets) {
              nb::gil_scoped_release unlocked;
              return is_order(scores.data(), rows.data(), offsets.data(), queries(offsets));
          },
          "scores"_a, "rows"_a, "offsets"_a);
    m.def("string_places",
          [](const In<std::uint8_t>& bytes, const In<Row>& bounds, const In<Row>& offsets) {
              const std::size_t n = bounds.shape(0) - 1;
              std::unique_ptr<double[]> out(new double[n]);
              {
                  nb::gil_scoped_release unlocked;
                  string_places({bytes.data(), bounds.data()}, offsets.data(), queries(offsets), out.get());
              }
              return give(std::move(out), {n});
          },
          "bytes"_a, "bounds"_a, "offsets"_a);
    m.def("trec_order",
          [](const In<float>& scores, const In<std::uint8_t>& bytes, const In<Row>& bounds,
             const In<Row>& offsets) {
              std::unique_ptr<Row[]> out(new Row[scores.shape(0)]);
              {
                  nb::gil_scoped_release unlocked;
                  trec_order(scores.data(), {bytes.data(), bounds.data()}, offsets.data(), queries(offsets),
                             out.get());
              }
              return give(std::move(out), {scores.shape(0)});
          },
          "scores"_a, "bytes"_a, "bounds"_a, "offsets"_a);
    m.def("match_strings",
          [](const In<std::uint8_t>& bytes, const In<Row>& bounds, const In<Row>& offsets,
             const In<std::uint8_t>& other_bytes, const In<Row>& other_bounds, const In<Row>& other_offsets) {
              const std::size_t n = bounds.shape(0) - 1;
              std::unique_ptr<Row[]> out(new Row[n]);
              {
                  nb::gil_scoped_release unlocked;
                  match_strings({bytes.data(), bounds.data()}, offsets.data(),
                                {other_bytes.data(), other_bounds.data()}, other_offsets.data(),
                                queries(offsets), out.get());
              }
              return give(std::move(out), {n});
          },
          "bytes"_a, "bounds"_a, "offsets"_a, "other_bytes"_a, "other_bounds"_a, "other_offsets"_a);
    m.def("discounted_sum", &discounted_sum_of<double>, "values"_a.noconvert(), "order"_a, "offsets"_a,
          "discount"_a);
    m.def("discounted_sum", &discounted_sum_of<bool>, "values"_a.noconvert(), "order"_a, "offsets"_a,
          "discount"_a);
    m.def("tied_discounted_sum", &tied_discounted_sum_of<double>, "values"_a.noconvert(), "scores"_a,
          "offsets"_a, "discount"_a);
    m.def("tied_discounted_sum", &tied_discounted_sum_of<bool>, "values"_a.noconvert(), "scores"_a, "offsets"_a,
          "discount"_a);
    m.def("ideal_sum",
          [](const In<double>& values, const In<Row>& offsets, const In<double>& discount) {
              return per_query<double>(offsets, [&](Row n, double* out) {
                  ideal_sum(values.data(), offsets.data(), n, discount.data(),
                            static_cast<Row>(discount.shape(0)), out);
              });
          },
          "values"_a, "offsets"_a, "discount"_a);
    m.def("find_relevant",
          [](const In<double>& labels, double threshold, const In<Row>& offsets) {
              std::unique_ptr<bool[]> relevant(new bool[labels.shape(0)]);
              Out<Row> counts = per_query<Row>(offsets, [&](Row n, Row* out) {
                  find_relevant(labels.data(), threshold, offsets.data(), n, relevant.get(), out);
              });
              return std::make_tuple(give(std::move(relevant), {labels.shape(0)}), std::move(counts));
          },
          "labels"_a, "threshold"_a, "offsets"_a);
    m.def("label_levels",
          [](const In<double>& labels, const In<Row>& order, const In<Row>& offsets) {
              std::unique_ptr<Row[]> levels(new Row[labels.shape(0)]);
              Out<double> pairs = per_query<double>(offsets, [&](Row n, double* out) {
                  label_levels(labels.data(), order.data(), offsets.data(), n, levels.get(), out);
              });
              return std::make_tuple(give(std::move(levels), {labels.shape(0)}), std::move(pairs));
          },
          "labels"_a, "order"_a, "offsets"_a);
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
