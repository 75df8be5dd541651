"""Labels that are words: which ones a table has, and the numbers that podium proposes for them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable

from podium.data.columns import Columns
from podium.data.csv_text import CsvHead, holds_numbers, read_csv
from podium.data.number_parsing import decimal_of
from podium.errors import DataError, MalformedLineError

GRADE_SCALES: tuple[tuple[str, ...], ...] = (
    ("terrible", "bad", "poor", "fair", "ok", "good", "very good", "excellent", "perfect"),
    (
        "irrelevant", "not relevant", "non-relevant", "marginally relevant", "somewhat relevant",
        "partially relevant", "fairly relevant", "relevant", "highly relevant", "very relevant",
        "perfectly relevant",
    ),
    ("irrelevant", "complement", "substitute", "exact"),
    ("i", "c", "s", "e"),
    ("no", "maybe", "yes"),
    ("low", "medium", "high"),
)  # fmt: skip
"""Words for grades that people use, from the worst to the best."""
MAX_GRADE_WORDS = 20
"""A column with more different words is no column of grades."""


def order_grades(words: Iterable[str]) -> tuple[list[str], bool]:
    """Return words from the worst to the best, and whether a usual scale has them.

    If no scale has all of them, they keep their order.

    Examples
    --------
    >>> order_grades(["Good", "Bad", "Perfect"])
    (['Bad', 'Good', 'Perfect'], True)
    >>> order_grades(["gold", "tin"])
    (['gold', 'tin'], False)
    """
    listed = list(words)
    for scale in GRADE_SCALES:
        places = {word: i for i, word in enumerate(scale)}
        if all(word.strip().lower() in places for word in listed):
            return sorted(listed, key=lambda word: places[word.strip().lower()]), True
    return listed, False


def word_grades_error(counts: Counter[str], column: str, path: str | None) -> DataError:
    """Return the error for a column of labels that are words; `counts` has their numbers of rows.

    Examples
    --------
    >>> error = word_grades_error(Counter(["Good", "Bad", "Good"]), "grade", "shop.csv")
    >>> print(error.on_command_line().replace("; ", ";\\n"))
    shop.csv: column 'grade': expected numbers as labels, got 2 words: Bad (1), Good (2);
    say what each is worth: --grades Bad=0,Good=1
    """
    if len(counts) > MAX_GRADE_WORDS:
        return DataError(
            f"expected numbers as labels, got {len(counts):,} different words, such as "
            f"{next(iter(counts))!r:.80}",
            path=path, column=column,
        ).advise(
            python="name the column of labels with label=",
            command_line="name the column of labels with --label",
        )  # fmt: skip
    words, is_known = order_grades(counts)
    listed = ", ".join(f"{word:.80} ({counts[word]:,})" for word in words)
    numbers = {word: place for place, word in enumerate(words)}
    option = shlex.quote(",".join(f"{word}={place}" for word, place in numbers.items()))
    task = "say what each is worth"
    order = "" if is_known else " (the order is that of the file: correct the numbers)"
    return MalformedLineError(
        f"expected numbers as labels, got {len(words)} word{'s' * (len(words) != 1)}: {listed}",
        path=path, column=column,
    ).advise(
        python=f"{task}: grades={numbers!r}{order}", command_line=f"{task}: --grades {option}{order}"
    )  # fmt: skip


def find_word_grades(path: str, head: CsvHead, columns: Columns) -> DataError | None:
    """Return the error for a CSV file whose labels are all words, or None.

    `columns` says what each column is.
    """
    label = columns.label
    if label is None or columns.grades or holds_numbers(head, label):
        return None
    others = tuple(name for name in head.names if name not in (columns.query, label))
    as_text = Columns(
        query=columns.query, text=(label,), features=(), ignore=others, separator=columns.separator
    )
    try:
        texts = read_csv(path, as_text, labelled=False).texts[label]
    except DataError:  # another problem of the file, which has an error of its own
        return None
    counts = Counter(word for word in texts if word)
    if any(decimal_of(word) is not None for word in counts):  # words among numbers have lines
        return None
    return word_grades_error(counts, label, path)
