// Writes RankingData as LETOR text, every number as the shortest text that reads back the same.
#pragma once

#include <string_view>

#include "lines.hpp"
#include "decimal_numbers.hpp"

namespace podium {

inline void append(std::vector<char>& out, std::string_view text) {
    out.insert(out.end(), text.begin(), text.end());
}

template <class T>
void append_number(std::vector<char>& out, T value) {
    char digits[64];
    out.insert(out.end(), digits, format_number(value, digits, digits + sizeof digits));
}

// Rows [first, last) of x (width columns). There is one qid per query and one tail per row: the
// text after the features, with its "#", or nothing.
template <class T>
std::vector<char> format_letor(const T* x, std::int64_t width, const double* y,
                               const std::int64_t* offsets, std::int64_t first_query,
                               std::int64_t last_query, const char* qid_bytes,
                               const std::int64_t* qid_offsets, const char* tail_bytes,
                               const std::int64_t* tail_offsets) {
    std::vector<char> out;
    for (std::int64_t q = first_query; q < last_query; ++q) {
        std::string_view qid(qid_bytes + qid_offsets[q],
                             static_cast<std::size_t>(qid_offsets[q + 1] - qid_offsets[q]));
        for (std::int64_t row = offsets[q]; row < offsets[q + 1]; ++row) {
            append_number(out, y[row]);
            append(out, " qid:");
            append(out, qid);
            for (std::int64_t j = 0; j < width; ++j) {
                out.push_back(' ');
                append_number(out, j + 1);
                out.push_back(':');
                T value = x[row * width + j];
                if (std::isnan(value)) append(out, "NULL");
                else append_number(out, value);
            }
            if (tail_offsets[row + 1] > tail_offsets[row]) {
                out.push_back(' ');
                out.insert(out.end(), tail_bytes + tail_offsets[row],
                           tail_bytes + tail_offsets[row + 1]);
            }
            out.push_back('\n');
        }
    }
    return out;
}

}  // namespace podium
