// A query is the rows [offsets[q], offsets[q + 1]): the loop over queries, and when threads pay.
#pragma once

#include <atomic>
#include <cstdint>

namespace podium {

using Row = std::int64_t;

// Set in a forked child: OpenMP's threads stay behind in the parent, and waiting for them never ends.
inline std::atomic<bool> is_forked{false};

// Waking threads costs more than a short job takes; a job is counted in steps of about a nanosecond.
inline bool is_long(Row steps) { return steps > 200'000 && !is_forked; }

// body(q) for every query; each writes only its own place, so the result does not depend on threads.
template <class Body>
void for_each_query(Row n_queries, Row steps, Body body) {
#pragma omp parallel for schedule(dynamic, 64) if (is_long(steps))
    for (Row q = 0; q < n_queries; ++q) body(q);
}

}  // namespace podium
