// LETOR / SVMlight text: `label qid:token id:value ... # comment`, one document per line.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "lines.hpp"
#include "decimal_numbers.hpp"

namespace podium {

struct LetorBlock {
    std::vector<double> y;
    std::vector<std::int64_t> run_starts;  // the row at which each run of one query begins
    Packed run_ids;
    Packed comments;
    Packed docids;
    std::int64_t max_id = 0;
    std::int64_t lines = 0;
    Problem problem;
};

// The document id: from `docid = TOKEN` anywhere in the comment, else the comment if it is a single token.
inline void append_docid(Packed& docids, const char* begin, const char* end) {
    const char* last = end;
    while (last > begin && is_space(last[-1])) --last;
    const char* first = skip_spaces(begin, last);
    for (const char* p = first; p < last; p = skip_spaces(token_end(p, last), last)) {
        if (last - p < 6 || std::memcmp(p, "docid", 5) != 0) continue;
        const char* q = skip_spaces(p + 5, last);
        if (q == last || *q != '=') continue;
        q = skip_spaces(q + 1, last);
        return docids.append(q, token_end(q, last));
    }
    if (first < last && token_end(first, last) == last) return docids.append(first, last);
    docids.append(first, first);
}

// Fills x (one row per line of the text, width columns). Features beyond the width are read but not kept. If
// max_id > width, the caller must call again with a wider x.
template <class T>
class LetorParser {
  public:
    LetorParser(T* x, std::int64_t width, std::int64_t max_feature, bool null_is_nan)
        : x_(x), width_(width), max_feature_(max_feature), null_is_nan_(null_is_nan),
          seen_(static_cast<std::size_t>(width), -1) {}

    LetorBlock parse(const char* begin, const char* end) {
        for (const char* p = begin; p < end; ++block_.lines) {
            const char* stop = line_end(p, end);
            if (!parse_line(p, stop)) break;
            p = stop + 1;
        }
        return std::move(block_);
    }

  private:
    bool fail(const char* kind, std::string expected, const char* got, const char* stop) {
        block_.problem = {kind, std::move(expected), excerpt(got, stop), block_.lines};
        return false;
    }

    bool parse_line(const char* p, const char* stop) {
        p = skip_spaces(p, stop);
        if (p == stop || *p == '#') return true;
        const void* hash = std::memchr(p, '#', static_cast<std::size_t>(stop - p));
        const char* body_end = hash ? static_cast<const char*>(hash) : stop;
        if (!parse_label(p, body_end) || !parse_qid(p, body_end) || !parse_features(p, body_end))
            return false;
        keep_comment(hash ? body_end + 1 : stop, stop);
        return true;
    }

    bool parse_label(const char*& p, const char* end) {
        const char* token = p;
        double label = 0;
        if (parse_number(p, end, label) == Number::kNone || (p < end && !is_space(*p))) {
            const char* stop = token_end(token, end);
            if (is_nonfinite_word(token, stop))
                return fail("nonfinite", "a finite label", token, stop);
            return fail("malformed", "a label (a number) at the start of the line", token, stop);
        }
        if (!std::isfinite(label)) return fail("nonfinite", "a finite label", token, p);
        if (label < 0) return fail("negative", "a label of 0 or more", token, p);
        block_.y.push_back(label);
        return true;
    }

    bool parse_qid(const char*& p, const char* end) {
        const char* token = skip_spaces(p, end);
        p = token_end(token, end);
        if (p - token <= 4 || std::memcmp(token, "qid:", 4) != 0)
            return fail("malformed", "qid:<query id> after the label", token, p);
        const char* id = token + 4;
        if (p - id != last_qid_.second - last_qid_.first ||
            std::memcmp(id, last_qid_.first, static_cast<std::size_t>(p - id)) != 0) {
            block_.run_starts.push_back(static_cast<std::int64_t>(block_.y.size()) - 1);
            block_.run_ids.append(id, p);
            last_qid_ = {id, p};
        }
        return true;
    }

    bool parse_features(const char* p, const char* end) {
        const std::int64_t row = static_cast<std::int64_t>(block_.y.size()) - 1;
        const std::int64_t width = width_, max_feature = max_feature_;
        std::int64_t* const seen = seen_.data();
        T* const x = x_ + row * width;
        std::fill(x, x + width, T(0));
        std::int64_t max_id = block_.max_id;
        for (p = skip_spaces(p, end); p < end; p = skip_spaces(p, end)) {
            const char* token = p;
            std::int64_t id = 0;
            for (; p < end && is_digit(*p); ++p)
                if (id <= max_feature) id = id * 10 + (*p - '0');
            if (p == token || p == end || *p != ':')
                return fail("malformed", "a feature as <id>:<value>", token, token_end(token, end));
            if (id < 1 || id > max_feature)
                return fail("feature-id", "a feature id from 1 to " + std::to_string(max_feature),
                            token, token_end(token, end));
            const char* text = ++p;
            double value = 0;
            const Number number = parse_number(p, end, value);
            if (number == Number::kNone || (p < end && !is_space(*p)) ||
                (number == Number::kLong && !std::isfinite(static_cast<T>(value)))) {
                p = token_end(text, end);
                if (!null_is_nan_ || !same_text(text, p, "NULL")) return fail_value(token, text, p);
                value = std::numeric_limits<double>::quiet_NaN();
            }
            if (id > max_id) block_.max_id = max_id = id;
            if (id > width) continue;  // the caller asks again with a wider x
            if (seen[id - 1] == row)
                return fail("duplicate", "each feature id once per line", token, p);
            seen[id - 1] = row;
            x[id - 1] = static_cast<T>(value);
        }
        return true;
    }

    bool fail_value(const char* token, const char* text, const char* end) {
        double value = 0;
        const char* p = text;
        if (same_text(text, end, "NULL")) return fail("null", "a number", token, end);
        if ((parse_number(p, end, value) != Number::kNone && p == end) || is_nonfinite_word(text, end))
            return fail("nonfinite", "a finite feature value", token, end);
        return fail("malformed", "a number as the feature's value", token, end);
    }

    void keep_comment(const char* begin, const char* end) {
        while (end > begin && end[-1] == '\r') --end;
        block_.comments.append(begin, end);
        append_docid(block_.docids, begin, end);
    }

    T* x_;
    std::int64_t width_, max_feature_;
    bool null_is_nan_;
    std::vector<std::int64_t> seen_;  // the last row that has each feature
    std::pair<const char*, const char*> last_qid_{nullptr, nullptr};
    LetorBlock block_;
};

}  // namespace podium
