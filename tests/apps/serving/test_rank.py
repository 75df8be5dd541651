"""Ranking over HTTP: the scores are the ranker's own, to the last bit, whatever form features come in."""

import numpy as np
import pytest

from podium.data import RankingData, scale_by_query
from podium.errors import UsageError
from podium.rankers import MLP, Prepared
from podium.registry import RANKERS
from tests.support.ranking_service import NAMES, error, get, named, post, rows, save, service
from tests.support.small_rankers import BY_QUERY, cheap, small


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    ranker, path = save(tmp_path_factory.mktemp("serving"))
    return ranker, service(path)


def ranked(app, **request):
    response = post(app, "/v1/rank", request)
    assert response.status_code == 200, response.text
    return response.json()


def by_name(X, ids=None):
    documents = [{"features": dict(zip(NAMES, row, strict=True))} for row in X.tolist()]
    for at, document in enumerate(documents):
        if ids is not None:
            document["id"] = ids[at]
    return documents


def check_scores(answer, scores, k=None):
    order = np.argsort(-scores, kind="stable")[:k]
    assert answer["order"] == order.tolist()
    assert answer["scores"] == scores[order].tolist()  # to the last bit, through JSON


@pytest.mark.parametrize("name", sorted(RANKERS))
def test_scores_are_those_of_every_ranker(name, tmp_path):
    data = small()
    ranker = cheap(name).fit(data)
    ranker.save(tmp_path / "model.podium")
    app = service(tmp_path / "model.podium")
    start, stop = data.groups.offsets[2:4]
    X = data.X[start:stop]
    one = RankingData.from_arrays(X, np.zeros(len(X)), qid=np.zeros(len(X), dtype=int))
    check_scores(ranked(app, features=X.tolist()), ranker.predict(one))
    assert name in BY_QUERY or name == "cfbrs" or (ranker.predict(X) == ranker.predict(one)).all()


@pytest.mark.parametrize("k", [None, 1, 3, 5, 100])
def test_a_matrix_is_ranked_and_cut(shop, k):
    ranker, app = shop
    X = rows()
    check_scores(ranked(app, features=X.tolist(), k=k), ranker.predict(X), k)


def test_features_by_name_come_in_any_order(shop):
    ranker, app = shop
    X = rows()
    turned = [{"features": dict(reversed(document["features"].items()))} for document in by_name(X)]
    check_scores(ranked(app, documents=turned), ranker.predict(X))


def test_columns_of_a_matrix_can_be_named(shop):
    ranker, app = shop
    X = rows()
    order = [2, 0, 3, 1]
    answer = ranked(
        app, features=X[:, order].tolist(), feature_names=[NAMES[column] for column in order]
    )
    check_scores(answer, ranker.predict(X))


def test_ids_follow_the_order(shop):
    ranker, app = shop
    X, ids = rows(), list("vwxyz")
    best = np.argsort(-ranker.predict(X), kind="stable")
    for request in ({"features": X.tolist(), "ids": ids}, {"documents": by_name(X, ids)}):
        assert ranked(app, **request)["ids"] == [ids[row] for row in best]


def test_equal_scores_stay_as_they_were_given(shop):
    _, app = shop
    assert ranked(app, features=[[1, 2, 3, 4]] * 4)["order"] == [0, 1, 2, 3]


def test_no_documents_are_a_list_without_any(shop):
    _, app = shop
    for request in ({"features": []}, {"documents": []}):
        answer = ranked(app, explain=True, **request)
        assert (answer["order"], answer["scores"], answer["contributions"]) == ([], [], [])


def test_an_answer_says_what_it_is_an_answer_to(shop):
    _, app = shop
    answer = ranked(app, features=rows(1).tolist(), id="request 7")
    assert answer["id"] == "request 7"
    assert answer["model"] == "shop"
    assert len(answer["version"]) == 12


def test_contributions_are_those_of_the_model(shop):
    ranker, app = shop
    X = rows()
    answer = ranked(app, features=X.tolist(), explain=True, k=2)
    expected = (X * ranker.model_.weights)[answer["order"]]
    assert answer["contributions"] == [
        dict(zip(NAMES, row, strict=True)) for row in expected.tolist()
    ]
    assert len(answer["contributions"]) == 2


@pytest.mark.parametrize("name", ["ranknet", "toprank"])
def test_some_models_do_not_explain(tmp_path, name):
    _, path = save(tmp_path, name, **({"scorer": MLP(hidden=(3,))} if name == "ranknet" else {}))
    app = service(path)
    assert get(app, "/v1/models").json()["models"][0]["explains"] is False
    request = {"features": rows().tolist(), "explain": True}
    error(post(app, "/v1/rank", request), 422, "not_explained")


def test_missing_values_where_the_model_takes_them(tmp_path):
    ranker, path = save(tmp_path, "lambdamart")
    app = service(path)
    X = rows()
    X[2, 1] = np.nan
    given = [[None if value != value else value for value in row] for row in X.tolist()]
    check_scores(ranked(app, features=given), ranker.predict(X))
    assert get(app, "/v1/models").json()["models"][0]["accepts_missing"] is True


# --- models that prepare their features ---


def with_holes(X):
    X = X.copy()
    X[2, 1] = X[0, 3] = np.nan
    return X


def save_prepared(folder, **settings):
    data = named()
    X = with_holes(data.X)
    holes = RankingData.from_arrays(
        X, data.y, qid=data.groups.codes, feature_names=NAMES, missing="nan"
    )
    ranker = Prepared(cheap("ranksvm"), **settings).fit(holes)
    ranker.save(folder / "prepared.podium")
    return ranker, service(folder / "prepared.podium")


@pytest.mark.parametrize("scale", ["zscore", "query-minmax"])
def test_a_prepared_model_takes_raw_features(tmp_path, scale):
    ranker, app = save_prepared(tmp_path, scale=scale, indicators=True)
    X = with_holes(rows())
    one = np.zeros(len(X), dtype=int)
    scores = ranker.predict(X, qid=one)
    given = [[None if value != value else value for value in row] for row in X.tolist()]
    check_scores(ranked(app, features=given), scores)
    by_names = [
        {"features": {n: v for n, v in zip(NAMES, row, strict=True) if v is not None}}
        for row in given
    ]
    assert len(by_names[2]["features"]) == 3
    check_scores(ranked(app, documents=by_names), scores)
    answer = ranked(app, documents=by_names, explain=True, k=2)  # scaled with all documents
    for score, contributions in zip(answer["scores"], answer["contributions"], strict=True):
        assert list(contributions) == list(NAMES)
        assert sum(contributions.values()) == pytest.approx(score)


def test_a_misspelt_feature_is_not_a_missing_one(tmp_path):
    _, app = save_prepared(tmp_path)
    documents = [{"features": {"bm25": 1.0, "prise": 2.0, "clicks": 3.0, "age": 4.0}}]
    told = error(post(app, "/v1/rank", {"documents": documents}), 422, "wrong_features")
    assert (told["missing"], told["extra"]) == (["price"], ["prise"])


def test_models_describe_their_preparation(tmp_path):
    _, app = save_prepared(tmp_path, indicators=True)
    model = get(app, "/v1/models").json()["models"][0]
    assert (model["ranker"], model["kind"], model["n_features"]) == ("ranksvm", "linear", 4)
    assert model["preparation"] == (
        "missing values filled in, indicators of 2 features, scaled (zscore)"
    )
    assert model["accepts_missing"] is True
    assert model["explains"] is True


def test_a_model_without_preparation_says_so(shop):
    assert get(shop[1], "/v1/models").json()["models"][0]["preparation"] is None


def test_log1p_of_minus_1_is_refused(tmp_path):
    _, app = save_prepared(tmp_path, log1p=("age",), clip={"age": (0, None)})
    ranked(app, features=[[1, 2, 3, -5]])
    data = named()
    raw = RankingData.from_arrays(np.abs(data.X), data.y, qid=data.groups.codes)
    Prepared(cheap("ranksvm"), log1p=("f4",)).fit(raw).save(tmp_path / "log.podium")
    told = error(
        post(service(tmp_path / "log.podium"), "/v1/rank", {"features": [[1, 2, 3, -5]]}),
        422, "bad_request",
    )  # fmt: skip
    assert "expected values above -1 for log1p, got -5 in feature 4, row 0" in told["message"]


def test_several_queries_at_once_are_answered_as_one_by_one(shop):
    _, app = shop
    queries = [{"features": rows(n, seed=n).tolist(), "id": str(n)} for n in range(4)]
    response = post(app, "/v1/rank/batch", {"queries": queries})
    assert response.json()["results"] == [ranked(app, **query) for query in queries]


def test_what_is_wrong_with_one_of_several_says_which(shop):
    _, app = shop
    queries = [{"features": rows(2).tolist()}, {"features": [[1.0]]}]
    told = error(post(app, "/v1/rank/batch", {"queries": queries}), 422, "wrong_features")
    assert told["at"] == "queries[1].features[0]"
    assert told["message"].startswith("queries[1]: expected 4 features")


# --- several models ---


@pytest.fixture
def two(tmp_path):
    first, a = save(tmp_path)
    second, b = save(tmp_path, "listnet", "new.podium")
    return first, second, a, b


def test_models_go_by_name_and_version(two):
    first, second, a, b = two
    app = service(a, f"shop@2={b}", f"other={b}")
    X = rows()
    version = get(app, "/v1/models").json()["models"][0]["version"]
    asked = {
        None: first, f"shop@{version}": first, "shop": second, "shop@2": second, "other": second,
    }  # fmt: skip
    for name, ranker in asked.items():
        check_scores(ranked(app, features=X.tolist(), model=name), ranker.predict(X))


def test_models_are_told(two):
    _, _, a, b = two
    app = service(a, f"news@7={b}")
    shop, news = get(app, "/v1/models").json()["models"]
    assert (shop["name"], shop["default"], shop["ranker"]) == ("shop", True, "ranksvm")
    assert (news["name"], news["version"], news["default"]) == ("news", "7", False)
    assert news["feature_names"] == list(NAMES)
    assert news["n_features"] == 4
    assert news["user_classes"] == []
    assert news["scaled"] is None


def test_a_model_of_features_scaled_by_query_is_told(tmp_path):
    _, path = save(tmp_path, data=scale_by_query(named(), "zscore"))
    assert get(service(path), "/v1/models").json()["models"][0]["scaled"] == "zscore"


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        (("a.podium", "x/a.podium"), "each model's name and version once"),
        (("n@1=a", "n@1=b"), "each model's name and version once"),
        (("a b=c.podium",), "a model's name of letters"),
        (("=c.podium",), "a model's name of letters"),
        (("a@=c.podium",), "a model's version of letters"),
    ],
)
def test_names_that_do_not_tell_models_apart_are_refused(texts, what):
    with pytest.raises(UsageError, match=what):
        service(*texts)


def test_an_unknown_model_is_named_with_those_there_are(shop):
    _, app = shop
    told = error(post(app, "/v1/rank", {"features": [], "model": "shoop"}), 404, "unknown_model")
    assert "'shoop'" in told["message"]
    assert [name.partition("@")[0] for name in told["known"]] == ["shop"]


# --- classes of users ---


@pytest.fixture(scope="module")
def personal(tmp_path_factory):
    data = named(n_queries=40)
    ranker = cheap("cfbrs").fit(data, user_class=np.array(["new", "old"] * 20))
    path = tmp_path_factory.mktemp("personal") / "cfbrs.podium"
    ranker.save(path)
    return ranker, service(path)


@pytest.mark.parametrize("user_class", ["new", "old", None])
def test_a_class_of_users_has_scores_of_its_own(personal, user_class):
    ranker, app = personal
    X = rows(8)
    scores = ranker.predict(X, qid=np.zeros(8, dtype=int), user_class=user_class)
    answer = ranked(app, features=X.tolist(), user_class=user_class)
    check_scores(answer, scores)
    assert answer.get("user_class") == user_class


def test_an_unknown_class_is_named_with_those_there_are(personal, shop):
    _, app = personal
    request = {"features": rows().tolist(), "user_class": "nobody"}
    assert error(post(app, "/v1/rank", request), 404, "unknown_class")["known"] == ["new", "old"]
    assert error(post(shop[1], "/v1/rank", request), 404, "unknown_class")["known"] == []


def test_a_class_known_too_badly_is_served_as_all_are(tmp_path):
    data = named(n_queries=40)
    ranker = cheap("cfbrs", max_error=0.0).fit(data, user_class=np.array(["new", "old"] * 20))
    ranker.save(tmp_path / "m.podium")
    X = rows(8)
    answer = ranked(service(tmp_path / "m.podium"), features=X.tolist(), user_class="new")
    check_scores(answer, ranker.predict(X))
    assert "user_class" not in answer


def test_a_class_is_not_explained_with_the_weights_of_all(personal):
    _, app = personal
    request = {"features": rows().tolist(), "user_class": "new", "explain": True}
    error(post(app, "/v1/rank", request), 422, "not_explained")
