// The native kernels as Python sees them: bare arrays in, bare arrays out. Nothing is validated here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#ifdef __unix__
#include <pthread.h>
#endif

#include <memory>
#include <optional>
#include <tuple>

#include "hashing.hpp"
#include "letor.hpp"
#include "ranking.hpp"
#include "table.hpp"
#include "write.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace podium;

namespace {

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
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

Out<std::uint8_t> give_bytes(std::vector<char> data) {
    auto* kept = new std::vector<char>(std::move(data));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<char>*>(p); });
    return Out<std::uint8_t>(reinterpret_cast<std::uint8_t*>(kept->data()), {kept->size()}, owner);
}

nb::tuple give(Packed packed) {
    return nb::make_tuple(give_bytes(std::move(packed.bytes)), give(std::move(packed.offsets)));
}

nb::object give(const Problem& problem) {
    if (!problem) return nb::none();
    auto text = [](const std::string& s) {
        return nb::steal<nb::object>(
            PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace"));
    };
    return nb::make_tuple(text(problem.kind), problem.line, text(problem.expected), text(problem.got));
}

template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::tuple parse_letor(const In<std::uint8_t>& text, const Matrix<T>& x, std::int64_t max_feature,
                      bool null_is_nan) {
    LetorBlock block;
    {
        const char* begin = reinterpret_cast<const char*>(text.data());
        const char* end = begin + text.size();
        nb::gil_scoped_release unlocked;
        block = LetorParser<T>(x.data(), static_cast<Row>(x.shape(1)), max_feature, null_is_nan)
                    .parse(begin, end);
    }
    return nb::make_tuple(give(std::move(block.y)), give(std::move(block.run_starts)),
                          give(std::move(block.run_ids)), give(std::move(block.comments)),
                          give(std::move(block.docids)), block.max_id, block.lines,
                          give(block.problem));
}

template <class T>
Out<std::uint8_t> format_letor_as(const In2<T>& x, const In<double>& y, const In<Row>& offsets, Row first,
                                  Row last, const In<std::uint8_t>& qid_bytes,
                                  const In<Row>& qid_offsets, const In<std::uint8_t>& tail_bytes,
                                  const In<Row>& tail_offsets) {
    std::vector<char> text;
    {
        nb::gil_scoped_release unlocked;
        text = format_letor(x.data(), static_cast<Row>(x.shape(1)), y.data(), offsets.data(), first, last,
                            reinterpret_cast<const char*>(qid_bytes.data()), qid_offsets.data(),
                            reinterpret_cast<const char*>(tail_bytes.data()), tail_offsets.data());
    }
    return give_bytes(std::move(text));
}

nb::tuple parse_table_py(const In<std::uint8_t>& text, int n_columns) {
    TableBlock block;
    {
        const char* begin = reinterpret_cast<const char*>(text.data());
        const char* end = begin + text.size();
        nb::gil_scoped_release unlocked;
        block = parse_table(begin, end, n_columns);
    }
    return nb::make_tuple(give(std::move(block.qids)), give(std::move(block.docids)),
                          give(std::move(block.values)), block.lines, give(block.problem));
}

Row queries(const In<Row>& offsets) { return static_cast<Row>(offsets.shape(0)) - 1; }

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

}  // namespace

NB_MODULE(_native, m) {
#ifdef __unix__
    pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
#endif
    m.doc() = "Native kernels: see podium.kernels.reference for what each one computes.";

    m.def("count_lines",
          [](const In<std::uint8_t>& text) {
              const char* begin = reinterpret_cast<const char*>(text.data());
              nb::gil_scoped_release unlocked;
              return count_lines(begin, begin + text.size());
          },
          "text"_a);
    m.def("parse_letor", &parse_letor<double>, "text"_a, "x"_a.noconvert(), "max_feature"_a,
          "null_is_nan"_a);
    m.def("parse_letor", &parse_letor<float>, "text"_a, "x"_a.noconvert(), "max_feature"_a,
          "null_is_nan"_a);
    m.def("format_letor", &format_letor_as<double>, "x"_a, "y"_a, "offsets"_a, "first"_a, "last"_a,
          "qid_bytes"_a, "qid_offsets"_a, "tail_bytes"_a, "tail_offsets"_a);
    m.def("format_letor", &format_letor_as<float>, "x"_a, "y"_a, "offsets"_a, "first"_a, "last"_a,
          "qid_bytes"_a, "qid_offsets"_a, "tail_bytes"_a, "tail_offsets"_a);
    m.def("parse_table", &parse_table_py, "text"_a, "n_columns"_a);

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
    m.def("hash_strings",
          [](const In<std::uint8_t>& bytes, const In<Row>& offsets, std::uint64_t seed) {
              return per_query<std::uint64_t>(offsets, [&](Row n, std::uint64_t* out) {
                  for (Row i = 0; i < n; ++i)
                      out[i] = hash_bytes(bytes.data() + offsets.data()[i],
                                          bytes.data() + offsets.data()[i + 1], seed);
              });
          },
          "bytes"_a, "offsets"_a, "seed"_a);
}
