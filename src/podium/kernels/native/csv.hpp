// CSV text (RFC 4180): fields between separators, quoted if they contain separators, quotes or line ends.
#pragma once

#include <cmath>
#include <limits>
#include <utility>

#include "lines.hpp"
#include "decimal_numbers.hpp"

namespace podium {

struct CsvBlock {
    std::vector<Packed> texts;  // one for each column of text
    std::int64_t rows = 0;
    std::int64_t lines = 0;
    std::int64_t column = -1;  // the column of the problem
    Problem problem;
};

// How numbers are written, and what an empty field means.
struct CsvDialect {
    char separator, decimal, thousands;  // thousands 0: none
    bool missing_is_nan;
};

// The state of the reader between two bytes. A quote opens a field only at its start; in quotes, two quotes in a
// row mean one.
enum class CsvState : int { kFieldStart, kPlain, kQuoted, kQuoteClosed };

// Continues from a state. Returns the number of bytes up to the end of the last whole record (0 if no record ends
// here) and the state after the last byte. A line end in quotes does not end a record.
inline std::int64_t csv_end(const char* begin, const char* end, char separator, CsvState& state) {
    const char* last = begin;
    const std::size_t size = static_cast<std::size_t>(end - begin);
    if (size > 0 && state != CsvState::kQuoted && !std::memchr(begin, '"', size)) {
        for (last = end; last > begin && last[-1] != '\n';) --last;
        const bool at_start = end[-1] == '\n' || end[-1] == separator;
        state = at_start ? CsvState::kFieldStart : CsvState::kPlain;
        return last - begin;
    }
    for (const char* p = begin; p < end; ++p) {
        if (state == CsvState::kQuoted) {
            if (*p == '"') state = CsvState::kQuoteClosed;
        } else if (*p == '"' && state != CsvState::kPlain) {
            state = CsvState::kQuoted;
        } else if (*p == '\n' || *p == separator) {
            if (*p == '\n') last = p + 1;
            state = CsvState::kFieldStart;
        } else {
            state = CsvState::kPlain;
        }
    }
    return last - begin;
}

inline bool is_missing_word(const char* begin, const char* end) {
    return begin == end || same_word(begin, end, "na") || same_word(begin, end, "n/a") ||
           same_word(begin, end, "nan") || same_word(begin, end, "null") || same_word(begin, end, "none");
}

// Fills x and numbers, one row per record, and packs the texts. roles[c] says what column c is. Below 0 it is
// ignored. From 0 on, the numbers count the columns of x, then those of numbers, then the texts.
template <class T>
class CsvParser {
  public:
    CsvParser(T* x, std::int64_t n_features, double* numbers, std::int64_t n_numbers,
              const std::int64_t* roles, std::int64_t n_columns, std::int64_t n_texts, CsvDialect dialect)
        : x_(x), n_features_(n_features), numbers_(numbers), n_numbers_(n_numbers), roles_(roles),
          n_columns_(n_columns), dialect_(dialect),
          plain_(dialect.decimal == '.' && dialect.thousands == 0) {
        block_.texts.resize(static_cast<std::size_t>(n_texts));
    }

    CsvBlock parse(const char* begin, const char* end) {
        for (const char* p = begin; p < end;) {
            const char* q = p;
            while (q < end && *q == '\r') ++q;
            if (q == end) break;
            if (*q == '\n') {  // a blank line
                p = q + 1;
                ++block_.lines;
                continue;
            }
            if (!parse_record(p, end)) {
                block_.lines = block_.problem.line;
                break;
            }
            ++block_.rows;
        }
        return std::move(block_);
    }

  private:
    // The contents of a field: in the text, or in a buffer if the field has doubled quotes.
    struct Field {
        const char *begin = nullptr, *end = nullptr;
    };

    bool fail(const char* kind, std::string expected, const char* begin, const char* end) {
        block_.problem = {kind, std::move(expected), begin == end ? "" : excerpt(begin, end), block_.lines};
        return false;
    }

    bool parse_record(const char*& p, const char* end) {
        const std::int64_t n_values = n_features_ + n_numbers_;
        T* const x = x_ + block_.rows * n_features_;
        double* const numbers = numbers_ + block_.rows * n_numbers_;
        for (std::int64_t column = 0;; ++column) {
            block_.column = column;
            if (column == n_columns_) return fail_width("more");
            const std::int64_t role = roles_[column];
            if (role >= 0 && role < n_values) {
                double value = 0;
                const bool is_feature = role < n_features_;
                if (!parse_value(p, end, is_feature, value)) return false;
                if (is_feature) x[role] = static_cast<T>(value);
                else numbers[role - n_features_] = value;
            } else {
                Field field;
                if (!next_field(p, end, field)) return false;
                if (role >= n_values)
                    block_.texts[static_cast<std::size_t>(role - n_values)].append(field.begin, field.end);
            }
            if (p < end && *p == dialect_.separator) {
                ++p;
                continue;
            }
            if (column + 1 < n_columns_) return fail_width(std::to_string(column + 1));
            block_.column = -1;
            if (p < end) ++p;
            ++block_.lines;  // a last line needs no newline
            return true;
        }
    }

    bool fail_width(std::string got) {
        block_.problem = {"columns", std::to_string(n_columns_), std::move(got), block_.lines};
        return false;
    }

    bool ends_field(const char* p, const char* end) const {
        if (p < end && *p == '\r' && (p + 1 == end || p[1] == '\n')) return true;
        return p == end || *p == dialect_.separator || *p == '\n';
    }

    // Most fields are plain numbers, which are read without a search for the end of the field.
    bool parse_value(const char*& p, const char* end, bool is_feature, double& value) {
        if (plain_) {
            const char* q = p;
            while (q < end && *q == ' ') ++q;
            const Number number = parse_number(q, end, value);
            while (q < end && *q == ' ') ++q;
            if (number != Number::kNone && ends_field(q, end) &&
                (number == Number::kShort || is_finite(value, is_feature))) {
                if (q < end && *q == '\r') ++q;
                p = q;
                return true;
            }
        }
        const std::int64_t line = block_.lines;
        Field field;
        if (!next_field(p, end, field)) return false;
        if (convert(field, is_feature, value)) return true;
        block_.problem.line = line;
        return false;
    }

    bool is_finite(double value, bool is_feature) const {
        return is_feature ? std::isfinite(static_cast<T>(value)) : std::isfinite(value);
    }

    bool convert(Field field, bool is_feature, double& value) {
        while (field.begin < field.end && *field.begin == ' ') ++field.begin;
        while (field.begin < field.end && field.end[-1] == ' ') --field.end;
        if (is_missing_word(field.begin, field.end)) {
            value = std::numeric_limits<double>::quiet_NaN();
            return dialect_.missing_is_nan || fail("missing", "a number", field.begin, field.end);
        }
        const Field digits = plain_ ? field : plain_digits(field);
        const char* p = digits.begin;
        if (parse_number(p, digits.end, value) != Number::kNone && p == digits.end)
            return is_finite(value, is_feature) ||
                   fail("nonfinite", "a finite number", field.begin, field.end);
        if (is_nonfinite_word(field.begin, field.end))
            return fail("nonfinite", "a finite number", field.begin, field.end);
        for (const char* word : {"true", "yes"})
            if (same_word(field.begin, field.end, word)) return value = 1, true;
        for (const char* word : {"false", "no"})
            if (same_word(field.begin, field.end, word)) return value = 0, true;
        return fail("malformed", "a number", field.begin, field.end);
    }

    // The number with a decimal point and without thousands separators; any other point makes it invalid,
    // and so does a separator that is not before three digits.
    Field plain_digits(Field field) {
        digits_.clear();
        const char* grouped = dialect_.thousands ? end_of_groups(field) : field.begin;
        for (const char* p = field.begin; p < field.end; ++p) {
            if (dialect_.thousands && *p == dialect_.thousands) {
                if (p >= grouped) digits_ += '?';
            } else if (*p == dialect_.decimal) digits_ += '.';
            else digits_ += *p == '.' ? '?' : *p;
        }
        return {digits_.data(), digits_.data() + digits_.size()};
    }

    static bool is_digit(char c) { return c >= '0' && c <= '9'; }

    // Behind one to three digits, the first not 0, and groups of a separator and three digits.
    const char* end_of_groups(Field field) const {
        const char* p = field.begin;
        if (p < field.end && (*p == '+' || *p == '-')) ++p;
        const char* first = p;
        while (p < field.end && is_digit(*p)) ++p;
        if (p == first || p - first > 3 || *first == '0') return field.begin;
        while (field.end - p >= 4 && *p == dialect_.thousands && is_digit(p[1]) && is_digit(p[2]) &&
               is_digit(p[3]) && !(field.end - p > 4 && is_digit(p[4])))
            p += 4;
        return p;
    }

    // Moves p to the separator or line end behind the field.
    bool next_field(const char*& p, const char* end, Field& field) {
        if (p < end && *p == '"') return next_quoted(p, end, field);
        field.begin = p;
        while (p < end && *p != dialect_.separator && *p != '\n') ++p;
        field.end = p;
        if ((p == end || *p == '\n') && field.end > field.begin && field.end[-1] == '\r') --field.end;
        return true;
    }

    bool next_quoted(const char*& p, const char* end, Field& field) {
        const char* open = p++;
        const std::int64_t line = block_.lines;
        bool doubled = false;
        field.begin = p;
        for (;; ++p) {
            if (p == end) {
                block_.lines = line;
                return fail("malformed", "a closing quote", open, end);
            }
            if (*p == '\n') ++block_.lines;
            if (*p != '"') continue;
            if (p + 1 == end || p[1] != '"') break;
            doubled = true;
            ++p;
        }
        field.end = p++;
        if (doubled) unescape(field);
        if (p < end && *p == '\r' && ends_field(p, end)) ++p;
        if (ends_field(p, end)) return true;
        block_.lines = line;
        return fail("malformed", "a separator after the closing quote", open, p);
    }

    void unescape(Field& field) {
        unescaped_.clear();
        for (const char* p = field.begin; p < field.end; ++p) {
            unescaped_ += *p;
            if (*p == '"') ++p;  // the second of two
        }
        field = {unescaped_.data(), unescaped_.data() + unescaped_.size()};
    }

    T* x_;
    std::int64_t n_features_;
    double* numbers_;
    std::int64_t n_numbers_;
    const std::int64_t* roles_;
    std::int64_t n_columns_;
    CsvDialect dialect_;
    bool plain_;
    std::string digits_, unescaped_;
    CsvBlock block_;
};

}  // namespace podium
