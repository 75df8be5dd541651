"""A document of the demo's corpus: one public name of the standard library."""

from __future__ import annotations

import re
from dataclasses import dataclass

from podium.experiments.demo_corpus.definitions import DefinitionKind

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class LibraryEntry:
    """One module, class, function, method or property of the standard library.

    Attributes
    ----------
    id:
        The qualified name as a program writes it: ``os.path.join``, ``str.split``.
    title:
        The same in words: ``os path join``, ``collections Ordered Dict``.
    signature:
        ``join(a, *p)``; empty for modules and properties.
    body:
        The docstring, empty where there is none.
    kind:
        module, class, function, method or property.
    """

    id: str
    title: str
    signature: str
    body: str
    kind: DefinitionKind


def title_of(name: str) -> str:
    """Return a qualified name in words.

    Examples
    --------
    >>> title_of("http.server.HTTPServer"), title_of("pathlib.Path.read_text")
    ('http server HTTP Server', 'pathlib Path read text')
    """
    return " ".join(_WORD.findall(name))
