// Lists of documents, one per query: their order by score, and the sums that ranking measures consist of.
// A query is the rows [offsets[q], offsets[q + 1]); `order` holds row numbers, best first, query by query.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "packed_strings.hpp"
#include "vector_width.hpp"

namespace podium {

// A pass over all documents counts as many steps as the sort before it, whose threads are still awake.
inline Row evaluation_steps(const Row* offsets, Row n_queries) { return 20 * offsets[n_queries]; }

// Order-preserving map of doubles to integers, largest double first; -0 and +0 are equal.
inline std::int64_t descending_key(double score) {
    const auto bits = std::bit_cast<std::int64_t>(score + 0.0);
    return ~(bits ^ ((bits >> 63) & std::numeric_limits<std::int64_t>::max()));
}

inline std::int64_t descending_key(float score) {
    const auto bits = std::bit_cast<std::int32_t>(score + 0.0f);
    return ~(bits ^ ((bits >> 31) & std::numeric_limits<std::int32_t>::max()));
}

struct Keyed {
    std::int64_t key;
    Row row;
};

// The number of smaller values gives the place of each value: n^2 comparisons, but eight at a time.
PODIUM_ANY_WIDTH
inline void sort_by_counting(const std::int64_t* values, Row n, std::int64_t* out) {
    for (Row i = 0; i < n; ++i) {
        std::int64_t smaller = 0;
        for (Row j = 0; j < n; ++j) smaller += values[j] < values[i];
        out[smaller] = values[i];
    }
}

// Up to this many values are sorted faster by counting than by merging.
inline Row counting_block() {
#ifdef PODIUM_WIDE
    static const Row block = __builtin_cpu_supports("avx2") ? 64 : 8;
    return block;
#else
    return 8;
#endif
}

// Sorts distinct values without branches that depend on them: such branches are the main cost of sorting short
// random lists. Sorts blocks by counting, then merges them. Returns the array with the values: a or spare.
inline std::int64_t* merge_sort(std::int64_t* a, std::int64_t* spare, Row n) {
    const Row block = counting_block();
    for (Row first = 0; first < n; first += block)
        sort_by_counting(a + first, std::min(block, n - first), spare + first);
    std::swap(a, spare);
    for (Row width = block; width < n; width *= 2) {
        for (Row first = 0; first < n; first += 2 * width) {
            const Row middle = std::min(first + width, n), last = std::min(first + 2 * width, n);
            Row i = first, j = middle, k = first;
            while (i < middle && j < last) {
                const std::int64_t left = a[i], right = a[j];
                const bool take_right = right < left;
                spare[k++] = take_right ? right : left;
                i += !take_right;
                j += take_right;
            }
            k = std::copy(a + i, a + middle, spare + k) - spare;
            std::copy(a + j, a + last, spare + k);
        }
        std::swap(a, spare);
    }
    return a;
}

constexpr Row kShort = 4096;

// A list of at most kShort documents, sorted as integers: the upper 52 bits of the key, then the place.
// Scores that differ only in the lower 12 bits are corrected afterwards.
inline void order_short(const double* scores, Row first, Row n, std::int64_t* packed,
                        std::int64_t* spare, Row* out) {
    constexpr std::int64_t kPlace = 0xFFF;
    for (Row i = 0; i < n; ++i) packed[i] = (descending_key(scores[i]) & ~kPlace) | i;
    const std::int64_t* sorted = merge_sort(packed, spare, n);
    for (Row i = 0; i < n; ++i) out[i] = first + (sorted[i] & kPlace);
    for (Row i = 1; i < n; ++i) {
        if (((sorted[i - 1] ^ sorted[i]) & ~kPlace) != 0) continue;
        // Scores above this run are already in order, so the place is within it.
        for (Row j = i; j > 0 && scores[out[j] - first] > scores[out[j - 1] - first]; --j)
            std::swap(out[j], out[j - 1]);
    }
}

// Rows in the order of order_short, where runs of equal scores are ordered by ascending key.
inline void order_runs(const double* scores, const double* tie_keys, Row first, Row n, std::int64_t* packed,
                       std::int64_t* spare, std::vector<double>& keys, std::vector<Row>& places, Row* out) {
    for (Row start = 0, end = 1; start < n; start = end++) {
        while (end < n && scores[out[end] - first] == scores[out[start] - first]) ++end;
        const Row size = end - start;
        if (size == 1) continue;
        keys.resize(room(size));
        places.resize(room(2 * size));
        Row *run = places.data(), *order = run + size;
        for (Row i = 0; i < size; ++i) {
            run[i] = out[start + i];
            keys[room(i)] = -tie_keys[run[i]];
        }
        order_short(keys.data(), 0, size, packed, spare, order);
        for (Row i = 0; i < size; ++i) out[start + i] = run[order[i]];
    }
}

// A list of any length; ties are ordered by key if there are keys.
inline void order_long(const double* scores, const double* tie_keys, Row first, Row n,
                       std::vector<Keyed>& items, Row* out) {
    items.resize(static_cast<std::size_t>(n));
    for (Row i = 0; i < n; ++i)
        items[static_cast<std::size_t>(i)] = {descending_key(scores[first + i]), first + i};
    std::sort(items.begin(), items.end(), [=](const Keyed& a, const Keyed& b) {
        if (a.key != b.key) return a.key < b.key;
        if (tie_keys && tie_keys[a.row] != tie_keys[b.row]) return tie_keys[a.row] < tie_keys[b.row];
        return a.row < b.row;
    });
    for (Row i = 0; i < n; ++i) out[i] = items[static_cast<std::size_t>(i)].row;
}

// Rows by score descending, then by tie key ascending (if given), then by row.
inline void order(const double* scores, const double* tie_keys, const Row* offsets, Row n_queries,
                  Row* out) {
#pragma omp parallel if (is_long(evaluation_steps(offsets, n_queries)))
    {
        std::vector<std::int64_t> packed(kShort), spare(kShort);
        std::vector<Keyed> items;
        std::vector<double> keys;
        std::vector<Row> places;
#pragma omp for schedule(dynamic, 64)
        for (Row q = 0; q < n_queries; ++q) {
            const Row first = offsets[q], n = offsets[q + 1] - first;
            if (n > kShort) {
                order_long(scores, tie_keys, first, n, items, out + first);
                continue;
            }
            order_short(scores + first, first, n, packed.data(), spare.data(), out + first);
            if (tie_keys)
                order_runs(scores + first, tie_keys, first, n, packed.data(), spare.data(), keys, places, out + first);
        }
    }
}

// Whether rows are in the order of `order` without tie keys; it ends at the first query that is not.
inline bool is_order(const double* scores, const Row* rows, const Row* offsets, Row n_queries) {
    for (Row q = 0; q < n_queries; ++q) {
        for (Row i = offsets[q] + 1; i < offsets[q + 1]; ++i) {
            const double before = scores[rows[i - 1]], own = scores[rows[i]];
            if (!(before > own || (before == own && rows[i - 1] < rows[i]))) return false;
        }
    }
    return true;
}

// Rows by score descending, equal scores by packed string, largest first, then by row: trec_eval's order.
inline void trec_order(const float* scores, const PackedStrings& docids, const Row* offsets, Row n_queries,
                       Row* out) {
#pragma omp parallel if (is_long(evaluation_steps(offsets, n_queries)))
    {
        std::vector<std::int64_t> packed, spare;
#pragma omp for schedule(dynamic, 64)
        for (Row q = 0; q < n_queries; ++q) {
            const Row first = offsets[q], n = offsets[q + 1] - first;
            packed.resize(room(n));
            spare.resize(room(n));
            for (Row i = 0; i < n; ++i) packed[room(i)] = descending_key(scores[first + i]) * (Row{1} << 32) + i;
            const std::int64_t* sorted = merge_sort(packed.data(), spare.data(), n);
            Row* rows = out + first;
            for (Row i = 0; i < n; ++i) rows[i] = first + (sorted[i] & 0xFFFFFFFF);
            for (Row start = 0, end = 1; start < n; start = end++) {
                while (end < n && sorted[end] >> 32 == sorted[start] >> 32) ++end;
                if (end - start > 1)
                    std::stable_sort(rows + start, rows + end, [&](Row a, Row b) { return docids[a] > docids[b]; });
            }
        }
    }
}

// The place (from 0) of each row in its query if packed strings sort in descending order. Bytes compare as in
// strcmp; equal strings are ordered by row.
inline void string_places(const PackedStrings& strings, const Row* offsets, Row n_queries, double* out) {
    for_each_query(n_queries, 100 * offsets[n_queries], [=](Row q) {
        std::vector<Row> rows(room(offsets[q + 1] - offsets[q]));
        std::iota(rows.begin(), rows.end(), offsets[q]);
        std::stable_sort(rows.begin(), rows.end(), [=](Row a, Row b) { return strings[a] > strings[b]; });
        for (std::size_t i = 0; i < rows.size(); ++i) out[rows[i]] = static_cast<double>(i);
    });
}

// sum_i discount[i] * values[order[i]] over the first min(depth, n) places; values may be true or false.
template <class T>
void discounted_sum(const T* values, const Row* order, const Row* offsets, Row n_queries, const double* discount,
                    Row depth, double* out) {
    for_each_query(n_queries, evaluation_steps(offsets, n_queries), [=](Row q) {
        const Row first = offsets[q], n = std::min(depth, offsets[q + 1] - first);
        double sum = 0;
        for (Row i = 0; i < n; ++i) sum += discount[i] * static_cast<double>(values[order[first + i]]);
        out[q] = sum;
    });
}

// The largest value below the bound; if the bound is NaN, the largest of all.
PODIUM_ANY_WIDTH
inline double largest_below(const double* values, Row n, double bound) {
    constexpr double kLowest = -std::numeric_limits<double>::infinity();
    Lanes largest(kLowest);
    Row i = 0;
    for (; i + kLanes <= n; i += kLanes)
        for (Row lane = 0; lane < kLanes; ++lane) {
            const double x = values[i + lane] >= bound ? kLowest : values[i + lane];
            largest.at[lane] = x > largest.at[lane] ? x : largest.at[lane];
        }
    for (; i < n; ++i)
        if (!(values[i] >= bound)) largest.at[0] = std::max(largest.at[0], values[i]);
    return *std::max_element(largest.at, largest.at + kLanes);
}

PODIUM_ANY_WIDTH
inline Row count_equal(const double* values, Row n, double value) {
    Row count = 0;
    for (Row i = 0; i < n; ++i) count += values[i] == value;
    return count;
}

// The largest values in descending order. A query has few different labels, so the values are counted grade by
// grade, eight at a time; with many different ones they are sorted.
inline void largest_values(const double* values, Row n, double* top, Row n_top) {
    constexpr int kMostGrades = 6;
    double grade = std::numeric_limits<double>::quiet_NaN();
    Row filled = 0;
    for (int i = 0; i < kMostGrades && filled < n_top; ++i) {
        grade = largest_below(values, n, grade);
        const Row end = std::min(n_top, filled + count_equal(values, n, grade));
        std::fill(top + filled, top + end, grade);
        filled = end;
    }
    if (filled < n_top) std::partial_sort_copy(values, values + n, top, top + n_top, std::greater<>());
}

// How many scores are above one, and how many equal it.
PODIUM_ANY_WIDTH
inline std::pair<Row, Row> count_above_and_equal(const double* scores, Row n, double score) {
    Row above = 0, equal = 0;
    for (Row i = 0; i < n; ++i) {
        above += scores[i] > score;
        equal += scores[i] == score;
    }
    return {above, equal};
}

// The sum of one query, and its memory, which the next query uses again. Values are divided before they are added,
// because the sum of the largest values may overflow.
struct TiedSum {
    std::vector<Row> rows;      // the rows whose value is not 0
    std::vector<double> means;  // the mean of the group that begins at each place
    std::vector<Row> sizes;     // the size of that group; 0 if no group begins there
    std::vector<std::int64_t> packed, spare;
    std::vector<Keyed> items;

    // Gathers the rows whose value is not 0 and returns their number.
    template <class T>
    Row gather(const T* values, Row n) {
        rows.resize(room(n));
        Row n_gathered = 0;
        for (Row i = 0; i < n; ++i) {
            rows[room(n_gathered)] = i;
            n_gathered += values[i] != T{};
        }
        return n_gathered;
    }

    // If few rows have values, each finds its place by a count of the scores above it.
    template <class T>
    double by_counting(Row n_gathered, const T* values, const double* scores, Row n, const double* discount,
                       Row n_places) {
        means.assign(room(n_places), 0.0);
        sizes.assign(room(n_places), 0);
        for (Row i = 0; i < n_gathered; ++i) {
            const Row row = rows[room(i)];
            const auto [place, size] = count_above_and_equal(scores, n, scores[row]);
            if (place >= n_places) continue;
            sizes[room(place)] = size;
            means[room(place)] += static_cast<double>(values[row]) / static_cast<double>(size);
        }
        double sum = 0;
        for (Row start = 0; start < n_places; ++start)
            for (Row i = start; i < std::min(start + sizes[room(start)], n_places); ++i)
                sum += discount[i] * means[room(start)];
        return sum;
    }

    // If many rows have values, all rows are sorted.
    template <class T>
    double by_sorting(const T* values, const double* scores, Row n, const double* discount, Row n_places) {
        if (n <= kShort) {
            packed.resize(room(n));
            spare.resize(room(n));
            order_short(scores, 0, n, packed.data(), spare.data(), rows.data());
        } else {
            order_long(scores, nullptr, 0, n, items, rows.data());
        }
        double sum = 0;
        for (Row start = 0, end = 1; start < n_places; start = end++) {
            while (end < n && scores[rows[room(end)]] == scores[rows[room(start)]]) ++end;
            double mean = 0;
            for (Row i = start; i < end; ++i)
                mean += static_cast<double>(values[rows[room(i)]]) / static_cast<double>(end - start);
            for (Row i = start; i < std::min(end, n_places); ++i) sum += discount[i] * mean;
        }
        return sum;
    }
};

// discounted_sum by descending score, averaged over all orders of documents with equal scores: each has the mean
// of its tied group. Both ways add the same numbers in the same order, except zeros.
template <class T>
void tied_discounted_sum(const T* values, const double* scores, const Row* offsets, Row n_queries,
                         const double* discount, Row depth, double* out) {
    constexpr Row kMostCounted = 48;
#pragma omp parallel if (is_long(evaluation_steps(offsets, n_queries)))
    {
        TiedSum tied;
#pragma omp for schedule(dynamic, 64)
        for (Row q = 0; q < n_queries; ++q) {
            const Row first = offsets[q], n = offsets[q + 1] - first, n_places = std::min(depth, n);
            const Row n_gathered = tied.gather(values + first, n);
            out[q] = n_gathered <= kMostCounted
                         ? tied.by_counting(n_gathered, values + first, scores + first, n, discount, n_places)
                         : tied.by_sorting(values + first, scores + first, n, discount, n_places);
        }
    }
}

// The largest value of discounted_sum over all orders: the values sorted.
inline void ideal_sum(const double* values, const Row* offsets, Row n_queries, const double* discount,
                      Row depth, double* out) {
#pragma omp parallel if (is_long(evaluation_steps(offsets, n_queries)))
    {
        std::vector<double> top;
#pragma omp for schedule(dynamic, 64)
        for (Row q = 0; q < n_queries; ++q) {
            const Row n_rows = offsets[q + 1] - offsets[q], n = std::min(depth, n_rows);
            top.resize(room(n));
            largest_values(values + offsets[q], n_rows, top.data(), n);
            double sum = 0;
            for (Row i = 0; i < n; ++i) sum += discount[i] * top[room(i)];
            out[q] = sum;
        }
    }
}

// Whether each label reaches the threshold, and how many do in each query.
inline void find_relevant(const double* labels, double threshold, const Row* offsets, Row n_queries,
                          bool* relevant, Row* counts) {
    for_each_query(n_queries, evaluation_steps(offsets, n_queries), [=](Row q) {
        Row count = 0;
        for (Row row = offsets[q]; row < offsets[q + 1]; ++row) count += relevant[row] = labels[row] >= threshold;
        counts[q] = count;
    });
}

// The level of each label among the different ones of its query, 0 for the lowest, and the number of pairs of
// documents with different labels. order holds the rows by label, largest first.
inline void label_levels(const double* labels, const Row* order, const Row* offsets, Row n_queries, Row* levels,
                         double* pairs) {
    for_each_query(n_queries, evaluation_steps(offsets, n_queries), [=](Row q) {
        Row level = 0, lower = 0, n_pairs = 0;  // `lower` documents have lower labels
        for (Row i = offsets[q + 1]; i-- > offsets[q];) {
            const Row behind = offsets[q + 1] - 1 - i;
            if (behind > 0 && labels[order[i]] != labels[order[i + 1]]) {
                ++level;
                lower = behind;
            }
            levels[order[i]] = level;
            n_pairs += lower;
        }
        pairs[q] = static_cast<double>(n_pairs);
    });
}

// sum over relevant places i <= depth of (relevant among the first i) / i. The relevant places of a block are
// gathered first: the processor cannot predict them, and a wrong prediction costs more than the sum.
inline void precision_sum(const bool* relevant, const Row* order, const Row* offsets, Row n_queries,
                          Row depth, double* out) {
    for_each_query(n_queries, evaluation_steps(offsets, n_queries), [=](Row q) {
        constexpr Row kBlock = 256;
        const Row first = offsets[q], n = std::min(depth, offsets[q + 1] - first);
        Row places[kBlock];
        double sum = 0;
        Row hits = 0;
        for (Row start = 0; start < n; start += kBlock) {
            Row gathered = 0;
            for (Row i = start; i < std::min(n, start + kBlock); ++i) {
                places[gathered] = i + 1;
                gathered += relevant[order[first + i]];
            }
            for (Row i = 0; i < gathered; ++i) sum += static_cast<double>(++hits) / static_cast<double>(places[i]);
        }
        out[q] = sum;
    });
}

// precision_sum averaged over all orders of documents with equal scores (McSherry and Najork, ECIR 2008): in
// a tied group of m with r relevant, behind s places with h hits, place s + j is relevant with probability
// r / m, and then (j - 1) (r - 1) / (m - 1) of the places before it in the group are.
inline void tied_precision_sum(const bool* relevant, const Row* order, const double* scores, const Row* offsets,
                               Row n_queries, Row depth, double* out) {
    for_each_query(n_queries, 6 * offsets[n_queries], [=](Row q) {
        const Row first = offsets[q], n = offsets[q + 1] - first;
        double sum = 0;
        for (Row start = 0, end = 0, hits = 0; start < std::min(depth, n); start = end) {
            Row r = 0;
            const double score = scores[order[first + start]];
            for (; end < n && scores[order[first + end]] == score; ++end) r += relevant[order[first + end]];
            if (r == 0) continue;
            const auto m = static_cast<double>(end - start), hit = static_cast<double>(r) / m;
            const double others = static_cast<double>(r - 1) / std::max(m - 1, 1.0);
            for (Row j = 0; j < std::min(end, depth) - start; ++j)
                sum += hit * (static_cast<double>(hits + 1) + static_cast<double>(j) * others) /
                       static_cast<double>(start + j + 1);
            hits += r;
        }
        out[q] = sum;
    });
}

// The 1-based place of the first relevant document within depth; 0 if there is none.
inline void first_place(const bool* relevant, const Row* order, const Row* offsets, Row n_queries,
                        Row depth, Row* out) {
    for_each_query(n_queries, evaluation_steps(offsets, n_queries), [=](Row q) {
        const Row first = offsets[q], n = std::min(depth, offsets[q + 1] - first);
        Row i = 0;
        while (i < n && !relevant[order[first + i]]) ++i;
        out[q] = i < n ? i + 1 : 0;
    });
}

// sum_i (1 / i) stop_i prod_{j < i} (1 - stop_j): a user reads down the list and stops with probability stop.
inline void cascade(const double* stop, const Row* order, const Row* offsets, Row n_queries, Row depth,
                    double* out) {
    for_each_query(n_queries, evaluation_steps(offsets, n_queries), [=](Row q) {
        const Row first = offsets[q], n = std::min(depth, offsets[q + 1] - first);
        double sum = 0, reading = 1;
        for (Row i = 0; i < n; ++i) {
            const double s = stop[order[first + i]];
            sum += reading * s / static_cast<double>(i + 1);
            reading *= 1 - s;
        }
        out[q] = sum;
    });
}

inline std::int64_t pairs(Row n) { return n * (n - 1) / 2; }

// Pairs (i < j) with values[i] > values[j], counted while the values are merge-sorted, ascending.
inline std::int64_t count_inversions(double* values, double* spare, Row n) {
    if (n < 2) return 0;
    const Row half = n / 2;
    std::int64_t inversions = count_inversions(values, spare, half) +
                              count_inversions(values + half, spare, n - half);
    Row i = 0, j = half, k = 0;
    while (i < half && j < n) {
        if (values[j] < values[i]) {
            inversions += half - i;
            spare[k++] = values[j++];
        } else {
            spare[k++] = values[i++];
        }
    }
    while (i < half) spare[k++] = values[i++];
    while (j < n) spare[k++] = values[j++];
    std::copy(spare, spare + n, values);
    return inversions;
}

template <class Equal>
std::int64_t tied_pairs(Row n, Equal equal) {
    std::int64_t tied = 0;
    for (Row i = 0, run = 1; i < n; ++i, ++run)
        if (i + 1 == n || !equal(i, i + 1)) tied += pairs(run), run = 0;
    return tied;
}

// Knight's method, O(n log n). Per query: pairs in the same order by both, in opposite order, tied in a
// alone, tied in b alone (the remaining pairs are tied in both).
inline void pair_counts(const double* a, const double* b, const Row* offsets, Row n_queries,
                        std::int64_t* out) {
    for_each_query(n_queries, 100 * offsets[n_queries], [=](Row q) {
        const Row first = offsets[q], n = offsets[q + 1] - first;
        std::vector<std::pair<double, double>> points(static_cast<std::size_t>(n));
        for (Row i = 0; i < n; ++i) points[static_cast<std::size_t>(i)] = {a[first + i], b[first + i]};
        std::sort(points.begin(), points.end());
        const auto* p = points.data();
        const std::int64_t ties_a = tied_pairs(n, [=](Row i, Row j) { return p[i].first == p[j].first; });
        const std::int64_t ties_both = tied_pairs(n, [=](Row i, Row j) { return p[i] == p[j]; });
        std::vector<double> values(static_cast<std::size_t>(n)), spare(static_cast<std::size_t>(n));
        for (Row i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = p[i].second;
        const std::int64_t discordant = count_inversions(values.data(), spare.data(), n);
        const double* v = values.data();
        const std::int64_t ties_b = tied_pairs(n, [=](Row i, Row j) { return v[i] == v[j]; });
        std::int64_t* row = out + 4 * q;
        row[0] = pairs(n) - ties_a - ties_b + ties_both - discordant;
        row[1] = discordant;
        row[2] = ties_a - ties_both;
        row[3] = ties_b - ties_both;
    });
}

// 2^label - 1; whole labels below 53 are computed by a shift, which is exact.
inline void exp2_gain(const double* labels, Row n, double* out) {
#pragma omp parallel for schedule(static) if (is_long(20 * n))
    for (Row i = 0; i < n; ++i) {
        const double y = labels[i];
        const auto whole = static_cast<std::int64_t>(y >= 0 && y < 53 ? y : -1);
        out[i] = whole >= 0 && static_cast<double>(whole) == y
                     ? static_cast<double>((std::int64_t{1} << whole) - 1)
                     : std::exp2(y) - 1;
    }
}

}  // namespace podium
