"""The index of the corpus, for the demo's first stage."""

from __future__ import annotations

from collections.abc import Sequence

from podium.experiments.demo_corpus.library_entry import LibraryEntry
from podium.features import Index, Tokenizer


def library_index(documents: Sequence[LibraryEntry]) -> Index:
    """Return an index of names, signatures and docstrings; identifiers are split into words.

    Examples
    --------
    >>> index = library_index([LibraryEntry("os.path.join", "os path join", "join(a, *p)", "", "function")])
    >>> list(index.search("joining a path").docids)
    ['os.path.join']
    """
    words = Tokenizer(stop_words="english", stemmer="porter", identifiers="split")
    return Index.build([_fields(document) for document in documents], tokenizer=words)


def _fields(document: LibraryEntry) -> dict[str, str]:
    return {
        "id": document.id, "title": document.title, "signature": document.signature,
        "body": document.body,
    }  # fmt: skip
