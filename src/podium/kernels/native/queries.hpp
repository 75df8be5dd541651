// A query is the rows [offsets[q], offsets[q + 1]): the loop over queries, and when threads are worth it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace podium {

using Row = std::int64_t;

// Set in a forked child: OpenMP's threads stay behind in the parent, and waiting for them never ends.
inline std::atomic<bool> is_forked{false};

// Threads are worth it for jobs of some milliseconds, counted in steps of about a nanosecond. Waking them takes
// time. On a busy machine, waiting for a thread that does not run can take a hundred times as long as the job.
inline bool is_long(Row steps) { return steps > 5'000'000 && !is_forked; }

// n^2 summed over the queries: the steps of a loop over pairs.
inline Row pairs_in(const Row* offsets, Row n_queries) {
    Row sum = 0;
    for (Row q = 0; q < n_queries; ++q) sum += (offsets[q + 1] - offsets[q]) * (offsets[q + 1] - offsets[q]);
    return sum;
}

// Calls body(q) for every query; each call writes only its own place, so the result does not depend on threads.
// A few long queries are handed out one by one, many short ones in bunches.
template <class Body>
void for_each_query(Row n_queries, Row steps, Body body) {
    [[maybe_unused]] const Row bunch = std::clamp<Row>(n_queries / 64, 1, 64);
#pragma omp parallel for schedule(dynamic, bunch) if (is_long(steps))
    for (Row q = 0; q < n_queries; ++q) body(q);
}

}  // namespace podium
