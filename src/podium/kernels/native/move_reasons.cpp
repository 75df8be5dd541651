// Reasons why a document moved, as Python sees them.
#include "move_reasons.hpp"

#include "bindings.hpp"

void bind_movers(nb::module_& m) {
    m.def("sets_of_movers",
          [](const In<Row>& before, const In<Row>& after, const In<Row>& rows, const In<Row>& own) {
              const auto n = before.shape(0);
              std::unique_ptr<Row[]> sets(new Row[n]);
              sets_of_movers(before.data(), after.data(), static_cast<Row>(n), rows.data(), own.data(),
                             static_cast<Row>(rows.shape(0)), sets.get());
              return give(std::move(sets), {n});
          },
          "before"_a, "after"_a, "rows"_a, "own"_a);
}
