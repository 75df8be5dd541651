// Place windows, as Python sees them.
#include "place_windows.hpp"

#include "bindings.hpp"

void bind_windows(nb::module_& m) {
    m.def("fill_windows",
          [](const In<double>& scores, const In<Row>& rows, const In<Row>& first, const In<Row>& last) {
              std::unique_ptr<Row[]> place(new Row[rows.shape(0)]);
              const double cost = fill_windows(scores.data(), static_cast<Row>(scores.shape(0)), rows.data(),
                                               first.data(), last.data(), static_cast<Row>(rows.shape(0)), place.get());
              return std::make_tuple(give(std::move(place), {rows.shape(0)}), cost);
          },
          "scores"_a, "rows"_a, "first"_a, "last"_a);
}
