"""The example folder examples/shop: the commands of its README, and what they promise."""

import importlib
import json
import re
import runpy
import shutil
import sys

import pytest

import podium
from tests.support import cli, postgres
from tests.support.paths import ROOT
from tests.support.ranking_service import eventually, running

SHOP = ROOT / "examples" / "shop"
README = (SHOP / "README.md").read_text()
COMMANDS = [
    line for block in re.findall(r"^```sh\n(.*?)^```$", README, re.M | re.S) for line in block.split("\n")
]  # fmt: skip
MODULES = ("engine", "engine_postgres", "features", "search")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of the folder, in which scripts run and find one another."""
    copy = tmp_path / "shop"
    shutil.copytree(SHOP, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(copy)
    monkeypatch.syspath_prepend(str(copy))
    yield copy
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture(params=["tantivy", "postgresql"])
def engine(request, folder, monkeypatch):
    """The folder with one of its two engines."""
    if request.param == "postgresql":
        server, name = map(request.getfixturevalue, ("postgres_server", "postgres_database"))
        postgres.empty(server, name)
        monkeypatch.setenv("SHOP_DATABASE", server.format(name=name))
        shutil.copy("engine_postgres.py", "engine.py")
    return folder


def run_lines(lines, capsys, monkeypatch):
    """Run lines of the README; return what the last one printed."""
    printed = ""
    for line in lines:
        program, *words = line.split()
        if program == "python":
            monkeypatch.setattr(sys, "argv", words)
            runpy.run_path(words[0], run_name="__main__")
            printed = capsys.readouterr().out
        elif program == "podium":
            printed = cli.run(*words).output
        else:
            assert program in ("pip", "mv"), line
            if program == "mv":
                shutil.move(*words)
    return printed


def listed(printed):
    """Title and price of each product of a printed list."""
    rows = re.findall(r"^ *\d+  (.+?) +([\d.]+)  rated", printed, re.M)
    return [(title, float(price)) for title, price in rows]


def test_the_commands_of_the_readme_index_rank_and_learn(engine, capsys, monkeypatch):
    serve = next(n for n, line in enumerate(COMMANDS) if line.startswith("podium serve"))
    run_lines([line for line in COMMANDS[:serve] if line], capsys, monkeypatch)
    after = [line.replace("600", "250") for line in COMMANDS[serve + 1 :] if line]
    words = COMMANDS[serve].removesuffix(" &").split()[2:]
    with running(*words, "--reload-seconds", "0.1") as (_, address):
        monkeypatch.setenv("SHOP_SERVICE", address)
        printed = listed(run_lines(after[:1], capsys, monkeypatch))
        before = list_of_one_session("tent")
        old = podium.load("shop.podium")
        run_lines(after[1:], capsys, monkeypatch)
        later = eventually(lambda: (new := list_of_one_session("tent")) != before and new)
    in_stock = {p["title"] for p in products(engine) if p["stock"]}
    assert len(printed) == len(before) == len(later) == 10
    assert {title for title, _ in printed + before + later} <= in_stock  # rule 1
    assert any(title.startswith("Acme tent") for title, _ in before[:3])  # rule 2
    assert price_share(podium.load("shop.podium")) > 2 * price_share(old)
    assert discounted(later) < discounted(before), (before, later)


def list_of_one_session(query):
    """Title and price of each product of a list; one session sees the same swaps every time."""
    _, products_of_list = importlib.import_module("search").search(query, session="one")
    return [
        (product["fields"]["title"], product["fields"]["price"]) for product in products_of_list
    ]


def discounted(rows):
    """The prices of a list, those of the first places counted most."""
    return sum(price / place for place, (_, price) in enumerate(rows, start=1))


def products(folder):
    return [json.loads(line) for line in (folder / "products.jsonl").read_text().splitlines()]


def price_share(ranker):
    """How much the price counts, of all weights."""
    weights = podium.explain(ranker)
    return -weights["price"] / sum(map(abs, weights.values()))


def test_engines_retrieve_the_same_products(
    folder, capsys, monkeypatch, postgres_server, postgres_database
):
    run_lines(["python make_data.py", "python index.py"], capsys, monkeypatch)
    monkeypatch.setenv("SHOP_DATABASE", postgres_server.format(name=postgres_database))
    postgres.empty(postgres_server, postgres_database)
    engine, other = (importlib.import_module(name) for name in MODULES[:2])
    other.build_index(products(folder))
    assert other.FEATURES == engine.FEATURES
    for query in ("acme tent", "warm jackets", "wind or rain", "100% dry & 'quoted' | (words"):
        one, two = (
            {hit["id"]: hit for hit in module.retrieve(query, size=500)}
            for module in (engine, other)
        )
        assert set(one) == set(two)
        for doc, hit in one.items():
            assert hit["fields"] == two[doc]["fields"]
            for name, score in hit["features"].items():
                assert (score > 0) == (two[doc]["features"][name] > 0)
    best = {hit["features"]["title_score"] for hit in other.retrieve("acme tent", size=3)}
    assert len(best) == 1
    assert other.retrieve("nothing has this word") == other.retrieve("") == []


def test_features_are_the_scores_of_each_field(folder, capsys, monkeypatch):
    run_lines(["python make_data.py", "python index.py"], capsys, monkeypatch)
    from engine import FEATURES, retrieve

    hits = retrieve("acme tent", size=500)
    assert all(tuple(hit["features"]) == FEATURES for hit in hits)
    by_title = {hit["id"]: hit["features"]["title_score"] for hit in hits}
    by_title_alone = [hit["id"] for hit in retrieve("title:acme title:tent", size=500)]
    assert {doc for doc, score in by_title.items() if score > 0} == set(by_title_alone)
    words = {hit["id"]: hit["fields"]["title"].lower().split()[:2] for hit in hits}
    best = max(by_title.values())
    assert {d for d, s in by_title.items() if s == best} == {
        d for d, w in words.items() if w == ["acme", "tent"]
    }
    assert retrieve("nothing has this word") == []
