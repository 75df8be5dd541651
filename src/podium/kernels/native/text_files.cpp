// Reading and writing text, as Python sees it.
#include "bindings.hpp"
#include "csv.hpp"
#include "string_hashes.hpp"
#include "letor.hpp"
#include "trec.hpp"
#include "letor_writer.hpp"

static Out<std::uint8_t> give_bytes(std::vector<char> data) {
    auto* kept = new std::vector<char>(std::move(data));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<char>*>(p); });
    return Out<std::uint8_t>(reinterpret_cast<std::uint8_t*>(kept->data()), {kept->size()}, owner);
}

static nb::tuple give(Packed packed) {
    return nb::make_tuple(give_bytes(std::move(packed.bytes)), give(std::move(packed.offsets)));
}

static nb::object give(const Problem& problem) {
    if (!problem) return nb::none();
    auto text = [](const std::string& s) {
        return nb::steal<nb::object>(
            PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace"));
    };
    return nb::make_tuple(text(problem.kind), problem.line, text(problem.expected), text(problem.got));
}

namespace {

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

template <class T>
nb::tuple parse_csv(const In<std::uint8_t>& text, const Matrix<T>& x, const Matrix<double>& numbers,
                    const In<std::int64_t>& roles, std::int64_t n_texts, int separator, int decimal,
                    int thousands, bool missing_is_nan) {
    CsvBlock block;
    {
        const char* begin = reinterpret_cast<const char*>(text.data());
        const char* end = begin + text.size();
        const CsvDialect dialect{static_cast<char>(separator), static_cast<char>(decimal),
                                 static_cast<char>(thousands), missing_is_nan};
        nb::gil_scoped_release unlocked;
        block = CsvParser<T>(x.data(), static_cast<Row>(x.shape(1)), numbers.data(),
                             static_cast<Row>(numbers.shape(1)), roles.data(),
                             static_cast<Row>(roles.shape(0)), n_texts, dialect)
                    .parse(begin, end);
    }
    nb::list texts;
    for (Packed& packed : block.texts) texts.append(give(std::move(packed)));
    return nb::make_tuple(block.rows, nb::tuple(texts), block.lines, block.column, give(block.problem));
}

nb::tuple parse_trec_py(const In<std::uint8_t>& text, int n_columns) {
    TrecBlock block;
    {
        const char* begin = reinterpret_cast<const char*>(text.data());
        const char* end = begin + text.size();
        nb::gil_scoped_release unlocked;
        block = parse_trec(begin, end, n_columns);
    }
    return nb::make_tuple(give(std::move(block.run_starts)), give(std::move(block.run_ids)),
                          give(std::move(block.docids)), give(std::move(block.values)), block.lines, give(block.problem));
}

}  // namespace

void bind_text(nb::module_& m) {
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
    m.def("csv_end",
          [](const In<std::uint8_t>& text, int separator, int state) {
              const char* begin = reinterpret_cast<const char*>(text.data());
              CsvState after = static_cast<CsvState>(state);
              std::int64_t end = 0;
              {
                  nb::gil_scoped_release unlocked;
                  end = csv_end(begin, begin + text.size(), static_cast<char>(separator), after);
              }
              return nb::make_tuple(end, static_cast<int>(after));
          },
          "text"_a, "separator"_a, "state"_a);
    m.def("parse_csv", &parse_csv<double>, "text"_a, "x"_a.noconvert(), "numbers"_a.noconvert(), "roles"_a,
          "n_texts"_a, "separator"_a, "decimal"_a, "thousands"_a, "missing_is_nan"_a);
    m.def("parse_csv", &parse_csv<float>, "text"_a, "x"_a.noconvert(), "numbers"_a.noconvert(), "roles"_a,
          "n_texts"_a, "separator"_a, "decimal"_a, "thousands"_a, "missing_is_nan"_a);
    m.def("parse_trec", &parse_trec_py, "text"_a, "n_columns"_a);
    m.def("hash_strings",
          [](const In<std::uint8_t>& bytes, const In<Row>& offsets, std::uint64_t seed) {
              return per_query<std::uint64_t>(offsets, [&](Row n, std::uint64_t* out) {
                  hash_strings(bytes.data(), offsets.data(), n, seed, out);
              });
          },
          "bytes"_a, "offsets"_a, "seed"_a);
    m.def("hash_rows",
          [](const In2<std::uint8_t>& rows, std::uint64_t seed) {
              const std::size_t n = rows.shape(0);
              std::unique_ptr<std::uint64_t[]> out(new std::uint64_t[n]);
              {
                  nb::gil_scoped_release unlocked;
                  hash_rows(rows.data(), static_cast<Row>(n), static_cast<Row>(rows.shape(1)), seed, out.get());
              }
              return give(std::move(out), {n});
          },
          "rows"_a, "seed"_a);
}
