"""The README and the docs: every example runs as printed, every name is documented."""

import doctest
import importlib
import json
import pkgutil
import re
from pathlib import Path

import pytest

import podium
from benchmarks import choosing
from podium.metrics import METRICS, RULES
from podium.registry import RANKERS
from tools.examples import pages, rerun

ROOT = Path(__file__).resolve().parent.parent
MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(podium.__path__, "podium.")
    if not name.endswith("._native")
]


@pytest.mark.parametrize("page", list(pages()), ids=lambda page: page.name)
def test_examples_print_what_the_page_says(page):
    text = page.read_text()
    assert rerun(text) == text


@pytest.mark.parametrize(
    "room",
    [
        "data", "features", "metrics", "rankers", "ensembles", "multitask", "aggregation",
        "postranking", "judging", "feedback", "experiments", "exchange", "serving",
    ],
)  # fmt: skip
def test_every_room_has_a_page_with_examples(room):
    assert re.search(r"^(>>>|\$) ", (ROOT / f"docs/{room}.md").read_text(), re.MULTILINE)


def test_every_page_is_found():
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    nav = (ROOT / "mkdocs.yml").read_text()
    assert [page for page in pages if f": {page}\n" not in nav] == []
    first, readme = ((ROOT / name).read_text() for name in ("docs/index.md", "README.md"))
    assert [page for page in pages if f"({page})" not in first] == []
    assert [page for page in pages - {"demo-corpus.md"} if f"(docs/{page})" not in readme] == []


def test_choosing_shows_what_was_measured():
    page, kept = choosing.PAGE.read_text(), json.loads(choosing.RESULTS.read_text())
    assert set(kept["alone"]) == set(RANKERS)
    assert choosing.placed(page, kept) == page


@pytest.mark.parametrize("name", ["podium", *MODULES])
def test_docstring_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_readme_begins_with_the_two_commands():
    code = [
        line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("make")
    ]
    assert [line.split()[:2] for line in code[:2]] == [["make", "demo"], ["make", "test"]]


def test_every_rule_and_parameter_is_explained():
    metrics = (ROOT / "docs/metrics.md").read_text()
    parameters = {p for cls in METRICS.values() for p in cls.defaults()}
    assert [p for p in parameters if f"**{p}**" not in metrics] == []
    conventions = (ROOT / "docs/conventions.md").read_text()
    assert [r for r in RULES if f"`{r}`" not in conventions] == []


@pytest.mark.parametrize(
    "room",
    [
        "podium.data",
        "podium.features",
        "podium.metrics",
        "podium.losses",
        "podium.feedback",
        "podium.labelling",
        "podium.exchange",
    ],
)
def test_every_public_name_has_a_docstring(room):
    module = importlib.import_module(room)
    undocumented = [n for n in module.__all__ if not (getattr(module, n).__doc__ or "").strip()]
    assert undocumented == []
