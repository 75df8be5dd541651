"""Words without their endings, so that "wings" finds "wing"."""

from __future__ import annotations

from collections.abc import Callable, Mapping


def keep(word: str) -> str:
    """The word as it is."""
    return word


def s_stem(word: str) -> str:
    """Plural to singular, nothing else.

    D. Harman, "How effective is suffixing?", JASIS 42 (1991): of the rules ``-ies -> -y`` (not after
    a, e), ``-es -> -e`` (not after a, e, o) and ``-s ->`` (not after s, u) the first that applies.

    Examples
    --------
    >>> [s_stem(word) for word in ("queries", "wings", "shoes", "gas", "analysis", "gases", "bus")]
    ['query', 'wing', 'shoe', 'gas', 'analysi', 'gase', 'bus']
    """
    if len(word) < 4 or not word.endswith("s"):
        return word
    if word.endswith("ies") and word[-4] not in "ae":
        return word[:-3] + "y"
    if word.endswith("es") and word[-3] not in "aeo":
        return word[:-1]
    return word if word[-2] in "su" else word[:-1]


def porter_stem(word: str) -> str:
    """Suffixes stripped in five steps.

    M. F. Porter, "An algorithm for suffix stripping", Program 14 (1980), as printed there; words of
    one or two letters stay. What is left need not be a word.

    Examples
    --------
    >>> [porter_stem(word) for word in ("generalizations", "hopping", "relational", "sky", "flies")]
    ['gener', 'hop', 'relat', 'sky', 'fli']
    """
    if len(word) < 3:
        return word
    for step in (_plurals, _past, _final_y, _step_2, _step_3, _step_4, _final_e, _final_l):
        word = step(word)
    return word


STEMMERS: dict[str, Callable[[str], str]] = {"none": keep, "s": s_stem, "porter": porter_stem}
"""Stemmers by name."""

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate",
    "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous",
    "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_STEP_3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_STEP_4 = dict.fromkeys(
    [
        "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
        "ism", "ate", "iti", "ous", "ive", "ize",
    ],
    "",
)  # fmt: skip


def _shape(word: str) -> str:
    """c for each consonant, v for each vowel; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(stem: str) -> int:
    """m of [C](VC)^m[V]: how often a consonant follows a vowel."""
    return _shape(stem).count("vc")


def _is_doubled(word: str) -> bool:
    """*d: ends in a double consonant."""
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _is_short(word: str) -> bool:
    """*o: ends consonant, vowel, consonant, the last not w, x or y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _plurals(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        stem = word.removesuffix(ending)
        if stem != word:
            return _mended(stem) if "v" in _shape(stem) else word
    return word


def _mended(stem: str) -> str:
    """What -ed and -ing leave behind: hop(p), siz(e), fil(e)."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _is_doubled(stem) and stem[-1] not in "lsz":
        return stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _is_short(stem) else stem


def _final_y(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and "v" in _shape(word[:-1]) else word


def _longest(word: str, endings: Mapping[str, str]) -> tuple[str, str] | None:
    """The stem before the longest of these endings, and the ending."""
    for start in range(max(0, len(word) - 7), len(word) - 1):
        if word[start:] in endings:
            return word[:start], word[start:]
    return None


def _step_2(word: str) -> str:
    found = _longest(word, _STEP_2)
    return found[0] + _STEP_2[found[1]] if found and _measure(found[0]) > 0 else word


def _step_3(word: str) -> str:
    found = _longest(word, _STEP_3)
    return found[0] + _STEP_3[found[1]] if found and _measure(found[0]) > 0 else word


def _step_4(word: str) -> str:
    found = _longest(word, _STEP_4)
    if found is None or _measure(found[0]) < 2:
        return word
    stem, ending = found
    return word if ending == "ion" and not stem.endswith(("s", "t")) else stem


def _final_e(word: str) -> str:
    if not word.endswith("e"):
        return word
    m, stem = _measure(word[:-1]), word[:-1]
    return stem if m > 1 or (m == 1 and not _is_short(stem)) else word


def _final_l(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
