"""The README and the docs: every example runs as printed, every name is documented."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import podium
from podium.metrics import METRICS, RULES
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
