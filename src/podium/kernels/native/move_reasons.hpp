// Reasons why a document moved: its own, or those of the documents that passed it.
#pragma once

#include "queries.hpp"

namespace podium {

// sets[x] = the union of own[i] over the movers rows[i] that passed row x the other way; a mover has its own set.
// Two rows passed each other if their order changed and they went opposite ways.
inline void sets_of_movers(const Row* before, const Row* after, Row n, const Row* rows, const Row* own, Row m,
                           Row* sets) {
    std::fill(sets, sets + n, Row{0});
    for (Row i = 0; i < m; ++i) {
        const Row from = before[rows[i]], to = after[rows[i]];
        for (Row x = 0; x < n; ++x) {
            const bool swapped = (before[x] < from) != (after[x] < to);
            const bool opposite = to < from ? after[x] > before[x] : after[x] < before[x];
            sets[x] |= own[i] & -static_cast<Row>(swapped && opposite);
        }
    }
    for (Row i = 0; i < m; ++i) sets[rows[i]] = own[i];
}

}  // namespace podium
