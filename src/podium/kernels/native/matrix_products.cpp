// Products with the feature matrix, as Python sees them.
#include "matrix_products.hpp"

#include "bindings.hpp"

namespace {

using Chosen = std::optional<In<Row>>;

const Row* data_of(const Chosen& rows) { return rows ? rows->data() : nullptr; }

template <class T>
Out<double> matvec_py(const In2<T>& x, const In<double>& w, const Chosen& rows) {
    const std::size_t n = rows ? rows->shape(0) : x.shape(0);
    std::unique_ptr<double[]> out(new double[n]);
    {
        nb::gil_scoped_release unlocked;
        matvec(x.data(), static_cast<Row>(n), static_cast<Row>(x.shape(1)), w.data(), data_of(rows), out.get());
    }
    return give(std::move(out), {n});
}

template <class T>
Out<double> rmatvec_py(const In2<T>& x, const In<double>& g, const Chosen& rows) {
    const std::size_t d = x.shape(1);
    std::unique_ptr<double[]> out(new double[d]);
    {
        nb::gil_scoped_release unlocked;
        rmatvec(x.data(), static_cast<Row>(g.shape(0)), static_cast<Row>(d), g.data(), data_of(rows), out.get());
    }
    return give(std::move(out), {d});
}

template <class T>
Out<double> rmatvec_by_query_py(const In2<T>& x, const In<double>& g, const In<Row>& offsets) {
    const auto n = static_cast<std::size_t>(queries(offsets));
    std::unique_ptr<double[]> out(new double[n * x.shape(1)]);
    {
        nb::gil_scoped_release unlocked;
        rmatvec_by_query(x.data(), static_cast<Row>(x.shape(1)), g.data(), offsets.data(), queries(offsets),
                         out.get());
    }
    return give(std::move(out), {n, x.shape(1)});
}

}  // namespace

void bind_linear(nb::module_& m) {
    m.def("matvec", &matvec_py<double>, "x"_a.noconvert(), "w"_a, "rows"_a = nb::none());
    m.def("matvec", &matvec_py<float>, "x"_a.noconvert(), "w"_a, "rows"_a = nb::none());
    m.def("rmatvec", &rmatvec_py<double>, "x"_a.noconvert(), "g"_a, "rows"_a = nb::none());
    m.def("rmatvec", &rmatvec_py<float>, "x"_a.noconvert(), "g"_a, "rows"_a = nb::none());
    m.def("rmatvec_by_query", &rmatvec_by_query_py<double>, "x"_a.noconvert(), "g"_a, "offsets"_a);
    m.def("rmatvec_by_query", &rmatvec_by_query_py<float>, "x"_a.noconvert(), "g"_a, "offsets"_a);
}
