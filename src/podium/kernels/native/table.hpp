// Text in white-space separated columns: TREC qrels (4 columns) and runs (6 columns).
#pragma once

#include <cmath>

#include "lines.hpp"
#include "number.hpp"

namespace podium {

// One qrels or run line, reduced to what matters: query, document, number (label or score).
struct TableBlock {
    Packed qids, docids;
    std::vector<double> values;
    std::int64_t lines = 0;
    Problem problem;
};

// Columns of a line: query, ignored, document, then (n_columns = 4) the number, or (n_columns = 6) a rank,
// the number and a tag.
inline TableBlock parse_table(const char* begin, const char* end, int n_columns) {
    TableBlock block;
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
            block.qids.append(starts[0], ends[0]);
            block.docids.append(starts[2], ends[2]);
            block.values.push_back(value);
        }
        p = stop + 1;
    }
    return block;
}

}  // namespace podium
