// Feeds mutated text to the native readers, built with AddressSanitizer and UndefinedBehaviorSanitizer.
// Every text lies in a heap block of exactly its size, so that reading one byte too many is seen.
// Usage: letor_fuzz CASES

#include <cstdio>
#include <cstdlib>
#include <random>

#include "../../src/podium/kernels/native/hashing.hpp"
#include "../../src/podium/kernels/native/letor.hpp"
#include "../../src/podium/kernels/native/table.hpp"

using namespace podium;

namespace {

const char* const kCorpus[] = {
    "2 qid:10002 1:0.007477 2:0.000000 3:1.000000 #docid = GX008-86-4444840 inc = 1 prob = 0.086622\n",
    "0 qid:1 1:NULL 7:1e-3 3:.5\n0 qid:1 2:12345678901234567890.5\n1 qid:2\n",
    "# header\n\n1.5e0 qid:q#comment\r\n3 qid:x 1:+1 2:-2 # docid=a\n",
    "q1 0 doc7 2\nq1 0 doc8 -1\nq2 Q0 doc7 1 13.25 tag\n",
    "0 qid:9 8:179769313486231570000000000000000000000e270 1:1e-400 2:00000000000000000000000000000.1\n",
};
const char* const kWords[] = {"NULL", "nan", "-inf", "1e999", "qid:", "999999999999999999999:1",
                              ":",    "#",   "\r\n", "docid =", "1:1 1:1", "e+", ".", "\xff\xfe"};

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
        parse_table(begin, end, i % 2 == 0 ? 4 : 6);
        hash_bytes(reinterpret_cast<const unsigned char*>(begin),
                   reinterpret_cast<const unsigned char*>(end), 0);
    }
    std::printf("%ld mutated texts read, nothing out of bounds\n", cases);
}
