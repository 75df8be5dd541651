// Text in white-space separated columns: TREC qrels (4 columns) and runs (6 columns).
#pragma once

#include <cmath>

#include "lines.hpp"
#include "decimal_numbers.hpp"

namespace podium {

// The lines of qrels or a run, reduced to query, document and number (label or score).
struct TrecBlock {
    std::vector<std::int64_t> run_starts;  // the row at which each run of one query begins
    Packed run_ids, docids;
    std::vector<double> values;
    std::int64_t lines = 0;
    Problem problem;

    bool is_last_query(const char* begin, const char* end) const {
        const std::size_t n = run_ids.offsets.size();
        return n > 1 && same_text(begin, end, {run_ids.bytes.data() + run_ids.offsets[n - 2],
                                               run_ids.bytes.data() + run_ids.offsets[n - 1]});
    }
};

// Columns of a line: query, ignored, document, then (n_columns = 4) the number, or (n_columns = 6) a rank,
// the number and a tag.
inline TrecBlock parse_trec(const char* begin, const char* end, int n_columns) {
    TrecBlock block;
    const int value_column = n_columns == 4 ? 3 : 4;
    const std::string expected = n_columns == 4 ? "4 columns: query 0 document label"
                                                : "6 columns: query Q0 document rank score tag";
    for (const char* p = begin; p < end; ++block.lines) {
        const char* stop = line_end(p, end);
        const char *starts[6], *ends[6];
        int n = 0;
        const char* q = skip_spaces(p, stop);
        for (; q < stop && n < n_columns; q = skip_spaces(ends[n++], stop)) {
            starts[n] = q;
            ends[n] = token_end(q, stop);
        }
        if (n > 0) {
            const char* last = stop;
            while (last > p && is_space(last[-1])) --last;
            if (n < n_columns || q < stop) {
                block.problem = {"malformed", expected, excerpt(skip_spaces(p, stop), last),
                                 block.lines};
                return block;
            }
            const char* number = starts[value_column];
            double value = 0;
            bool ok = parse_number(number, ends[value_column], value) != Number::kNone &&
                      number == ends[value_column];
            if (!ok || !std::isfinite(value)) {
                bool finite = ok ? false : !is_nonfinite_word(starts[value_column], ends[value_column]);
                block.problem = {finite ? "malformed" : "nonfinite",
                                 n_columns == 4 ? "a finite label" : "a finite score",
                                 excerpt(starts[value_column], ends[value_column]), block.lines};
                return block;
            }
            if (!block.is_last_query(starts[0], ends[0])) {
                block.run_starts.push_back(static_cast<std::int64_t>(block.values.size()));
                block.run_ids.append(starts[0], ends[0]);
            }
            block.docids.append(starts[2], ends[2]);
            block.values.push_back(value);
        }
        p = stop + 1;
    }
    return block;
}

}  // namespace podium
