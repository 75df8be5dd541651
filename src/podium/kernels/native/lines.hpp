// Lines of text: tokens, packed strings, and the first problem of a reader.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace podium {

// Strings packed end to end: string i is bytes[offsets[i] .. offsets[i + 1]).
struct Packed {
    std::vector<char> bytes;
    std::vector<std::int64_t> offsets{0};
    void append(const char* begin, const char* end) {
        bytes.insert(bytes.end(), begin, end);
        offsets.push_back(static_cast<std::int64_t>(bytes.size()));
    }
};

// The first line that could not be read; `kind` is empty if there is no problem.
struct Problem {
    std::string kind, expected, got;
    std::int64_t line = 0;
    explicit operator bool() const { return !kind.empty(); }
};

inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

inline const char* skip_spaces(const char* p, const char* end) {
    while (p < end && is_space(*p)) ++p;
    return p;
}

inline const char* token_end(const char* p, const char* end) {
    while (p < end && !is_space(*p)) ++p;
    return p;
}

inline const char* line_end(const char* p, const char* end) {
    const void* newline = std::memchr(p, '\n', static_cast<std::size_t>(end - p));
    return newline ? static_cast<const char*>(newline) : end;
}

// A last line needs no newline.
inline std::int64_t count_lines(const char* begin, const char* end) {
    std::int64_t lines = begin < end && end[-1] != '\n';
    while (begin < end) {  // counts up to 255 fit a byte, so the compiler can count many bytes at once
        const char* stop = end - begin > 255 ? begin + 255 : end;
        std::uint8_t found = 0;
        for (; begin < stop; ++begin) found = static_cast<std::uint8_t>(found + (*begin == '\n'));
        lines += found;
    }
    return lines;
}

// At most 40 bytes of the unexpected text.
inline std::string excerpt(const char* begin, const char* end) {
    if (begin >= end) return "the end of the line";
    std::string token(begin, end - begin > 40 ? begin + 40 : end);
    return end - begin > 40 ? token + "..." : token;
}

inline bool same_text(const char* begin, const char* end, std::string_view text) {
    return std::string_view(begin, static_cast<std::size_t>(end - begin)) == text;
}

// Compares letters in either case.
inline bool same_word(const char* begin, const char* end, std::string_view word) {
    if (static_cast<std::size_t>(end - begin) != word.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i)
        if ((begin[i] | 0x20) != word[i]) return false;
    return true;
}

// Accepts nan, inf and infinity, signed or not: valid numbers elsewhere, but errors here.
inline bool is_nonfinite_word(const char* begin, const char* end) {
    if (begin < end && (*begin == '+' || *begin == '-')) ++begin;
    return same_word(begin, end, "nan") || same_word(begin, end, "inf") ||
           same_word(begin, end, "infinity");
}

}  // namespace podium
