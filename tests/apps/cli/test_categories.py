"""Categories on the command line: named once in training, known to every later command."""

import json

import pytest

import podium
from tests.support.cli import answer, flat, run

BRANDS = ("Acme", "Bolt", "Zenith")
LINES = [
    f"{q},d{d},{int((q + d) % 3 == 0)},{d},{BRANDS[(q + d) % 3]},{'SML'[d % 3]},{'true' if d else 'False'}"
    for q in range(9)
    for d in range(5)
]
HEADER = "search_id,sku,grade,price,brand,size,fresh"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.csv").write_text("\n".join([HEADER, *LINES]) + "\n")
    return tmp_path


@pytest.fixture
def model(shop):
    run("train", "ranksvm", "shop.csv", "--categories", "brand,size=S:M:L", "-o", "m.podium")
    return "m.podium"


def error_of(*arguments, code=1):
    return run(*arguments, code=code).stderr.strip().splitlines()[-1]


def test_only_training_names_the_categories(shop, model):
    ranker = podium.load(model)
    data = podium.read_table("shop.csv", categories={"brand": "onehot", "size": ["S", "M", "L"]})
    assert answer("predict", model, "shop.csv", "--json")["scores"] == ranker.predict(data).tolist()
    assert ranker.score(data) == 1
    assert "brand" in run("explain", model, "--data", "shop.csv", "--query", "2").stdout
    features = answer("explain", model, "--json")["features"]
    assert features["brand=Acme"] > 0 > features["brand=Bolt"]
    assert "2 categories as 4 features" in flat(run("explain", model).stdout)


def test_words_that_training_did_not_see(shop, model):
    (shop / "new.csv").write_text(f"{HEADER}\n1,x,0,3,Acme,S,true\n1,y,0,3,Unknown,S,true\n")
    scores = answer("predict", model, "new.csv", "--json")["scores"]
    weights = podium.load(model).model_.model.weights
    assert scores[0] - scores[1] == pytest.approx(weights[1])  # price, brand=Acme, ...
    (shop / "new.csv").write_text(f"{HEADER}\n1,x,0,3,Acme,XXL,true\n")
    assert error_of("predict", model, "new.csv") == (
        "podium: new.csv:2: column 'size': expected one of S, M, L, got 'XXL'; "
        "correct the word, or add it to the order of size"
    )


def test_rank_takes_words_and_truth_values(shop, model):
    features = {"price": 1, "brand": "Acme", "size": "L", "fresh": True}
    documents = [{"id": b, "features": {**features, "brand": b}} for b in (*BRANDS, "Unknown")]
    told = json.loads(run("rank", model, input=json.dumps({"documents": documents})).stdout)
    assert told["ids"][0] == "Acme"
    weights = dict(zip(BRANDS, podium.load(model).model_.model.weights[1:4], strict=True))
    scores = dict(zip(told["ids"], told["scores"], strict=True))
    for brand in BRANDS:
        assert scores[brand] - scores["Unknown"] == pytest.approx(weights[brand])


def test_rank_takes_yes_and_no_as_tables_have_them(shop, model):
    words = ("yes", "no", " True", "FALSE", True, False, 1, 0)
    documents = [
        {"id": str(i), "features": {"price": 1, "brand": "Acme", "size": "L", "fresh": word}}
        for i, word in enumerate(words)
    ]
    ranked = json.loads(run("rank", model, input=json.dumps({"documents": documents})).stdout)
    scores = dict(zip(ranked["ids"], ranked["scores"], strict=True))
    assert {scores[str(i)] for i in (0, 2, 4, 6)} == {scores["0"]}
    assert {scores[str(i)] for i in (1, 3, 5, 7)} == {scores["1"]}
    weight = podium.load(model).model_.model.weights[-1]
    assert scores["0"] - scores["1"] == pytest.approx(weight)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": "XXL"}, "expected one of S, M, L as feature 'size', got 'XXL'"),
        (
            {"price": "9.5"},
            "documents[0].features.price: expected a number, yes, no or null as feature 'price', "
            "got the text '9.5'",
        ),
        (
            {"fresh": "maybe"},
            "documents[0].features.fresh: expected a number, yes, no or null as feature 'fresh', got the "
            "text 'maybe'",
        ),
    ],
)
def test_rank_refuses_other_words(shop, model, change, message):
    features = {"price": 1, "brand": "Acme", "size": "L", "fresh": True, **change}
    result = run("rank", model, input=json.dumps({"documents": [{"features": features}]}), code=1)
    error = json.loads(result.stdout)["error"]
    assert (error["code"], error["message"]) == ("wrong_type", message)
    assert error["at"] == f"documents[0].features.{next(iter(change))}"


def test_tune_and_compare(shop):
    (shop / "valid.csv").write_text("\n".join([HEADER, *LINES[:20]]).replace("\n", "\nv") + "\n")
    run("tune", "ranksvm", "shop.csv", "--valid", "valid.csv", "-o", "t.podium", "--grid", "C=1",
        "--categories", "brand")  # fmt: skip
    assert podium.load("t.podium").model_.prepared_names(["price", "brand"])[1] == "brand=Acme"
    told = answer("compare", "shop.csv", "--rankers", "ranksvm", "--fixed", "t.podium", "--folds", 3,
                  "--out", "report", "--categories", "brand", "--no-tune", "--json",
                  "-m", "NDCG@5")  # fmt: skip
    assert not told["failed"]
    assert told["rankers"]["ranksvm"]["NDCG@5"]["mean"] > 0.9
    assert told["rankers"]["t"]["NDCG@5"]["mean"] == 1  # trained on all queries


def test_columns_files_have_categories(shop):
    run("data", "info", "shop.csv", "--categories", "brand,size=S:M:L", "--write-columns", "c.yaml")
    assert "brand: onehot\n  size:\n  - S\n  - M\n  - L\n" in (shop / "c.yaml").read_text()
    run("train", "regression", "shop.csv", "--columns", "c.yaml", "-o", "m.podium")
    assert podium.load("m.podium").model_.encoding is not None
    run("train", "regression", "shop.csv", "--columns", "c.yaml", "--features", "price", "-o",
        "p.podium")  # fmt: skip
    assert podium.load("p.podium").trained_.feature_names == ("price",)


def test_converted_files_say_it_themselves(shop):
    for name in ("shop.parquet", "shop.txt"):
        run("data", "convert", "shop.csv", name, "--categories", "brand,size=S:M:L")
        run("train", "ranksvm", name, "-o", "m.podium", "--force")
        assert podium.load("m.podium").model_.encoding is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size=", "expected --categories such as brand,size=S:M:L"),
        ("size=S::L", "expected --categories such as brand,size=S:M:L"),
        ("brand,,size", "names and commas between them"),
        ("brand,brand", "expected each category once"),
        ("size=S:S", "expected each word of a category once, got 'S' twice"),
        ("brnd", "unknown column 'brnd'; did you mean brand?"),
    ],
)
def test_wrong_options(shop, text, message):
    command = ("train", "ranksvm", "shop.csv", "-o", "m.podium", "--categories", text)
    assert message in error_of(*command, code=2)


def test_words_that_are_left_out_are_told_with_the_option(shop):
    result = run("data", "info", "shop.csv")
    assert "brand left out (no numbers)" in result.stderr
    assert "--categories" in result.stderr
