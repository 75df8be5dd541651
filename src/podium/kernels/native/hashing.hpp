// Numbers that depend on content alone: the same document gets the same number wherever it stands.
#pragma once

#include <cstdint>

namespace podium {

// FNV-1a over the bytes, then the finaliser of splitmix64 to spread the bits.
inline std::uint64_t hash_bytes(const unsigned char* begin, const unsigned char* end,
                                std::uint64_t seed) {
    // The seed is spread over all bits: xored as it is, it would only rename first bytes.
    std::uint64_t h = 0xcbf29ce484222325ULL ^ (seed * 0x9e3779b97f4a7c15ULL);
    for (const unsigned char* p = begin; p < end; ++p) h = (h ^ *p) * 0x100000001b3ULL;
    h ^= h >> 30;
    h *= 0xbf58476d1ce4e5b9ULL;
    h ^= h >> 27;
    h *= 0x94d049bb133111ebULL;
    return h ^ (h >> 31);
}

}  // namespace podium
