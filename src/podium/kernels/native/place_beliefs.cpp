// Place beliefs, as Python sees them.
#include "place_beliefs.hpp"

#include "bindings.hpp"

static JudgedPairs judged_pairs(const In<Row>& first, const In<Row>& second, const In<double>& less,
                                const In<double>& more) {
    return {first.data(), second.data(), less.data(), more.data(), static_cast<Row>(first.shape(0))};
}

static Cuts cuts_of(const In3<double>& members, const In<double>& weights) {
    return {members.data(), weights.data(), static_cast<Row>(weights.shape(0))};
}

void bind_place_beliefs(nb::module_& m) {
    m.def("sweep_places",
          [](const In2<double>& beliefs, const In3<double>& messages, const In<Row>& first, const In<Row>& second,
             const In<double>& less, const In<double>& more) {
              const std::size_t n = beliefs.shape(0), places = beliefs.shape(1), pairs = first.shape(0);
              std::unique_ptr<double[]> b(new double[n * places]), sent(new double[2 * pairs * places]),
                  better(new double[pairs]);
              {
                  nb::gil_scoped_release unlocked;
                  std::copy_n(beliefs.data(), n * places, b.get());
                  std::copy_n(messages.data(), 2 * pairs * places, sent.get());
                  sweep_places(judged_pairs(first, second, less, more), static_cast<Row>(places), b.get(), sent.get(),
                               better.get());
              }
              return std::tuple(give(std::move(b), {n, places}), give(std::move(sent), {2, pairs, places}),
                                give(std::move(better), {pairs}));
          },
          "beliefs"_a, "messages"_a, "first"_a, "second"_a, "less"_a, "more"_a);
    m.def("members_by_count",
          [](const In<double>& members, const In<Row>& sizes, Row low, Row high) {
              const std::size_t n = members.shape(0);
              std::unique_ptr<double[]> out(new double[n]);
              members_by_count(members.data(), sizes.data(), static_cast<Row>(n), low, high, out.get());
              return give(std::move(out), {n});
          },
          "members"_a, "sizes"_a, "low"_a, "high"_a);
    m.def("pair_information",
          [](const In2<double>& beliefs, const In3<double>& members, const In<double>& weights, double errors) {
              const std::size_t n = beliefs.shape(0);
              std::unique_ptr<double[]> out(new double[n * n]);
              {
                  nb::gil_scoped_release unlocked;
                  pair_information(beliefs.data(), static_cast<Row>(n), static_cast<Row>(beliefs.shape(1)),
                                   cuts_of(members, weights), errors, out.get());
              }
              return give(std::move(out), {n, n});
          },
          "beliefs"_a, "members"_a, "weights"_a, "errors"_a);
    m.def("judged_pair_information",
          [](const In2<double>& beliefs, const In3<double>& messages, const In<Row>& first, const In<Row>& second,
             const In<double>& less, const In<double>& more, const In3<double>& members, const In<double>& weights,
             double errors) {
              const std::size_t pairs = first.shape(0);
              std::unique_ptr<double[]> out(new double[pairs]);
              {
                  nb::gil_scoped_release unlocked;
                  judged_pair_information(beliefs.data(), messages.data(), static_cast<Row>(beliefs.shape(0)),
                                          static_cast<Row>(beliefs.shape(1)), judged_pairs(first, second, less, more),
                                          cuts_of(members, weights), errors, out.get());
              }
              return give(std::move(out), {pairs});
          },
          "beliefs"_a, "messages"_a, "first"_a, "second"_a, "less"_a, "more"_a, "members"_a, "weights"_a, "errors"_a);
}
