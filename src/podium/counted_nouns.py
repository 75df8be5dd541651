"""Counted nouns: a number with its noun, in the singular or the plural."""


def count_text(n: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count_text(1, "query"), count_text(1200, "query"), count_text(0, "pair")
    ('1 query', '1,200 queries', '0 pairs')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


def count_texts(**counts: int) -> str:
    """Return several numbers with their nouns, by noun.

    Examples
    --------
    >>> count_texts(query=1, document=1200)
    '1 query, 1,200 documents'
    """
    return ", ".join(count_text(n, noun.replace("_", " ")) for noun, n in counts.items())
