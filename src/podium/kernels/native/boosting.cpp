// Boosting kernels, as Python sees them.
#include "boosting.hpp"

#include "bindings.hpp"

namespace {

template <class T>
Out<std::uint8_t> bin_features_py(const In2<T>& x, const In<double>& thresholds, const In<Row>& bounds) {
    const std::size_t n = x.shape(0), d = x.shape(1);
    std::unique_ptr<std::uint8_t[]> out(new std::uint8_t[n * d]);
    {
        nb::gil_scoped_release unlocked;
        bin_features(x.data(), static_cast<Row>(n), static_cast<Row>(d), thresholds.data(), bounds.data(),
                     out.get());
    }
    return give(std::move(out), {d, n});
}

}  // namespace

void bind_boosting(nb::module_& m) {
    m.def("bin_features", &bin_features_py<double>, "x"_a.noconvert(), "thresholds"_a, "bounds"_a);
    m.def("bin_features", &bin_features_py<float>, "x"_a.noconvert(), "thresholds"_a, "bounds"_a);
    m.def("rankboost_potentials",
          [](const In<double>& scores, const In<double>& labels, const In<Row>& order, const In<double>& weight,
             const In<Row>& offsets) {
              std::unique_ptr<double[]> out(new double[scores.shape(0)]);
              double log_total = 0;
              {
                  nb::gil_scoped_release unlocked;
                  log_total = rankboost_potentials(scores.data(), labels.data(), order.data(), weight.data(),
                                                   offsets.data(), queries(offsets), out.get());
              }
              return std::make_tuple(give(std::move(out), {scores.shape(0)}), log_total);
          },
          "scores"_a, "labels"_a, "order"_a, "weight"_a, "offsets"_a);
    m.def("stump_sums",
          [](const In2<std::uint8_t>& codes, const In<double>& weights, const std::optional<In2<double>>& values) {
              const std::size_t d = codes.shape(0);
              const auto n = static_cast<Row>(codes.shape(1));
              std::unique_ptr<double[]> out(new double[d * kBins]);
              {
                  nb::gil_scoped_release unlocked;
                  if (values)
                      stump_sums<true>(codes.data(), weights.data(), values->data(), n, static_cast<Row>(d),
                                       out.get());
                  else
                      stump_sums<false>(codes.data(), weights.data(), nullptr, n, static_cast<Row>(d), out.get());
              }
              return give(std::move(out), {d, static_cast<std::size_t>(kBins)});
          },
          "codes"_a, "weights"_a, "values"_a.none());
    m.def("stump_dcg",
          [](const In2<std::uint8_t>& codes, const In<double>& gains, const In<Row>& offsets,
             const In<double>& discount) {
              const std::size_t d = codes.shape(0), n = codes.shape(1);
              std::unique_ptr<double[]> above(new double[d * n]), below(new double[d * n]);
              {
                  nb::gil_scoped_release unlocked;
                  stump_dcg(codes.data(), gains.data(), offsets.data(), queries(offsets), discount.data(),
                            static_cast<Row>(discount.shape(0)), static_cast<Row>(d), above.get(), below.get());
              }
              return std::make_tuple(give(std::move(above), {d, n}), give(std::move(below), {d, n}));
          },
          "codes"_a, "gains"_a, "offsets"_a, "discount"_a);
}
