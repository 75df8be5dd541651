"""Pages and docstrings of connectors: every example prints what it says."""

import doctest
import pkgutil

import pytest

from podium import connectors
from tools.examples import CONNECTORS, rerun

MODULES = [name for _, name, _ in pkgutil.iter_modules(connectors.__path__)]


@pytest.mark.parametrize("page", sorted(CONNECTORS.glob("*.md")), ids=lambda page: page.stem)
@pytest.mark.filterwarnings("default")  # other packages use what their own dependencies give up
def test_examples_print_what_the_page_says(page):
    text = page.read_text()
    assert rerun(text) == text


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.filterwarnings("default")
def test_examples_of_docstrings_print_what_they_say(name, load):
    module = load(f"podium.connectors.{name}")
    tried = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert tried.attempted > 0
    assert tried.failed == 0
