"""The README and the docs: every example runs as printed, every name is documented."""

import ast
import doctest
import importlib
import inspect
import itertools
import json
import pkgutil
import re

import pytest

import podium
import podium_papers
from benchmarks import choosing
from podium.metrics import METRICS, RULES
from podium.registry import compared_rankers
from tests.support.paths import DOCS, ROOT
from tools.examples import pages, rerun

MODULES = [
    name
    for package in (podium, podium_papers)
    for _, name, _ in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    # tests/connectors/test_pages.py has the examples of connectors, which need other packages.
    if not name.endswith("._native") and not name.startswith("podium.connectors.")
]


# tests/apps/judging/test_docs.py runs the examples of the judging page, and its other commands.
@pytest.mark.parametrize(
    "page", [page for page in pages() if page.name != "judging.md"], ids=lambda page: page.name
)
def test_examples_print_what_the_page_says(page):
    text = page.read_text()
    assert rerun(text) == text


@pytest.mark.parametrize(
    "room",
    [
        "data", "features", "metrics", "rankers", "ensembles", "multitask", "aggregation",
        "postranking", "judging", "feedback", "clicks", "experiments", "exchange", "serving",
    ],
)  # fmt: skip
def test_every_room_has_a_page_with_examples(room):
    assert re.search(r"^(>>>|\$) ", (ROOT / f"docs/{room}.md").read_text(), re.MULTILINE)


def test_every_page_is_found():
    docs = ROOT / "docs"
    pages = {path.name for path in docs.glob("*.md")} - {"index.md"} | {"extending/index.md"}
    nav = (ROOT / "mkdocs.yml").read_text()
    all_pages = {str(path.relative_to(docs)) for path in docs.rglob("*.md")}
    assert [page for page in all_pages if f": {page}\n" not in nav] == []
    first, readme = ((ROOT / name).read_text() for name in ("docs/index.md", "README.md"))
    assert [page for page in pages if f"({page})" not in first] == []
    assert [page for page in pages - {"demo-corpus.md"} if f"(docs/{page})" not in readme] == []


@pytest.mark.parametrize(
    ("part", "group"),
    [
        ("ranker", "rankers"), ("loss", "losses"), ("metric", "metrics"), ("rule", "rules"),
        ("aggregator", "aggregators"), ("strategy", "strategies"), ("exporter", "exporters"),
    ],
)  # fmt: skip
def test_writing_your_own_part_takes_one_short_page(part, group):
    text = (ROOT / f"docs/extending/{part}.md").read_text()
    example = text.split("```python\n")[1].split("```")[0]
    assert len(example.splitlines()) <= 40
    assert f">>> check_{part}(" in example
    assert f'[project.entry-points."podium.{group}"]' in text
    assert f"]({part}.md)" in (ROOT / "docs/extending/index.md").read_text()


def test_choosing_shows_what_was_measured():
    page, kept = choosing.PAGE.read_text(), json.loads(choosing.RESULTS.read_text())
    assert set(kept["alone"]) == set(compared_rankers(with_extras=True))
    assert choosing.insert_table(page, kept) == page


@pytest.mark.parametrize("name", ["podium", *MODULES])
def test_docstring_examples(name):
    runner = doctest.DocTestRunner()
    for docstring in doctest.DocTestFinder().find(importlib.import_module(name)):
        if docstring.examples:  # to run one without examples looks at every file of every traceback
            runner.run(docstring)
    assert runner.failures == 0


def test_the_readme_begins_with_the_two_commands():
    code = [
        line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("make")
    ]
    assert [line.split()[:2] for line in code[:2]] == [["make", "demo"], ["make", "test"]]


def test_only_the_readme_counts_the_tests():
    pages = [*DOCS.rglob("*.md"), ROOT / "CONTRIBUTING.md", ROOT / "README.md"]
    count = re.compile(r"\bruns [\d,]+ tests\b")
    assert [page.name for page in pages if count.search(page.read_text())] == ["README.md"]


def test_every_rule_and_parameter_is_explained():
    metrics = (ROOT / "docs/metrics.md").read_text()
    parameters = {p for cls in METRICS.values() for p in cls.defaults()}
    assert [p for p in parameters if f"**{p}**" not in metrics] == []
    conventions = (ROOT / "docs/conventions.md").read_text()
    assert [r for r in RULES if f"`{r}`" not in conventions] == []


ROOMS = [
    name
    for _, name, is_package in pkgutil.iter_modules(podium.__path__)
    if is_package and name not in ("apps", "kernels")
]


@pytest.fixture(scope="module")
def documented_constants():
    """Names of constants and types that have a docstring below them."""
    return {
        target.id
        for path in (ROOT / "src" / "podium").rglob("*.py")
        for statement, doc in itertools.pairwise(ast.parse(path.read_text()).body)
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        and isinstance(doc, ast.Expr)
        and isinstance(doc.value, ast.Constant)
        for target in getattr(statement, "targets", [getattr(statement, "target", None)])
        if isinstance(target, ast.Name)
    }


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_has_a_docstring(room, documented_constants):
    module = importlib.import_module(f"podium.{room}")
    parts = [name for name in module.__all__ if name not in documented_constants]
    assert [name for name in parts if not getattr(module, name).__doc__] == []
    constants = [name for name in parts if not callable(getattr(module, name))]
    assert [name for name in constants if not inspect.ismodule(getattr(module, name))] == []


@pytest.mark.parametrize("room", [*ROOMS, "kernels"])
def test_every_room_has_a_page_of_reference(room):
    page = f"api/{room}.md"
    assert f"::: podium.{room}" in (DOCS / page).read_text()
    assert f": {page}\n" in (ROOT / "mkdocs.yml").read_text()


@pytest.mark.parametrize("page", sorted(DOCS.glob("api/*.md")), ids=lambda page: page.stem)
def test_a_page_of_reference_begins_with_what_it_is_for(page):
    begin = page.read_text().partition("::: ")[0]
    assert begin.split("\n\n")[1].endswith(".")
    table = "".join(re.findall(r"^\| .* \| (`.*`.*) \|$", begin, re.MULTILINE))
    names = set(re.findall(r"`(\w+)[\w.]*`", table)) - {"fit", "predict", "rank", "podium"}
    room = names and importlib.import_module(f"podium.{page.stem}")
    assert [name for name in names if not hasattr(room, name)] == []


def test_every_file_that_the_architecture_names_is_there():
    text = (DOCS / "architecture.md").read_text()
    names = set(re.findall(r"`([\w./-]+\.(?:py|js|md|hpp))`", text))
    files = [str(path) for path in ROOT.rglob("*.*") if ".venv" not in path.parts]
    assert len(names) > 40
    absent = [name for name in names if not any(file.endswith(f"/{name}") for file in files)]
    assert absent == []
