"""The README's limits, the pictures of the docs, and the hooks of the site."""

import json
import re
import struct

import pytest

from tests.support.paths import ROOT
from tools.screenshots import PHONE_WIDTH, PICTURES, WIDTH
from tools.site_hooks import (
    GUIDE_CHARACTERS,
    REFERENCE_CHARACTERS,
    on_page_markdown,
    on_post_build,
)

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PICTURE_BYTES = 150_000


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_picture_is_there_and_says_what_it_shows(page):
    pictures = re.findall(r"!\[(.*?)\]\((.*?)\)", page.read_text())
    assert [path for _, path in pictures if not (page.parent / path).is_file()] == []
    assert [path for text, path in pictures if not text] == []


def test_screenshots_are_of_one_width_and_small():
    pictures = sorted(PICTURES.glob("*.png"))
    assert {"judging", "playground", "report"} <= {path.stem for path in pictures}
    for path in pictures:
        width = PHONE_WIDTH if path.stem.endswith("-phone") else WIDTH
        assert struct.unpack(">I", path.read_bytes()[16:20]) == (width,)
        assert path.stat().st_size < PICTURE_BYTES


def test_the_site_loads_nothing_from_other_hosts():
    style = (ROOT / "docs/style.css").read_text()
    assert re.findall(r"@import|url\(", style) == []


def test_examples_are_highlighted_as_sessions():
    assert on_page_markdown("```python\n>>> 1\n```") == "```pycon\n>>> 1\n```"
    assert on_page_markdown("```python\nx = 1\n```") == "```python\nx = 1\n```"


def test_the_search_index_keeps_words_and_drops_tables(tmp_path):
    index = tmp_path / "search/search_index.json"
    index.parent.mkdir()
    text = "│ ranksvm │ 0.51 │ ±0.02 top-10 of " + "word " * 200
    section = {"location": "a/", "title": "A", "text": text}
    class_section = {"location": "api/r/#r.R", "title": "R", "text": "Bases: ABC A ranker. " + text}
    names = {"location": "api/r/#r.__all__", "title": "__all__", "text": "__all__"}
    index.write_text(json.dumps({"config": {}, "docs": [section, class_section, names]}))
    on_post_build({"site_dir": str(tmp_path)})
    cut = index.read_text()
    assert "ranksvm top-10 of word" in cut
    assert "0.51" not in cut
    first, reference = json.loads(cut)["docs"]
    assert len(first["text"]) == GUIDE_CHARACTERS
    assert reference["text"].startswith("A ranker.")
    assert len(reference["text"]) == REFERENCE_CHARACTERS
