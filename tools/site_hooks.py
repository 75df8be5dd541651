"""Hooks of mkdocs: examples highlighted as sessions, and a small index, so that search answers at once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

GUIDE_CHARACTERS = 500
"""The characters of a section that are searched: its first words find it."""

REFERENCE_CHARACTERS = 120
"""The same for the generated pages, which have a section for each name: the title and one line find it."""

GENERATED_PAGES = ("api/", "benchmarks/", "cli/", "licences/", "results/")

WITHOUT_WORDS = re.compile(r"[\u2500-\u259f]+|(?<![\w.-])[\d.,%+±-]+(?![\w.])")
"""Drawn lines and bare numbers."""

SIGNATURE = re.compile(r"^(?:Bases: \w+ |\w+ \(.*?\) > .*? (?=[A-Z])|\w+ : .*? (?=[A-Z][a-z]))")
"""The base, arguments and types before the first sentence of a name's section."""

OPTION = re.compile(r"--([a-z][a-z0-9-]+)")
"""The names of the options of a command."""

MEMBER = re.compile(r"#[\w.]+\.[A-Z]\w*\.\w+$")
"""The address of a method or an attribute, which its title finds."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Name the language of examples with >>>: a session, not a program.

    Examples
    --------
    >>> on_page_markdown("```python\\n>>> 1\\n```")
    '```pycon\\n>>> 1\\n```'
    """
    return markdown.replace("```python\n>>> ", "```pycon\n>>> ")


def on_post_build(config: Any) -> None:
    """Cut the index that was written: short sections, no names that nobody looks for."""
    path = Path(config["site_dir"]) / "search/search_index.json"
    index = json.loads(path.read_text())
    index["docs"] = [shorten(section) for section in index["docs"] if is_searched(section)]
    path.write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")))


def is_searched(section: dict[str, str]) -> bool:
    """Whether a section is in the index: not an ``__all__``, and not a whole page of the reference.

    Examples
    --------
    >>> is_searched({"location": "api/data/#podium.data.__all__", "title": "__all__", "text": ""})
    False
    >>> is_searched({"location": "api/data/", "title": "Data", "text": "Data"})
    False
    """
    location = section["location"]
    is_whole_page = location.startswith("api/") and "#" not in location
    return not is_whole_page and section["title"] != "__all__"


def shorten(section: dict[str, str]) -> dict[str, str]:
    """Return a section with the first words of its text.

    Examples
    --------
    >>> shorten({"title": "Which one?", "text": "│ ranksvm │ 0.51 │ the first", "location": "a/#b"})
    {'title': 'Which one?', 'text': 'ranksvm the first', 'location': 'a/#b'}
    >>> shorten({"title": "fit", "text": "fit ( X ) Train.", "location": "api/a/#p.Ranker.fit"})
    {'title': 'fit', 'text': '', 'location': 'api/a/#p.Ranker.fit'}
    """
    words = " ".join(WITHOUT_WORDS.sub(" ", section["text"]).split())
    if not section["location"].startswith(GENERATED_PAGES):
        return section | {"text": words[:GUIDE_CHARACTERS]}
    if MEMBER.search(section["location"]):
        return section | {"text": ""}
    options = OPTION.findall(words) if section["location"].startswith("cli/") else []
    return section | {
        "text": " ".join([SIGNATURE.sub("", words)[:REFERENCE_CHARACTERS], *dict.fromkeys(options)])
    }
