// Votes on pairs and the orders made from them, as Python sees them.
#include "majority_votes.hpp"

#include "bindings.hpp"

// The rows of every query in a new order, made by fill(n_queries, out).
template <class Fill>
static Out<Row> new_order(const In<Row>& order, const In<Row>& offsets, Fill fill) {
    std::unique_ptr<Row[]> out(new Row[order.shape(0)]);
    {
        nb::gil_scoped_release unlocked;
        fill(queries(offsets), out.get());
    }
    return give(std::move(out), {order.shape(0)});
}

static Row rankers(const In2<double>& places) { return static_cast<Row>(places.shape(1)); }

template <class Kernel>
static void bind_order(nb::module_& m, const char* name, Kernel kernel) {
    m.def(name,
          [kernel](const In2<double>& places, const In<double>& weights, const In<Row>& order,
                   const In<Row>& offsets) {
              return new_order(order, offsets, [&](Row n, Row* out) {
                  kernel(places.data(), weights.data(), rankers(places), order.data(), offsets.data(), n, out);
              });
          },
          "places"_a, "weights"_a, "order"_a, "offsets"_a);
}

void bind_aggregation(nb::module_& m) {
    bind_order(m, "local_kemenisation", local_kemenisation);
    bind_order(m, "majority_quicksort", majority_quicksort);
    bind_order(m, "kemeny_search", kemeny_search);
    m.def("majority_tables",
          [](const In2<double>& places, const In<double>& weights, const In<Row>& offsets, bool listed_only) {
              const Row n = queries(offsets);
              std::vector<Row> starts(static_cast<std::size_t>(n) + 1);
              for (Row q = 0; q < n; ++q)
                  starts[static_cast<std::size_t>(q) + 1] =
                      starts[static_cast<std::size_t>(q)] + pairs_in(offsets.data() + q, 1);
              const auto size = static_cast<std::size_t>(starts.back());
              std::unique_ptr<double[]> out(new double[size]);
              {
                  nb::gil_scoped_release unlocked;
                  majority_tables(places.data(), weights.data(), rankers(places), offsets.data(), n, listed_only,
                                  starts.data(), out.get());
              }
              return give(std::move(out), {size});
          },
          "places"_a, "weights"_a, "offsets"_a, "listed_only"_a);
    m.def("disagreements",
          [](const In2<double>& places, const In<Row>& order, const In<Row>& offsets) {
              const auto n = static_cast<std::size_t>(queries(offsets));
              std::unique_ptr<Row[]> out(new Row[n * places.shape(1) * 2]);
              {
                  nb::gil_scoped_release unlocked;
                  disagreements(places.data(), rankers(places), order.data(), offsets.data(), queries(offsets),
                                out.get());
              }
              return give(std::move(out), {n, places.shape(1), 2});
          },
          "places"_a, "order"_a, "offsets"_a);
    m.def("best_order",
          [](const In2<double>& table) {
              std::unique_ptr<Row[]> out(new Row[table.shape(0)]);
              {
                  nb::gil_scoped_release unlocked;
                  best_order(table.data(), static_cast<Row>(table.shape(0)), out.get());
              }
              return give(std::move(out), {table.shape(0)});
          },
          "table"_a);
}
