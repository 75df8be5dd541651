"""Advice on the command line: near names, examples, endings, words that a model does not know."""

import pytest

from podium.errors import UnknownNameError
from podium.metrics import parse
from tests.support.cli import run

SHOP = "qid,label,brand,price\n" + "".join(
    f"{i // 4},{i % 3},{'Acme' if i % 2 else 'Lumo'},{i % 7}\n" for i in range(40)
)


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.csv").write_text(SHOP)
    return tmp_path


@pytest.mark.parametrize(
    ("source", "ending"),
    [("shop.csv", "csv"), ("shop.tsv", "tsv"), ("shop.parquet", "parquet"), ("shop.txt", "txt")],
)  # fmt: skip
def test_parts_of_a_table_are_tables(shop, source, ending):
    if source != "shop.csv":
        run("data", "convert", "shop.csv", source)
    run("data", "split", source, "parts", "--fractions", "0.5,0.5")
    assert sorted(path.name for path in (shop / "parts").iterdir()) == [
        f"test.{ending}", f"train.{ending}",
    ]  # fmt: skip


def test_a_missing_model_has_a_near_name(shop):
    run("train", "regression", "shop.csv", "-o", "shop.podium")
    told = run("serve", "shp.podium", code=1).stderr
    assert "shp.podium: No such file or directory; Did you mean shop.podium?" in told


def test_compare_without_rankers_shows_an_example(shop):
    told = " ".join(
        run("compare", "shop.csv", "--out", "o", code=2).stderr.replace("│", " ").split()
    )
    assert "'--rankers'. As in: podium compare MQ2008 --rankers ranksvm,listnet" in told


@pytest.mark.parametrize("name", ["ndcg_at_10", "ndcg_10", "NDCG10"])
def test_a_cutoff_in_another_form(name):
    with pytest.raises(UnknownNameError, match="did you mean NDCG@10"):
        parse(name)


def test_far_names_are_not_suggested():
    told = str(UnknownNameError("column", "session", ["free_shipping", "price"]))
    assert "did you mean" not in told
    assert "free_shipping, price" in told


def test_words_that_the_model_does_not_know_are_counted(shop):
    run("train", "regression", "shop.csv", "--categories", "brand", "-o", "shop.podium")
    (shop / "new.csv").write_text(SHOP.replace("Lumo", "NewCo"))
    told = run("predict", "shop.podium", "new.csv", "-o", "new.scores").stderr
    assert (
        "brand: 20 of 40 documents have a word that was not in the training data, such as 'NewCo'"
        in told
    )
    assert "training data" not in run("predict", "shop.podium", "shop.csv", "-o", "s.scores").stderr
