// Sums of regression trees and of stumps, as Python sees them.
#include "trees.hpp"
#include "stumps.hpp"

#include "bindings.hpp"

namespace {

template <class T>
Out<double> predict_trees_as(const In2<T>& x, const In<std::uint8_t>& nodes, const In<std::uint8_t>& flags,
                             const In<double>& values, const In<std::int32_t>& roots,
                             const In<std::int32_t>& depths, bool zero_is_missing) {
    const Forest forest{reinterpret_cast<const TreeNode*>(nodes.data()), flags.data(), values.data(),
                        roots.data(), depths.data(), static_cast<Row>(roots.shape(0))};
    const std::size_t n = x.shape(0);
    std::unique_ptr<double[]> out(new double[n]);
    {
        nb::gil_scoped_release unlocked;
        predict_trees(forest, zero_is_missing, x.data(), static_cast<Row>(n), static_cast<Row>(x.shape(1)),
                      out.get());
    }
    return give(std::move(out), {n});
}

template <class T>
Out<double> predict_stumps_as(const In2<T>& x, const In<Row>& features, const In<Row>& bounds,
                              const In<double>& thresholds, const In<double>& heights) {
    const StepFunctions steps{features.data(), bounds.data(), thresholds.data(), heights.data(),
                              static_cast<Row>(features.shape(0))};
    const std::size_t n = x.shape(0);
    std::unique_ptr<double[]> out(new double[n]);
    {
        nb::gil_scoped_release unlocked;
        predict_stumps(steps, x.data(), static_cast<Row>(n), static_cast<Row>(x.shape(1)), out.get());
    }
    return give(std::move(out), {n});
}

}  // namespace

void bind_trees(nb::module_& m) {
    m.def("predict_trees", &predict_trees_as<double>, "x"_a.noconvert(), "nodes"_a, "flags"_a, "values"_a,
          "roots"_a, "depths"_a, "zero_is_missing"_a);
    m.def("predict_trees", &predict_trees_as<float>, "x"_a.noconvert(), "nodes"_a, "flags"_a, "values"_a,
          "roots"_a, "depths"_a, "zero_is_missing"_a);
    m.def("predict_stumps", &predict_stumps_as<double>, "x"_a.noconvert(), "features"_a, "bounds"_a,
          "thresholds"_a, "heights"_a);
    m.def("predict_stumps", &predict_stumps_as<float>, "x"_a.noconvert(), "features"_a, "bounds"_a,
          "thresholds"_a, "heights"_a);
}
