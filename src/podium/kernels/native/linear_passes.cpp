// Losses of linear scores and products with their Hessian, in one pass over the features, as Python sees them.
#include "linear_passes.hpp"

#include "bindings.hpp"
#include "hinge_pairs.hpp"
#include "list_losses.hpp"
#include "logistic_pairs.hpp"

namespace {

using Chosen = std::optional<In<Row>>;
using Pass = std::tuple<Out<double>, Out<double>>;

template <class T>
Features<T> features_of(const In2<T>& x, const Chosen& rows) {
    return {x.data(), static_cast<Row>(x.shape(1)), rows ? rows->data() : nullptr};
}

// The loss of each query, without its weight, and the gradient of the weighted sum; evaluate(q, scores, gradient)
// returns the loss of a query.
template <class T, class Evaluate>
Pass loss_pass(const In2<T>& x, const In<double>& w, const Chosen& rows, const In<double>& weight,
               const In<Row>& offsets, Row steps, Evaluate evaluate) {
    const std::size_t d = x.shape(1), n_queries = weight.shape(0);
    std::unique_ptr<double[]> values(new double[n_queries]), out(new double[d]);
    {
        nb::gil_scoped_release unlocked;
        double* v = values.get();
        const double* of_query = weight.data();
        const Row* bounds = offsets.data();
        linear_pass(features_of(x, rows), w.data(), bounds, queries(offsets), steps, nullptr, out.get(),
                    [=](Row q, double* s, double* g) {
                        v[q] = evaluate(q, s, g);
                        for (Row i = bounds[q]; i < bounds[q + 1]; ++i) g[i] *= of_query[q];
                    });
    }
    return {give(std::move(values), {n_queries}), give(std::move(out), {d})};
}

template <class T>
Pass softmax_pass(const In2<T>& x, const In<double>& w, const Chosen& rows, const In<double>& weight,
                  const In<double>& target, const In<Row>& offsets) {
    const Row* bounds = offsets.data();
    const double* p = target.data();
    return loss_pass(x, w, rows, weight, offsets, 10 * bounds[queries(offsets)], [=](Row q, double* s, double* g) {
        const Row first = bounds[q];
        return cross_entropy_of_list(s + first, p + first, bounds[q + 1] - first, g + first, nullptr);
    });
}

template <class T>
Pass plackett_luce_pass(const In2<T>& x, const In<double>& w, const Chosen& rows, const In<double>& weight,
                        const In<Row>& order, const In<Row>& stages, const In<Row>& offsets) {
    const Row *bounds = offsets.data(), *best_first = order.data(), *wanted = stages.data();
    return loss_pass(x, w, rows, weight, offsets, 10 * bounds[queries(offsets)], [=](Row q, double* s, double* g) {
        return likelihood_of_list(s, best_first + bounds[q], bounds[q + 1] - bounds[q], wanted[q], g, nullptr);
    });
}

template <class T>
Pass logistic_pass(const In2<T>& x, const In<double>& w, const Chosen& rows, const In<double>& weight,
                   const In<Row>& levels, const In<Row>& by_level, const In<Row>& offsets) {
    const Row *bounds = offsets.data(), *level = levels.data(), *best_first = by_level.data();
    return loss_pass(x, w, rows, weight, offsets, pairs_in(bounds, queries(offsets)),
                     [=](Row q, double* s, double* g) {
                         return logistic_pairs_of_list(s, level, best_first + bounds[q], bounds[q + 1] - bounds[q], g,
                                                       nullptr);
                     });
}

// The weighted sum of the softmax cross entropy of some rows of each query and of the logistic loss of its pairs.
template <class T>
Pass softmax_and_logistic_pass(const In2<T>& x, const In<double>& w, const Chosen& rows, const In<double>& weight,
                               const In<double>& target, const In<Row>& members, const In<Row>& member_offsets,
                               const In<double>& list_weight, const In<Row>& levels, const In<Row>& by_level,
                               const In<double>& pair_weight, const In<Row>& offsets) {
    const Row *bounds = offsets.data(), *level = levels.data(), *best_first = by_level.data();
    const Row *member = members.data(), *member_bounds = member_offsets.data();
    const double *p = target.data(), *of_list = list_weight.data(), *of_pairs = pair_weight.data();
    return loss_pass(x, w, rows, weight, offsets, pairs_in(bounds, queries(offsets)),
                     [=](Row q, double* s, double* g) {
                         const Row first = bounds[q], n = bounds[q + 1] - first;
                         double value = logistic_pairs_of_list(s, level, best_first + first, n, g, nullptr);
                         value *= of_pairs[q];
                         for (Row i = first; i < first + n; ++i) g[i] *= of_pairs[q];
                         const Row listed = member_bounds[q], size = member_bounds[q + 1] - listed;
                         Doubles own(room(size)), slope(room(size));
                         for (Row i = 0; i < size; ++i) own[room(i)] = s[member[listed + i]];
                         value += of_list[q] *
                                  cross_entropy_of_list(own.data(), p + listed, size, slope.data(), nullptr);
                         for (Row i = 0; i < size; ++i) g[member[listed + i]] += of_list[q] * slope[room(i)];
                         return value;
                     });
}

// X p, and X' (weighted Hessian) X p.
template <class T>
Pass hinge_product_pass(const In2<T>& x, const In<double>& w, const Chosen& rows, const In<double>& weight,
                        const In<double>& scores, const In<Row>& levels, const In<Row>& order,
                        const In<Row>& offsets) {
    const std::size_t n = scores.shape(0), d = x.shape(1);
    std::unique_ptr<double[]> forward(new double[n]), out(new double[d]);
    {
        nb::gil_scoped_release unlocked;
        const double *s = scores.data(), *of_query = weight.data();
        const Row *bounds = offsets.data(), *level = levels.data(), *best_first = order.data();
        linear_pass(features_of(x, rows), w.data(), bounds, queries(offsets), 20 * static_cast<Row>(n),
                    forward.get(), out.get(), [=](Row q, const double* f, double* g) {
                        const Row first = bounds[q], size = bounds[q + 1] - first;
                        hinge_product_of_list(s, level, best_first + first, first, size, f, g);
                        for (Row i = first; i < first + size; ++i) g[i] *= of_query[q];
                    });
    }
    return {give(std::move(forward), {n}), give(std::move(out), {d})};
}

template <class T>
void bind_passes_of(nb::module_& m) {
    m.def("softmax_cross_entropy_pass", &softmax_pass<T>, "x"_a.noconvert(), "w"_a, "rows"_a.none(), "weight"_a,
          "target"_a, "offsets"_a);
    m.def("plackett_luce_pass", &plackett_luce_pass<T>, "x"_a.noconvert(), "w"_a, "rows"_a.none(), "weight"_a,
          "order"_a, "stages"_a, "offsets"_a);
    m.def("logistic_pairs_pass", &logistic_pass<T>, "x"_a.noconvert(), "w"_a, "rows"_a.none(), "weight"_a,
          "levels"_a, "by_level"_a, "offsets"_a);
    m.def("softmax_and_logistic_pass", &softmax_and_logistic_pass<T>, "x"_a.noconvert(), "w"_a, "rows"_a.none(),
          "weight"_a, "target"_a, "members"_a, "member_offsets"_a, "list_weight"_a, "levels"_a, "by_level"_a,
          "pair_weight"_a, "offsets"_a);
    m.def("hinge_pairs_product_pass", &hinge_product_pass<T>, "x"_a.noconvert(), "w"_a, "rows"_a.none(),
          "weight"_a, "scores"_a, "levels"_a, "order"_a, "offsets"_a);
}

}  // namespace

void bind_passes(nb::module_& m) {
    bind_passes_of<double>(m);
    bind_passes_of<float>(m);
}
