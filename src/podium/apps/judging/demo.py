"""A small pool of its own: functions of Python's standard library, described by themselves."""

from __future__ import annotations

import html
import importlib
import inspect
import re
from collections import Counter
from math import log

from podium.labelling.assignment import Assignment
from podium.labelling.pools import Pool, PoolDocument, PoolQuery

MODULES = (
    "base64", "bisect", "calendar", "csv", "difflib", "fnmatch", "functools", "glob", "gzip", "hashlib",
    "heapq", "html", "itertools", "json", "math", "os", "os.path", "random", "re", "shutil", "statistics",
    "string", "tempfile", "textwrap", "time", "urllib.parse", "zlib",
)  # fmt: skip

QUERIES = {
    "files": ("copy or move a file", "Functions after which a file is in another place."),
    "text": (
        "split text into lines or words",
        "Functions that take a string apart, or lay it out.",
    ),
    "numbers": (
        "the average of some data",
        "The mean, the median, or whatever is typical of numbers.",
    ),
    "find": ("find files whose name matches a pattern", "Functions that return names or paths."),
}
"""Queries and what is meant by them, by id."""

DEPTH, TOP = 12, 3
"""Documents of a query, and places to be filled."""

_WORD = re.compile(r"[a-z]+")


def demo_pool() -> Pool:
    """Queries about Python's standard library, each with the functions whose docstrings fit best."""
    documents = _documents()
    words = {name: Counter(_stems(f"{name} {text}")) for name, text in documents.items()}
    known = Counter(word for counted in words.values() for word in counted)

    def score(query: str, name: str) -> float:
        length = sum(words[name].values())
        return sum(
            words[name][word]
            * log(len(documents) / known[word])
            / (words[name][word] + length / 20)
            for word in set(_stems(query))
            if words[name][word]
        )

    queries = []
    for query, (text, description) in QUERIES.items():
        said = f"{text} {description}"
        best = sorted(documents, key=lambda name: (-score(said, name), name))[:DEPTH]
        found = tuple(
            PoolDocument(
                name, _markup(name, documents[name]), "html", f"{name}()", score(said, name)
            )
            for name in best
        )
        queries.append(PoolQuery(query, text, description, found))
    return Pool(tuple(queries))


def demo_assignments(assessor: str) -> list[Assignment]:
    """Pairs for all queries but the last, and grades for that."""
    *pairs, last = QUERIES
    return [
        *(Assignment(assessor, query, "preference") for query in pairs),
        Assignment(assessor, last, "grade"),
    ]


def _documents() -> dict[str, str]:
    """The beginning of the docstring of each public function, by the function's name."""
    found: dict[str, str] = {}
    for module in MODULES:
        source = importlib.import_module(module)
        for name in getattr(source, "__all__", None) or dir(source):
            function = getattr(source, name, None)
            if name.startswith("_") or not inspect.isroutine(function):
                continue
            text = inspect.getdoc(function) or ""
            # Names that modules have from others are those modules' own; one text stands once.
            own = getattr(function, "__module__", module) or module
            is_own = own.lstrip("_") in (module, "posix", "posixpath", "genericpath")
            if is_own and len(text) >= 20 and text not in found.values():
                found[f"{module}.{name}"] = text[:600]
    return found


def _markup(name: str, text: str) -> str:
    """The first paragraph as such, the rest as it stands."""
    first, _, rest = text.partition("\n\n")
    shown = f"<p>{html.escape(' '.join(first.split()))}</p>"
    return shown + (f"<pre>{html.escape(rest.rstrip())}</pre>" if rest.strip() else "")


def _stems(text: str) -> list[str]:
    """Words without the endings that a plural or a verb has."""
    words = _WORD.findall(text.lower())
    return [re.sub(r"(ing|es|s|ed)$", "", word) for word in words if len(word) > 2]
