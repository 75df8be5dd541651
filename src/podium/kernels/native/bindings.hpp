// Helpers of all binding files: NumPy arrays in, NumPy arrays out. Nothing is validated here.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "queries.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace podium;

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using In3 = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T>;

// Hands a buffer to NumPy, which frees it.
template <class T>
Out<T> give(std::unique_ptr<T[]> data, std::initializer_list<std::size_t> shape) {
    T* raw = data.release();
    nb::capsule owner(raw, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return Out<T>(raw, shape, owner);
}

template <class T>
Out<T> give(std::vector<T> data) {
    auto* kept = new std::vector<T>(std::move(data));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Out<T>(kept->data(), {kept->size()}, owner);
}

inline Row queries(const In<Row>& offsets) { return static_cast<Row>(offsets.shape(0)) - 1; }

// One number per query, made by fill(out).
template <class T, class Fill>
Out<T> per_query(const In<Row>& offsets, Fill fill) {
    const Row n = queries(offsets);
    std::unique_ptr<T[]> out(new T[static_cast<std::size_t>(n)]);
    {
        nb::gil_scoped_release unlocked;
        fill(n, out.get());
    }
    return give(std::move(out), {static_cast<std::size_t>(n)});
}

// Each subject's kernels, in its own file.
void bind_aggregation(nb::module_& m);
void bind_boosting(nb::module_& m);
void bind_bradley_terry(nb::module_& m);
void bind_clicks(nb::module_& m);
void bind_clusters(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_text(nb::module_& m);
void bind_ranking(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_structural(nb::module_& m);
void bind_movers(nb::module_& m);
void bind_passes(nb::module_& m);
void bind_place_beliefs(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_windows(nb::module_& m);
