"""Names that people bring from other tools, and queries that they name by their words."""

import pytest

import podium
from podium.data.query_lookup import query_number
from podium.errors import UnknownNameError, UsageError
from podium.rankers.familiar_parameters import DIFFERENCES, FAMILIAR_PARAMETERS
from podium.registry import FAMILIAR_NAMES, RANKERS
from tests.support.cli import run

SHOP = (
    "search_id,query,product_id,grade,price\n"
    "1,red shoes,a,1,9\n1,red shoes,b,0,2\n2,blue hat,c,0,3\n2,blue hat,d,1,8\n"
)


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.csv").write_text(SHOP)
    run("train", "ranksvm", "shop.csv", "-o", "m.podium")
    return tmp_path


# --- parameters, rankers and rules


@pytest.mark.parametrize(
    ("ranker", "name", "suggestion"),
    [
        ("lambdamart", "n_estimators", "trees"),
        ("lambdamart", "rounds", "trees"),
        ("lambdamart", "num_leaves", "leaves"),
        ("lambdamart", "max_depth", r"leaves \(a tree of depth d has at most 2\^d leaves\)"),
        ("lambdamart", "random_state", "seed"),
        ("rankboost", "n_estimators", "rounds"),
        ("ranksvm", "alpha", r"C \(a larger C is a weaker penalty\)"),
        ("ranksvm", "cost", "C"),
        ("listnet", "lambda", "l2"),
        ("rpc-mtl", "lambda", "lam"),
        ("listnet", "epochs", "max_iter"),
    ],
)
def test_parameters_of_other_tools_lead_to_those_of_podium(ranker, name, suggestion):
    with pytest.raises(TypeError, match=rf"unknown .*'{name}'; did you mean {suggestion}\?$"):
        RANKERS[ranker](**{name: 1})


def test_a_ranker_without_such_a_parameter_lists_those_that_it_has():
    with pytest.raises(TypeError, match=r"'learning_rate'; known: C, eps, max_iter, power, tol$"):
        podium.RankSVM(learning_rate=1)


def test_familiar_names_lead_to_names_that_exist():
    parameters = {name for ranker in RANKERS.values() for name in ranker().get_params(deep=False)}
    assert {name for names in FAMILIAR_PARAMETERS.values() for name in names} <= parameters
    assert {name for _, name in DIFFERENCES} <= parameters
    for suggestion in FAMILIAR_NAMES.values():
        first, _, second = suggestion.removesuffix(" with scorer=mlp").partition(" or ")
        assert first in RANKERS
        assert second in {*RANKERS, ""}
    assert not set(FAMILIAR_NAMES) & set(RANKERS)


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("random_forest", "lambdamart"), ("boost", "rankboost"), ("neural", "ranknet with scorer=mlp"),
     ("LightGBM", "lambdamart"), ("pairwise", "ranknet or ranksvm")],
)  # fmt: skip
def test_rankers_of_other_tools_lead_to_those_of_podium(shop, name, suggestion):
    error = run("train", name, "shop.csv", "-o", "x.podium", code=2).stderr
    assert error == f"podium: unknown ranker '{name}'; did you mean {suggestion}?\n"


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("promote", "top-k"), ("upweight", "boost"), ("demote", "not-top-k"), ("sink", "bury"),
     ("exclude", "hide"), ("limit", "at-most"), ("Pin_to_top", "pin"), ("block", "hide")],
)  # fmt: skip
def test_rules_of_other_tools_lead_to_those_of_podium(shop, name, suggestion):
    (shop / "rules.yaml").write_text(f"version: 1\nrules:\n  - {{rule: {name}, docs: a}}\n")
    output = run("rules", "check", "rules.yaml", code=1).stdout
    assert (
        f"rules.yaml:3: error: unknown rule '{name}'; did you mean {suggestion}? Podium" in output
    )


# --- queries by their text


@pytest.mark.parametrize("query", ["1", "red shoes", "Red  Shoes"])
def test_a_query_is_explained_by_its_id_or_its_text(shop, query):
    output = run("explain", "m.podium", "shop.csv", "--query", query).stdout
    assert output.startswith("query 1, ranksvm")


def test_a_query_is_explained_without_labels(shop):
    (shop / "blank.csv").write_text(SHOP.replace(",0,", ",,").replace(",1,", ",,"))
    output = run("explain", "m.podium", "blank.csv", "--query", "red shoes", "--json").stdout
    assert '"label": null' in output
    assert '"label": 0' not in output


def test_a_text_of_several_queries_is_no_name():
    data = podium.RankingData.from_arrays(
        [[1.0], [2.0], [3.0]], [0, 1, 0], qid=["a", "b", "c"], query_text=["hat", "Hat", "shoe"]
    )
    with pytest.raises(UsageError, match="the text of 2 queries; name one by its id: a, b"):
        query_number(data, "hat")
    assert query_number(data, "SHOE") == 2
    with pytest.raises(UnknownNameError, match="unknown query 'shoes'; did you mean shoe"):
        query_number(data, "shoes")


# --- grades


def test_an_unknown_grade_says_what_to_add(shop):
    (shop / "words.csv").write_text("qid,label,price\n1,good,2\n1,so-so,1\n1,,1\n")
    lines = run("data", "info", "words.csv", "--grades", "good=2", code=1).stderr.splitlines()
    assert lines == [
        "podium: words.csv:3: column 'label': expected one of the grades good=2, got 'so-so'; "
        "add so-so=N to --grades, where N is the number of this grade",
        "podium: words.csv:4: column 'label': expected one of the grades good=2, got an empty field; "
        "every row needs a label: fill it in, or leave the row out; label is only guessed to be the "
        "label, --label names another column",
    ]
    with pytest.raises(podium.errors.DataError, match="add 'so-so': N to grades=, where N is"):
        podium.read_table("words.csv", grades={"good": 2})
