// Feeds mutated text to the native readers, built with AddressSanitizer and UndefinedBehaviorSanitizer.
// Every text lies in a heap block of exactly its size, so that reading one byte too many is seen.
// Usage: text_fuzz CASES

#include <cstdio>
#include <cstdlib>
#include <random>

#include "../../src/podium/kernels/native/csv.hpp"
#include "../../src/podium/kernels/native/string_hashes.hpp"
#include "../../src/podium/kernels/native/letor.hpp"
#include "../../src/podium/kernels/native/trec.hpp"

using namespace podium;

namespace {

const char* const kCorpus[] = {
    "2 qid:10002 1:0.007477 2:0.000000 3:1.000000 #docid = GX008-86-4444840 inc = 1 prob = 0.086622\n",
    "0 qid:1 1:NULL 7:1e-3 3:.5\n0 qid:1 2:12345678901234567890.5\n1 qid:2\n",
    "# header\n\n1.5e0 qid:q#comment\r\n3 qid:x 1:+1 2:-2 # docid=a\n",
    "q1 0 doc7 2\nq1 0 doc8 -1\nq2 Q0 doc7 1 13.25 tag\n",
    "0 qid:9 8:179769313486231570000000000000000000000e270 1:1e-400 2:00000000000000000000000000000.1\n",
    "1.5,q1,\"a \"\"b\"\", c\",0\r\n-2e3,q2,\"two\nlines\",true\n,q3,,NA\n",
};
const char* const kWords[] = {"NULL", "nan", "-inf", "1e999", "qid:", "999999999999999999999:1",
                              ":",    "#",   "\r\n", "docid =", "1:1 1:1", "e+", ".", "\xff\xfe", "\"", ",", "\"\""};

class Mutator {
  public:
    explicit Mutator(std::uint64_t seed) : random_(seed) {}
    std::size_t below(std::size_t n) { return random_() % n; }

    std::string next() {
        std::string text = kCorpus[below(std::size(kCorpus))];
        for (std::size_t edits = below(6); edits > 0; --edits) edit(text);
        return text;
    }

  private:
    void edit(std::string& text) {
        const std::size_t at = below(text.size() + 1);
        switch (below(6)) {
            case 0: text.insert(at, 1, static_cast<char>(below(256))); break;
            case 1: text.erase(at, 1 + below(4)); break;
            case 2: text.insert(at, kWords[below(std::size(kWords))]); break;
            case 3: text.resize(at); break;
            case 4: text.insert(at, kCorpus[below(std::size(kCorpus))]); break;
            default: if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        }
    }
    std::mt19937_64 random_;
};

template <class T>
void check_letor(const char* begin, const char* end, std::int64_t width, bool null_is_nan) {
    std::vector<T> x(static_cast<std::size_t>(count_lines(begin, end) * width));
    const LetorBlock block = LetorParser<T>(x.data(), width, 50, null_is_nan).parse(begin, end);
    if (block.problem) return;
    const std::size_t rows = block.y.size();
    if (block.comments.offsets.size() != rows + 1 || block.docids.offsets.size() != rows + 1 ||
        block.run_ids.offsets.size() != block.run_starts.size() + 1 ||
        block.lines != count_lines(begin, end))
        std::abort();
}

template <class T>
void check_csv(const char* begin, const char* end, char decimal, bool missing_is_nan) {
    const std::size_t lines = static_cast<std::size_t>(count_lines(begin, end));
    const std::int64_t roles[] = {0, 2, 3, 1};  // a feature, two texts, a number
    std::vector<T> x(lines);
    std::vector<double> numbers(lines);
    const CsvDialect dialect{',', decimal, decimal == '.' ? '\0' : '.', missing_is_nan};
    const CsvBlock block = CsvParser<T>(x.data(), 1, numbers.data(), 1, roles, 4, 2, dialect).parse(begin, end);
    CsvState state = CsvState::kFieldStart;
    if (csv_end(begin, end, ',', state) > end - begin) std::abort();
    if (block.problem) return;
    for (const Packed& text : block.texts)
        if (text.offsets.size() != static_cast<std::size_t>(block.rows) + 1) std::abort();
    if (block.lines > count_lines(begin, end)) std::abort();
}

// The text cut into strings of `width` bytes, many of them hashed together, and a shorter last one; each must
// get the hash that it has alone.
void check_hashes(const char* begin, const char* end, std::int64_t width) {
    const std::int64_t size = end - begin;
    std::vector<std::int64_t> offsets{0};
    while (offsets.back() < size) offsets.push_back(width == 0 ? size : std::min(offsets.back() + width, size));
    const auto strings = static_cast<std::int64_t>(offsets.size()) - 1;
    const auto* bytes = reinterpret_cast<const unsigned char*>(begin);
    std::vector<std::uint64_t> together(static_cast<std::size_t>(strings));
    hash_strings(bytes, offsets.data(), strings, 7, together.data());
    for (std::size_t i = 0; i < together.size(); ++i) {
        std::uint64_t alone;
        hash_strings(bytes, &offsets[i], 1, 7, &alone);
        if (alone != together[i]) std::abort();
    }
}

}  // namespace

int main(int argc, char** argv) {
    const long cases = argc > 1 ? std::atol(argv[1]) : 10000;
    Mutator mutator(20261115);
    for (long i = 0; i < cases; ++i) {
        const std::string text = mutator.next();
        std::vector<char> exact(text.begin(), text.end());
        const char *begin = exact.data(), *end = begin + exact.size();
        const auto width = static_cast<std::int64_t>(mutator.below(9));
        check_letor<double>(begin, end, width, i % 2 == 0);
        check_letor<float>(begin, end, width, i % 2 == 1);
        check_csv<double>(begin, end, '.', i % 2 == 0);
        check_csv<float>(begin, end, ',', i % 2 == 1);
        parse_trec(begin, end, i % 2 == 0 ? 4 : 6);
        check_hashes(begin, end, static_cast<std::int64_t>(mutator.below(20)));
    }
    std::printf("%ld mutated texts read, nothing out of bounds\n", cases);
}
