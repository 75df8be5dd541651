// Losses of scores: values, gradients and curvature, as Python sees them.
#include "bindings.hpp"
#include "exchanged_pairs.hpp"
#include "hinge_pairs.hpp"
#include "list_losses.hpp"
#include "logistic_pairs.hpp"

namespace {

using Derivatives = std::tuple<Out<double>, Out<double>, Out<double>>;

// One value per query, and one gradient and curvature per row, from fill(n_queries, values, gradient, curvature). If
// the curvature is not wanted, it is empty, and fill gets null.
template <class Fill>
Derivatives derivatives(const In<double>& scores, const In<Row>& offsets, Fill fill, bool curved = true) {
    const std::size_t q = offsets.shape(0) - 1, n = scores.shape(0), n_curved = curved ? n : 0;
    std::unique_ptr<double[]> values(new double[q]), gradient(new double[n]), curvature(new double[n_curved]);
    {
        nb::gil_scoped_release unlocked;
        fill(static_cast<Row>(q), values.get(), gradient.get(), curved ? curvature.get() : nullptr);
    }
    return {give(std::move(values), {q}), give(std::move(gradient), {n}), give(std::move(curvature), {n_curved})};
}

// One number per row, from fill(n_queries, out).
template <class Fill>
Out<double> per_row(const In<double>& scores, const In<Row>& offsets, Fill fill) {
    std::unique_ptr<double[]> out(new double[scores.shape(0)]);
    {
        nb::gil_scoped_release unlocked;
        fill(queries(offsets), out.get());
    }
    return give(std::move(out), {scores.shape(0)});
}

}  // namespace

void bind_losses(nb::module_& m) {
    m.def("hinge_pairs",
          [](const In<double>& scores, const In<Row>& levels, const In<Row>& order, const In<Row>& offsets,
             int power, bool curved) {
              const auto fill = [&](Row n, double* v, double* g, double* c) {
                  hinge_pairs(scores.data(), levels.data(), order.data(), offsets.data(), n, power, v, g, c);
              };
              return derivatives(scores, offsets, fill, curved);
          },
          "scores"_a, "levels"_a, "order"_a, "offsets"_a, "power"_a, "curved"_a = true);
    m.def("hinge_pairs_product",
          [](const In<double>& scores, const In<Row>& levels, const In<Row>& order, const In<Row>& offsets,
             const In<double>& direction) {
              return per_row(scores, offsets, [&](Row n, double* out) {
                  hinge_pairs_product(scores.data(), levels.data(), order.data(), offsets.data(), n,
                                      direction.data(), out);
              });
          },
          "scores"_a, "levels"_a, "order"_a, "offsets"_a, "direction"_a);
    m.def("hinge_pairs_products",
          [](const In<double>& scores, const In<Row>& levels, const In<Row>& order, const In<Row>& offsets,
             const In2<double>& directions) {
              const std::size_t n = directions.shape(0), width = directions.shape(1);
              std::unique_ptr<double[]> out(new double[n * width]);
              {
                  nb::gil_scoped_release unlocked;
                  hinge_pairs_products(scores.data(), levels.data(), order.data(), offsets.data(),
                                       queries(offsets), directions.data(), static_cast<Row>(width),
                                       out.get());
              }
              return give(std::move(out), {n, width});
          },
          "scores"_a, "levels"_a, "order"_a, "offsets"_a, "directions"_a);
    m.def("logistic_pairs",
          [](const In<double>& scores, const In<Row>& levels, const In<Row>& by_level,
             const In<Row>& offsets, bool curved) {
              const auto fill = [&](Row n, double* v, double* g, double* c) {
                  logistic_pairs(scores.data(), levels.data(), by_level.data(), offsets.data(), n, v, g, c);
              };
              return derivatives(scores, offsets, fill, curved);
          },
          "scores"_a, "levels"_a, "by_level"_a, "offsets"_a, "curved"_a = true);
    m.def("logistic_pairs_product",
          [](const In<double>& scores, const In<Row>& levels, const In<Row>& by_level,
             const In<Row>& offsets, const In<double>& direction) {
              return per_row(scores, offsets, [&](Row n, double* out) {
                  logistic_pairs_product(scores.data(), levels.data(), by_level.data(), offsets.data(), n,
                                         direction.data(), out);
              });
          },
          "scores"_a, "levels"_a, "by_level"_a, "offsets"_a, "direction"_a);
    m.def("lambda_pairs",
          [](const In<double>& scores, const In<double>& gains, const In<Row>& order,
             const In<Row>& offsets, const In<double>& discount, Row truncation) {
              return derivatives(scores, offsets, [&](Row n, double* v, double* g, double* c) {
                  lambda_pairs(scores.data(), gains.data(), order.data(), offsets.data(), n,
                               discount.data(), truncation, v, g, c);
              });
          },
          "scores"_a, "gains"_a, "order"_a, "offsets"_a, "discount"_a, "truncation"_a);
    m.def("exchanged_pairs",
          [](const In<double>& scores, const In<double>& gains, const In<double>& stop,
             const In<double>& lift, const In<Row>& offsets, const In<double>& discount, Row neighbours,
             const In<std::uint64_t>& keys, double noise, Row draws, std::uint64_t round) {
              const Walk walk{gains.data(), stop.data(), lift.data(), discount.data(),
                              static_cast<Row>(discount.shape(0))};
              const Draws permutations{keys.data(), noise, draws, round};
              return derivatives(scores, offsets, [&](Row n, double* v, double* g, double* c) {
                  exchanged_pairs(scores.data(), offsets.data(), n, walk, permutations, neighbours, v, g, c);
              });
          },
          "scores"_a, "gains"_a, "stop"_a, "lift"_a, "offsets"_a, "discount"_a, "neighbours"_a, "keys"_a,
          "noise"_a, "draws"_a, "round"_a);
    m.def("softmax_cross_entropy",
          [](const In<double>& scores, const In<double>& target, const In<Row>& offsets) {
              return derivatives(scores, offsets, [&](Row n, double* v, double* g, double* c) {
                  softmax_cross_entropy(scores.data(), target.data(), offsets.data(), n, v, g, c);
              });
          },
          "scores"_a, "target"_a, "offsets"_a);
    m.def("softmax_cross_entropy_product",
          [](const In<double>& scores, const In<double>& target, const In<Row>& offsets,
             const In<double>& direction) {
              return per_row(scores, offsets, [&](Row n, double* out) {
                  softmax_cross_entropy_product(scores.data(), target.data(), offsets.data(), n,
                                                direction.data(), out);
              });
          },
          "scores"_a, "target"_a, "offsets"_a, "direction"_a);
    m.def("top_cross_entropy",
          [](const In<double>& scores, const In<double>& labels, const In<double>& mass,
             const In<Row>& offsets, Row depth) {
              return derivatives(scores, offsets, [&](Row n, double* v, double* g, double* c) {
                  top_cross_entropy(scores.data(), labels.data(), mass.data(), offsets.data(), n, depth, v,
                                    g, c);
              });
          },
          "scores"_a, "labels"_a, "mass"_a, "offsets"_a, "depth"_a);
    m.def("top_cross_entropy_product",
          [](const In<double>& scores, const In<double>& labels, const In<double>& mass,
             const In<Row>& offsets, Row depth, const In<double>& direction) {
              return per_row(scores, offsets, [&](Row n, double* out) {
                  top_cross_entropy_product(scores.data(), labels.data(), mass.data(), offsets.data(), n,
                                            depth, direction.data(), out);
              });
          },
          "scores"_a, "labels"_a, "mass"_a, "offsets"_a, "depth"_a, "direction"_a);
    m.def("plackett_luce",
          [](const In<double>& scores, const In<Row>& order, const In<Row>& stages,
             const In<Row>& offsets) {
              return derivatives(scores, offsets, [&](Row n, double* v, double* g, double* c) {
                  plackett_luce(scores.data(), order.data(), stages.data(), offsets.data(), n, v, g, c);
              });
          },
          "scores"_a, "order"_a, "stages"_a, "offsets"_a);
    m.def("plackett_luce_product",
          [](const In<double>& scores, const In<Row>& order, const In<Row>& stages, const In<Row>& offsets,
             const In<double>& direction) {
              return per_row(scores, offsets, [&](Row n, double* out) {
                  plackett_luce_product(scores.data(), order.data(), stages.data(), offsets.data(), n,
                                        direction.data(), out);
              });
          },
          "scores"_a, "order"_a, "stages"_a, "offsets"_a, "direction"_a);
}
