// Place windows: each document gets a place within its window.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

#include "queries.hpp"

namespace podium {

// Fills places 1..n in turn with the best document that may stand there and leaves room for the rest. Documents
// 0..n-1 are best first; rows (ascending) have windows first..last, the others may stand anywhere. A run of
// places p..d is tight if as many documents must stand in it as it has places: then the next is one of
// them, otherwise the best of all. Returns sum_p p s(document at p) and the place of each of the rows;
// infinity, and no places, if there is no room.
inline double fill_windows(const double* scores, Row n, const Row* rows, const Row* first, const Row* last, Row m,
                           Row* place) {
    using Index = std::size_t;
    const auto no_room = [&] {
        std::fill(place, place + m, Row{0});
        return std::numeric_limits<double>::infinity();
    };
    std::vector<Row> release(static_cast<Index>(m)), due, deadlines, left;
    for (Row i = 0; i < m; ++i) {
        release[static_cast<Index>(i)] = i;
        place[i] = 0;
        if (last[i] < n) {
            due.push_back(i);
            deadlines.push_back(last[i]);
        }
        if (first[i] > last[i] || first[i] > n || last[i] < 1) return no_room();
    }
    std::sort(release.begin(), release.end(),
              [&](Row a, Row b) { return first[a] != first[b] ? first[a] < first[b] : a < b; });
    std::sort(deadlines.begin(), deadlines.end());
    deadlines.erase(std::unique(deadlines.begin(), deadlines.end()), deadlines.end());
    left.assign(deadlines.size(), 0);
    const auto deadline = [&](Row i) {
        return static_cast<Index>(std::lower_bound(deadlines.begin(), deadlines.end(), last[i]) - deadlines.begin());
    };
    for (const Row i : due) ++left[deadline(i)];

    std::priority_queue<Row, std::vector<Row>, std::greater<>> ready;
    Row released = 0, named = 0, free = 0, look_at = 1;  // before look_at nothing can be tight
    double cost = 0;
    for (Row p = 1; p <= n; ++p) {
        for (; released < m && first[release[static_cast<Index>(released)]] <= p; ++released)
            ready.push(release[static_cast<Index>(released)]);
        Row tight = n;
        if (p >= look_at) {
            Row sum = 0, slack = n - p;
            for (Index d = 0; d < deadlines.size(); ++d) {
                sum += left[d];
                if (sum == 0) continue;
                slack = std::min(slack, deadlines[d] - p + 1 - sum);
                if (slack < 0) return no_room();
                if (slack == 0) {
                    tight = deadlines[d];
                    break;
                }
            }
            look_at = p + slack;
            if (slack == 0) look_at = p + 1;
        }
        Row chosen = -1;
        if (tight < n) {
            for (const Row i : due)
                if (place[i] == 0 && first[i] <= p && last[i] <= tight) {
                    chosen = i;
                    break;
                }
            if (chosen < 0) return no_room();
        } else {
            while (!ready.empty() && place[ready.top()] != 0) ready.pop();
            for (; named < m && rows[named] == free; ++named) ++free;
            if (!ready.empty() && (free >= n || rows[ready.top()] < free)) {
                chosen = ready.top();
                ready.pop();
            } else if (free >= n) {
                return no_room();
            }
        }
        const Row row = chosen < 0 ? free++ : rows[chosen];
        if (chosen >= 0) {
            place[chosen] = p;
            if (last[chosen] < n) --left[deadline(chosen)];
        }
        cost += static_cast<double>(p) * scores[row];
    }
    return cost;
}

}  // namespace podium
