// Place beliefs: loopy belief propagation over the places of documents, and what an answer would tell.
#pragma once

#include <algorithm>
#include <cmath>

#include "vector_width.hpp"

namespace podium {

constexpr double kBeliefFloor = 1e-100;

// Judged pairs, with the likelihoods of their answers if the first or if the second document is better.
struct JudgedPairs {
    const Row *first, *second;
    const double *less, *more;
    Row count;
};

// out = belief / message, with the sum 1.
inline void without(const double* belief, const double* message, Row places, double* out) {
    double sum = 0;
    for (Row x = 0; x < places; ++x) sum += out[x] = belief[x] / message[x];
    const double scale = 1 / sum;
    for (Row x = 0; x < places; ++x) out[x] *= scale;
}

// The probability to be behind each place, and before it; within a place the order is open.
inline void behind_of(const double* belief, Row places, double* out) {
    double tail = 0;
    for (Row x = places - 1; x >= 0; --x) {
        out[x] = tail + 0.5 * belief[x];
        tail += belief[x];
    }
}

inline void before_of(const double* belief, Row places, double* out) {
    double head = 0;
    for (Row x = 0; x < places; ++x) {
        out[x] = head + 0.5 * belief[x];
        head += belief[x];
    }
}

inline void multiply_belief(const double* rest, const double* message, Row places, double* belief) {
    double sum = 0;
    for (Row x = 0; x < places; ++x) sum += belief[x] = rest[x] * message[x];
    const double scale = 1 / sum;
    for (Row x = 0; x < places; ++x) belief[x] = std::max(belief[x] * scale, kBeliefFloor);
}

inline double dot_product(const double* a, const double* b, Row n) {
    Lanes sums(0);
    for (Row first = 0; first < n; first += kLanes)
        for (Row l = 0, m = std::min(kLanes, n - first); l < m; ++l) sums.at[l] += a[first + l] * b[first + l];
    return sums.sum();
}

inline void sweep_places(const JudgedPairs& pairs, Row places, double* beliefs, double* messages, double* better) {
    Doubles one(room(places)), two(room(places)), behind(room(places)), before(room(places));
    for (Row t = 0; t < pairs.count; ++t) {
        double *u = beliefs + pairs.first[t] * places, *v = beliefs + pairs.second[t] * places;
        double *to_u = messages + t * places, *to_v = messages + (pairs.count + t) * places;
        without(u, to_u, places, one.data());
        without(v, to_v, places, two.data());
        behind_of(two.data(), places, behind.data());
        before_of(one.data(), places, before.data());
        const double less = pairs.less[t], more = pairs.more[t], lead = less - more;
        for (Row x = 0; x < places; ++x) {
            to_u[x] = more + lead * behind[room(x)];
            to_v[x] = more + lead * before[room(x)];
        }
        multiply_belief(one.data(), to_u, places, u);
        multiply_belief(two.data(), to_v, places, v);
        const double share = dot_product(one.data(), behind.data(), places);
        better[t] = less * share / (less * share + more * (1 - share));
    }
}

inline double bits(double p) {
    p = std::clamp(p, 1e-12, 1 - 1e-12);
    return -(p * std::log2(p) + (1 - p) * std::log2(1 - p));
}

// The mutual information of an answer and a membership; `surprise` is bits(better).
inline double information(double surprise, double better, double member, double both) {
    member = std::clamp(member, 1e-9, 1 - 1e-9);
    return surprise - member * bits(both / member) - (1 - member) * bits((better - both) / (1 - member));
}

struct Cuts {
    const double *members, *weights;
    Row count;
};

// out[i, j] = sum_x mass[i, x] behind[j, x], from behind with one row per place.
PODIUM_ANY_WIDTH
inline void mass_before(const double* mass, const double* behind, Row n, Row places, double* out) {
    std::fill(out, out + n * n, 0.0);
    for (Row i = 0; i < n; ++i)
        for (Row x = 0; x < places; ++x) {
            const double own = mass[i * places + x];
            const double* row = behind + x * n;
            for (Row j = 0; j < n; ++j) out[i * n + j] += own * row[j];
        }
}

inline void pair_information(const double* beliefs, Row n, Row places, const Cuts& cuts, double errors, double* out) {
    const double trust = 1 - 2 * errors;
    Doubles column(room(places)), behind(room(n * places)), better(room(n * n)), both(room(n * n));
    Doubles mass(room(n * places)), member(room(n));
    for (Row j = 0; j < n; ++j) {
        behind_of(beliefs + j * places, places, column.data());
        for (Row x = 0; x < places; ++x) behind[room(x * n + j)] = column[room(x)];
    }
    mass_before(beliefs, behind.data(), n, places, better.data());
    Doubles surprise(room(n * n));
    for (Row p = 0; p < n * n; ++p) {
        better[room(p)] = errors + trust * better[room(p)];
        surprise[room(p)] = bits(better[room(p)]);
    }
    std::fill(out, out + n * n, 0.0);
    for (Row c = 0; c < cuts.count; ++c) {
        for (Row i = 0; i < n; ++i) {
            member[room(i)] = 0;
            for (Row x = 0; x < places; ++x)
                member[room(i)] += mass[room(i * places + x)] =
                    beliefs[i * places + x] * cuts.members[(c * n + i) * places + x];
        }
        mass_before(mass.data(), behind.data(), n, places, both.data());
        for (Row i = 0; i < n; ++i)
            for (Row j = 0; j < n; ++j) {
                if (i == j) continue;
                const double own = member[room(i)], p = errors * own + trust * both[room(i * n + j)];
                const double gain =
                    cuts.weights[c] * information(surprise[room(i * n + j)], better[room(i * n + j)], own, p);
                out[i * n + j] += gain;
                out[j * n + i] += gain;
            }
    }
}

// The mass of a document before (won) and behind (lost) the other one of its pair.
struct PairMass {
    double won, lost;
};

inline PairMass pair_mass(const double* belief, const double* within, const double* wins, Row places) {
    PairMass mass{0, 0};
    for (Row x = 0; x < places; ++x) {
        const double own = belief[x] * within[x];
        mass.won += own * wins[x];
        mass.lost += own * (1 - wins[x]);
    }
    return mass;
}

inline void judged_pair_information(const double* beliefs, const double* messages, Row n, Row places,
                                    const JudgedPairs& pairs, const Cuts& cuts, double errors, double* out) {
    const double trust = 1 - 2 * errors;
    Doubles one(room(places)), two(room(places)), behind(room(places)), before(room(places));
    for (Row t = 0; t < pairs.count; ++t) {
        const Row u = pairs.first[t], v = pairs.second[t];
        without(beliefs + u * places, messages + t * places, places, one.data());
        without(beliefs + v * places, messages + (pairs.count + t) * places, places, two.data());
        behind_of(two.data(), places, behind.data());
        before_of(one.data(), places, before.data());
        const double share = dot_product(one.data(), behind.data(), places);
        const double less = pairs.less[t], more = pairs.more[t], scale = less * share + more * (1 - share);
        const double better = errors + trust * less * share / scale, surprise = bits(better);
        const auto gained = [&](const PairMass& mass) {
            const double won = less * mass.won / scale, lost = more * mass.lost / scale;
            return information(surprise, better, won + lost, errors * (won + lost) + trust * won);
        };
        out[t] = 0;
        for (Row c = 0; c < cuts.count; ++c) {
            const double* within = cuts.members + c * n * places;
            out[t] += cuts.weights[c] * (gained(pair_mass(one.data(), within + u * places, behind.data(), places)) +
                                         gained(pair_mass(two.data(), within + v * places, before.data(), places)));
        }
    }
}

// counts: the distribution of the number of members up to high, with one more group.
inline void add_group(const double* counts, double member, Row size, Row high, double* out) {
    for (Row c = 0; c <= high; ++c)
        out[c] = counts[c] * (1 - member) + (c >= size ? member * counts[c - size] : 0.0);
}

// The probability that each group is a member, if low to high documents are members.
inline void members_by_count(const double* members, const Row* sizes, Row n, Row low, Row high, double* out) {
    const Row width = high + 1;
    Doubles before(room((n + 1) * width), 0.0), after(room(width), 0.0), next(room(width)), upto(room(width + 1), 0.0);
    before[0] = after[0] = 1;
    for (Row i = 0; i < n; ++i)
        add_group(before.data() + i * width, members[i], sizes[i], high, before.data() + (i + 1) * width);
    double total = 0;
    for (Row c = std::max<Row>(low, 0); c <= high; ++c) total += before[room(n * width + c)];
    if (!(total > 0)) {
        std::copy_n(members, n, out);
        return;
    }
    for (Row i = n - 1; i >= 0; --i) {
        for (Row c = 0; c < width; ++c) upto[room(c + 1)] = upto[room(c)] + after[room(c)];
        double mass = 0;
        for (Row c = 0; c + sizes[i] <= high; ++c) {
            const Row most = high - sizes[i] - c, least = std::max<Row>(low - sizes[i] - c, 0);
            mass += before[room(i * width + c)] * (upto[room(most + 1)] - upto[room(least)]);
        }
        out[i] = std::min(members[i] * mass / total, 1.0);
        add_group(after.data(), members[i], sizes[i], high, next.data());
        after.swap(next);
    }
}

}  // namespace podium
