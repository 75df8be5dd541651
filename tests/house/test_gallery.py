"""The gallery and the notebooks of the docs: they run, and their pictures are fresh."""

import ast
import contextlib
import io
import json

import pytest

from tests.support.paths import DOCS
from tools import gallery

EXAMPLES = gallery.examples()
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_a_picture_is_what_its_few_lines_draw(example):
    assert example.n_lines <= 10
    drawing = example.draw()
    assert drawing == example.draw(), "the same example gives the same bytes"
    assert gallery.is_same(drawing, example.path.read_text()), "run python -m tools.gallery --write"


def test_every_block_of_the_gallery_has_a_picture_and_every_picture_a_block():
    page = gallery.PAGE.read_text()
    assert len(EXAMPLES) == page.count("```python") == page.count("![") > 9
    assert {path.stem for path in gallery.FOLDER.iterdir()} == {one.name for one in EXAMPLES}


def test_another_drawing_is_noticed():
    drawing = '<path id="m0123456789" d="M 1.25 2"/>'
    assert gallery.is_same(drawing, '<path id="m9876543210" d="M 1.250001 2"/>')
    assert not gallery.is_same(drawing, '<path id="m0123456789" d="M 2.25 2"/>')
    assert not gallery.is_same(drawing, '<text id="m0123456789" d="M 1.25 2"/>')
    assert not gallery.is_same(drawing, '<path id="m0123456789" d="M 1.25 2 3"/>')


def cells(path, kind="code"):
    notebook = json.loads(path.read_text())
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def run_cell(source, session):
    """Run a cell; return the value of its last line, or None."""
    tree = ast.parse(source)
    value = None
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), session)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), session)
    return value


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_tables_and_pictures(path):
    session, tables, pictures = {"__name__": "__main__"}, 0, 0
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in cells(path):
            value = run_cell("".join(cell["source"]), session)
            # What a notebook asks the last value of a cell for.
            if hasattr(value, "_repr_png_"):
                pictures += value._repr_png_().startswith(b"\x89PNG")
            elif hasattr(value, "_repr_html_"):
                tables += "<t" in value._repr_html_()
    assert tables >= 2
    assert pictures >= 2


def test_the_four_notebooks_are_there_without_outputs():
    names = [path.stem for path in NOTEBOOKS]
    assert names == ["clicks-to-service", "paper-table", "quick-start", "rules"]
    for path in NOTEBOOKS:
        notebook = json.loads(path.read_text())
        assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
        ids = [cell["id"] for cell in notebook["cells"]]
        assert len(ids) == len(set(ids))
        assert all(cell["outputs"] == [] for cell in cells(path))
        assert all(cell["execution_count"] is None for cell in cells(path))
        assert cells(path, "markdown")[0]["source"][0].startswith("# ")
