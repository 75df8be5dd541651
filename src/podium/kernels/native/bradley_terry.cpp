// Bradley-Terry scores under soft rules, as Python sees them.
#include "bradley_terry.hpp"

#include "bindings.hpp"

void bind_bradley_terry(nb::module_& m) {
    m.def("bradley_terry",
          [](const In<double>& b, const In<Row>& offsets, const In<double>& floor,
             const In<double>& slope, const In<double>& tau, const In<Row>& doc, const In<Row>& lo,
             const In<Row>& hi, const In<double>& weight, const In<Row>& star_offsets,
             const In<Row>& spring_rows, const In<Row>& spring_starts, const In<double>& kappa,
             const In<Row>& spring_offsets, double tol, Row max_iter,
             double seconds) {
              const std::size_t n = b.shape(0), n_lists = room(queries(offsets));
              std::unique_ptr<double[]> scores(new double[n]), value(new double[n_lists]),
                  norm(new double[n_lists]);
              std::unique_ptr<Row[]> steps(new Row[n_lists]);
              {
                  nb::gil_scoped_release unlocked;
                  const Lists lists{b.data(),           offsets.data(),       floor.data(),
                                    slope.data(),       tau.data(),           doc.data(),
                                    lo.data(),          hi.data(),            weight.data(),
                                    star_offsets.data(), spring_rows.data(),  spring_starts.data(),
                                    kappa.data(),       spring_offsets.data()};
                  bradley_terry(lists, queries(offsets), tol, max_iter, seconds, scores.get(),
                                value.get(), norm.get(), steps.get());
              }
              return std::tuple(give(std::move(scores), {n}), give(std::move(value), {n_lists}),
                                give(std::move(norm), {n_lists}), give(std::move(steps), {n_lists}));
          },
          "b"_a, "offsets"_a, "floor"_a, "slope"_a, "tau"_a, "doc"_a, "lo"_a, "hi"_a, "weight"_a,
          "star_offsets"_a, "spring_rows"_a, "spring_starts"_a, "kappa"_a, "spring_offsets"_a, "tol"_a,
          "max_iter"_a, "seconds"_a = std::numeric_limits<double>::infinity());
}
