// Most violated rankings and the quadratic programme of cutting planes, as Python sees them.
#include "most_violated_order.hpp"

#include "bindings.hpp"
#include "block_ascent.hpp"
#include "most_violated_head.hpp"
#include "simplex_qp.hpp"

// One value per query and one gradient per row, from fill(n_queries, values, gradient).
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
    m.def("violated_head",
          [](const In<double>& scores, const In<double>& worth, const In<double>& ideal,
             const In<Row>& offsets, const In<Row>& cuts, const In<double>& discount,
             const std::string& search, const In<double>& lower_bounds) {
              const Search by = search == "margin" ? Search::margin : search == "hull" ? Search::hull : Search::golden;
              std::unique_ptr<double[]> vertices(new double[static_cast<std::size_t>(queries(offsets))]);
              auto [values, gradient] =
                  values_and_gradient(scores, offsets, [&](Row n, double* values, double* gradient) {
                      violated_head(scores.data(), worth.data(), ideal.data(), offsets.data(), n, cuts.data(),
                                    discount.data(), lower_bounds.data(), by, values, gradient, vertices.get());
                  });
              return std::tuple(values, gradient,
                                give(std::move(vertices), {static_cast<std::size_t>(queries(offsets))}));
          },
          "scores"_a, "worth"_a, "ideal"_a, "offsets"_a, "cuts"_a, "discount"_a, "search"_a, "lower_bounds"_a);
    m.def("block_ascent",
          [](const In3<double>& slopes, const In2<double>& offsets, const In<Row>& used,
             const In2<double>& weights, const In<double>& w, Row sweeps, Row steps, double enough) {
              const std::size_t blocks = slopes.shape(0), places = slopes.shape(1), d = slopes.shape(2);
              std::unique_ptr<double[]> a(new double[blocks * places]), x(new double[d]);
              std::copy_n(weights.data(), blocks * places, a.get());
              std::copy_n(w.data(), d, x.get());
              const Planes planes{slopes.data(), offsets.data(), used.data(), static_cast<Row>(blocks),
                                  static_cast<Row>(places), static_cast<Row>(d)};
              double gap = 0;
              {
                  nb::gil_scoped_release unlocked;
                  gap = block_ascent(planes, sweeps, steps, enough, a.get(), x.get());
              }
              return std::tuple(give(std::move(a), {blocks, places}), give(std::move(x), {d}), gap);
          },
          "slopes"_a, "offsets"_a, "used"_a, "weights"_a, "w"_a, "sweeps"_a, "steps"_a, "enough"_a);
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
