// Most violated rankings and the quadratic programme of cutting planes, as Python sees them.
#include "structural.hpp"

#include "bindings.hpp"
#include "simplex_qp.hpp"

// A value for each query and its gradient for each row, made by fill(n_queries, values, gradient).
template <class Fill>
static std::tuple<Out<double>, Out<double>> values_and_gradient(const In<double>& scores,
                                                                const In<Row>& offsets, Fill fill) {
    const Row n = queries(offsets);
    std::unique_ptr<double[]> values(new double[static_cast<std::size_t>(n)]);
    std::unique_ptr<double[]> gradient(new double[scores.shape(0)]);
    {
        nb::gil_scoped_release unlocked;
        fill(n, values.get(), gradient.get());
    }
    return {give(std::move(values), {static_cast<std::size_t>(n)}),
            give(std::move(gradient), {scores.shape(0)})};
}

void bind_structural(nb::module_& m) {
    m.def("violated_ap",
          [](const In<double>& scores, const In<bool>& relevant, const In<Row>& offsets) {
              return values_and_gradient(scores, offsets, [&](Row n, double* values, double* gradient) {
                  violated_ap(scores.data(), relevant.data(), offsets.data(), n, values, gradient);
              });
          },
          "scores"_a, "relevant"_a, "offsets"_a);
    m.def("violated_order",
          [](const In<double>& scores, const In<double>& labels, const In<bool>& member,
             const In<Row>& offsets, const In<double>& discount) {
              return values_and_gradient(scores, offsets, [&](Row n, double* values, double* gradient) {
                  violated_order(scores.data(), labels.data(), member.data(), offsets.data(), n,
                                 discount.data(), static_cast<Row>(discount.shape(0)), values, gradient);
              });
          },
          "scores"_a, "labels"_a, "member"_a, "offsets"_a, "discount"_a);
    m.def("violated_cuts",
          [](const In<double>& scores, const In<double>& labels, const In<bool>& member,
             const In<Row>& offsets) {
              return values_and_gradient(scores, offsets, [&](Row n, double* values, double* gradient) {
                  violated_cuts(scores.data(), labels.data(), member.data(), offsets.data(), n, values,
                                gradient);
              });
          },
          "scores"_a, "labels"_a, "member"_a, "offsets"_a);
    m.def("simplex_qp",
          [](const In2<double>& H, const In<double>& b, double total, const In<double>& start) {
              std::unique_ptr<double[]> out(new double[b.shape(0)]);
              {
                  nb::gil_scoped_release unlocked;
                  simplex_qp(H.data(), b.data(), static_cast<Row>(b.shape(0)), total, start.data(),
                             out.get());
              }
              return give(std::move(out), {b.shape(0)});
          },
          "H"_a, "b"_a, "total"_a, "start"_a);
}
