"""Exports: every ranker times every target scores the same there, or is refused with a reason."""

import dataclasses
import json
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PowerTransformer, RobustScaler, StandardScaler

import podium
from podium.data import RankingData, make_synthetic, scale_by_query
from podium.ensemble import CFBRS, TopRank
from podium.errors import (
    CannotExpressError,
    MissingExtraError,
    ModelFileError,
    UnknownNameError,
    UsageError,
)
from podium.exchange import (
    EMULATORS,
    EXPORTERS,
    MinMax,
    Standard,
    emulate,
    export_model,
    fit_normalizers,
    normalize,
)
from podium.exchange.emulators.elasticsearch import score_elasticsearch, score_opensearch
from podium.exchange.exporters.solr_thresholds import solr_power, solr_thresholds
from podium.exchange.lightgbm_text import forest_from_model
from podium.rankers import MLP, LambdaMART, ListNet, Prepared, RankBoost, RankSVM
from podium.rankers.float32 import (
    LARGEST_FLOAT32,
    floor32,
    largest_argument,
    largest_rounding_to,
    next_above32,
)
from podium.rankers.forest import DEFAULT_LEFT, MISSING_NAN, MISSING_ZERO, Forest, Tree
from podium.rankers.forest_text import model_from_forest, write_forest
from podium.rankers.imported_ranker import ImportedRanker
from podium.registry import RANKERS, load
from tests.support.export_targets import TARGETS
from tests.support.generated_trees import trees
from tests.support.small_rankers import cheap, small
from tests.support.thresholds import assert_same, form_of, hard_rows, thresholds

DATA = small(20, n_features=4, seed=5)
ENGINES = [name for name in TARGETS if name != "json"]


def runtime_scores(exported, X):
    """What onnxruntime says."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(exported.content, options)
    return session.run(["score"], {"features": X.astype(np.float32)})[0][:, 0]


def scores_of_nan(exported, X):
    """The scores where NaN reaches the trees, which Elasticsearch's own features never are."""
    if exported.target == "elasticsearch":
        return score_elasticsearch(exported.content, exported.features, X, missing="node")
    return emulate(exported, X)


def refusal(model, target, **options):
    """Why the target does not take the model; nothing if it does."""
    try:
        export_model(model, target, **options)
    except CannotExpressError as error:
        return str(error)
    return ""


def check(model, target, predict, X, form, **options):
    """The engine's scores are podium's."""
    exported = export_model(model, target, **options)
    expected = predict(X.astype(np.float64))
    assert_same(form, np.nan_to_num(X), expected, scores_of_nan(exported, X))
    if target == "onnx":
        assert_same(form, np.nan_to_num(X), expected, runtime_scores(exported, X))
    return exported


@pytest.fixture(scope="module")
def fitted():
    made = {}

    def get(name, **parameters):
        key = name, repr(parameters)
        if key not in made:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made[key] = cheap(name, **parameters).fit(DATA)
        return made[key]

    return get


# --- every ranker times every target ---


def test_every_target_has_an_emulator():
    assert set(EMULATORS) == set(EXPORTERS)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", sorted(RANKERS))
def test_every_ranker_scores_the_same_or_is_refused(name, target, fitted):
    ranker = fitted(name)
    if reason := refusal(ranker, target):
        assert name in (
            "toprank",
            "rpc-mtl",
        )  # no other has settings here that engines cannot express
        assert "nearest: " in reason
        return
    form = form_of(ranker)
    check(ranker, target, ranker.predict, hard_rows(form, 4), form)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
def test_networks(activation, target, fitted):
    scorer = MLP(hidden=(7, 3), activation=activation, epochs=4, batch_queries=4)
    ranker = fitted("listnet", scorer=scorer)
    if target in ("elasticsearch", "opensearch", "vespa"):
        with pytest.raises(CannotExpressError, match=r"network.*onnx"):
            export_model(ranker, target)
        return
    form = form_of(ranker)
    check(ranker, target, ranker.predict, hard_rows(form, 4), form)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("base", ["rankboost", "lambdamart"])
def test_blocks_of_trees_that_add_up(base, target, fitted):
    ranker = fitted("cfbrs", base=cheap(base), min_block=2)
    form = form_of(ranker)
    assert isinstance(form, Forest)
    check(ranker, target, ranker.predict, hard_rows(form, 4), form)


@pytest.mark.parametrize("target", TARGETS)
def test_stumps_of_focused_boost(target, fitted):
    ranker = fitted("focused-boost", weak="threshold")
    form = form_of(ranker)
    check(ranker, target, ranker.predict, hard_rows(form, 4), form)


# --- what cannot be expressed ---


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"normalise": "zscore"}, "normalised within each query"),
        ({"combine": "borda"}, "ranked within each query"),
        ({"combine": "kemeny"}, "ranked within each query"),
        ({"base": ListNet(scorer=MLP(hidden=(2,), epochs=1))}, "blocks of cfbrs are networks"),
    ],
)
@pytest.mark.parametrize("target", TARGETS)
def test_ensembles_that_need_the_whole_list_are_refused(settings, reason, target, fitted):
    with pytest.raises(CannotExpressError, match=rf"{reason}.*nearest: "):
        export_model(fitted("cfbrs", **settings), target)


def test_a_vote_is_refused_and_its_members_are_not(fitted):
    ranker = fitted("toprank")
    with pytest.raises(CannotExpressError, match=r"vote \(borda\).*nearest: .*member='ranksvm'"):
        export_model(ranker, "solr")
    for member in ranker.model_.members:
        form = form_of(ranker, member=member.name)
        X = hard_rows(form, 4)
        exported = check(ranker, "solr", member.model.predict, X, form, member=member.name)
        assert exported.name == member.name
    with pytest.raises(UnknownNameError, match="unknown member 'nobody'"):
        export_model(ranker, "solr", member="nobody")
    with pytest.raises(UsageError, match="member= is for toprank"):
        export_model(fitted("ranksvm"), "solr", member="ranksvm")


def test_degrees_are_refused_and_one_degree_is_not(fitted):
    assert "degrees" in refusal(fitted("rpc-mtl"), "solr")
    data = make_synthetic(n_queries=20, n_features=3, seed=0)
    assert refusal(RANKERS["rpc-mtl"](n_clusters=1).fit(data), "solr") == ""


def test_an_unknown_kind_of_model_is_refused(fitted):
    class Degrees(type(fitted("ranksvm").model_).__mro__[1]):
        kind = "degrees"

    Degrees.__abstractmethods__ = frozenset()
    with pytest.raises(CannotExpressError, match=r"a degrees model of imported .*nearest: "):
        export_model(_with(Degrees()), "solr")


def _with(model):
    made = ImportedRanker.from_model(RankSVM().fit(DATA).model_, "a test")
    made.model_ = model
    return made


@pytest.mark.parametrize("name", ["minmax", "zscore"])
def test_scaling_by_query_is_refused(name, fitted):
    with pytest.raises(
        CannotExpressError, match=rf"by query \({name}\).*nearest: .*fit_normalizers"
    ):
        export_model(fitted("ranksvm"), "solr", normalizers=name)


@pytest.mark.parametrize("name", ["minmax", "zscore"])
def test_a_model_knows_that_its_features_were_scaled_by_query(name, tmp_path):
    scaled = scale_by_query(DATA, name)
    path = tmp_path / "m.podium"
    ranker, model_names = RankSVM().fit(scaled.subset(range(10))), DATA.names()
    ranker.save(path)
    for model in (ranker, podium.load(path)):
        assert model.trained_.scaled == name
        for to in ("elasticsearch", "opensearch", "solr", "vespa"):
            with pytest.raises(CannotExpressError, match=rf"by query \({name}\).*nearest: "):
                export_model(model, to)
        for to in ("onnx", "json"):
            made = export_model(model, to)
            assert b"scaled_by_query" in (made.content if to == "onnx" else made.content.encode())
            with pytest.raises(CannotExpressError, match=rf"by query \({name}\)"):
                export_model(model, to, normalizers={model_names[0]: Standard(0.0, 2.0)})
            assert any(f"each query first ({name})" in note for note in made.notes)
            np.testing.assert_allclose(
                emulate(made, scaled.X), model.predict(scaled), rtol=1e-5, atol=1e-5
            )
    unscaled = RankSVM().fit(DATA)
    assert unscaled.trained_.scaled is None
    assert export_model(unscaled, "solr").notes == ()


def test_classes_of_users(fitted):
    users = np.where(np.arange(DATA.n_queries) % 2, "new", "old")
    for base in ("ranksvm", cheap("lambdamart")):
        ranker = CFBRS(base=base, min_block=2).fit(DATA, user_class=users)
        form = form_of(ranker, user_class="new")
        X = hard_rows(form, 4)
        check(
            ranker, "elasticsearch", lambda X, r=ranker: r.predict(X, user_class="new"), X, form,
            user_class="new",
        )  # fmt: skip
    with pytest.raises(UsageError, match="unknown user class 'nobody'"):
        export_model(ranker, "solr", user_class="nobody")
    with pytest.raises(UsageError, match="user_class= is for cfbrs"):
        export_model(fitted("ranksvm"), "solr", user_class="new")


# --- trees of any kind ---


@pytest.mark.parametrize("target", TARGETS)
@given(forest=st.lists(trees(), min_size=1, max_size=3), seed=st.integers(0, 2**32))
def test_any_trees_score_the_same_on_their_thresholds_and_beside_them(target, forest, seed):
    form = Forest(3, tuple(forest))
    X = hard_rows(form, 3, n=200, seed=seed, missing=0.1)
    model = ImportedRanker.from_model(model_from_forest(form), "a test")
    expected = model.predict(X.astype(np.float64))
    if reason := refusal(model, target):
        assert target == "solr"
        assert "Solr adds 1e-6" in reason
        return
    exported = export_model(model, target)
    assert_same(form, np.nan_to_num(X), expected, scores_of_nan(exported, X))
    if target != "elasticsearch" or not form.has_missing_side:
        assert_same(form, np.nan_to_num(X), expected, emulate(exported, X))
    if target == "onnx":
        assert_same(form, np.nan_to_num(X), expected, runtime_scores(exported, X))


@pytest.mark.parametrize("target", TARGETS)
def test_missing_values_go_where_the_trees_send_them(target):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((900, 4)), rng.integers(0, 3, 900)
    X[:, 3] = rng.integers(0, 3, 900)
    X[rng.random(X.shape) < 0.2] = np.nan
    ranker = LambdaMART(trees=40, min_leaf=3, threads=1).fit(X, y, qid=np.arange(900) // 15)
    form = form_of(ranker)
    assert form.has_missing_side
    assert any(np.isinf(values).any() for values in thresholds(form))  # missing against the rest
    exported = check(ranker, target, ranker.predict, hard_rows(form, 4, missing=0.2), form)
    assert bool(exported.notes) == (target not in ("onnx", "json"))


def test_models_that_know_missing_values_survive_a_file(tmp_path):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((600, 3)), rng.integers(0, 3, 600)
    X[rng.random(X.shape) < 0.3] = np.nan
    ranker = LambdaMART(trees=60, min_leaf=2, threads=1).fit(X, y, qid=np.arange(600) // 15)
    assert "inf" in ranker.model_.text
    ranker.save(tmp_path / "m.podium")
    np.testing.assert_array_equal(load(tmp_path / "m.podium").predict(X), ranker.predict(X))


LEFT_IF_MISSING = Tree.of([0], [-0.5], [(~0, ~1)], [1.0, 2.0], [MISSING_NAN | DEFAULT_LEFT])
"""Trees trained on missing values: NaN has 1, and 0 has 2."""


def test_emulate_takes_nan_for_what_the_newest_version_makes_of_a_missing_feature():
    model = ImportedRanker.from_model(model_from_forest(Forest(1, (LEFT_IF_MISSING,))), "a test")
    scores = {target: emulate(export_model(model, target), [[np.nan]])[0] for target in TARGETS}
    assert scores == {target: 2.0 if target == "elasticsearch" else 1.0 for target in TARGETS}
    exported = export_model(model, "elasticsearch")
    assert scores_of_nan(exported, np.array([[np.nan]])).tolist() == [1.0]
    plain = Tree.of([0], [-0.5], [(~0, ~1)], [1.0, 2.0], [0])
    other = export_model(
        ImportedRanker.from_model(model_from_forest(Forest(1, (plain,))), "a test"), "solr"
    )
    assert emulate(other, [[np.nan], [0.0], [-1.0]]).tolist() == [2.0, 2.0, 1.0]


def test_notes_say_what_engines_do_to_trees_trained_on_missing_values():
    model = ImportedRanker.from_model(model_from_forest(Forest(1, (LEFT_IF_MISSING,))), "a test")
    notes = {target: " ".join(export_model(model, target).notes) for target in TARGETS}
    assert (
        "the Elasticsearch plug-in replaces a feature that a document lacks by 0"
        in (notes["elasticsearch"])
    )
    assert "must pass them on" not in notes["elasticsearch"]
    assert "OpenSearch 3.1 and earlier replaces a feature" in notes["opensearch"]
    assert "where it counts as 0" not in notes["opensearch"]
    assert '9.2 or later, and set "defaultValue": "NaN"' in notes["solr"]
    for target in ("elasticsearch", "opensearch", "solr", "vespa"):
        assert '(docs/exchange.md, "Missing values")' in notes[target]


def test_opensearch_3_2_to_3_7_sends_all_missing_values_right_and_the_notes_say_so():
    ranker = LambdaMART(trees=30, min_leaf=3, threads=1).fit(_whole_numbers())
    form = form_of(ranker)
    assert not form.has_missing_side
    exported = export_model(ranker, "opensearch")
    X = hard_rows(form, 3, n=500, missing=0.3)
    expected = ranker.predict(X.astype(float))  # for which NaN is 0
    for missing in ("zero", "node"):
        scores = score_opensearch(exported.content, exported.features, X, missing=missing)
        assert_same(form, np.nan_to_num(X), expected, scores)
    scores = score_opensearch(exported.content, exported.features, X, missing="right")
    wrong = np.abs(scores - expected) > 1e-3
    lacking = np.isnan(X).any(axis=1)
    assert wrong[lacking].mean() > 0.5
    assert not wrong[~lacking].any()
    (note,) = exported.notes
    assert "OpenSearch 3.2 to 3.7 sends a document that lacks a feature to the right" in note
    assert "or 3.1 or earlier, where it counts as 0" in note
    assert export_model(RankSVM().fit(DATA), "opensearch").notes == ()
    assert export_model(ranker, "elasticsearch").notes == ()


VERSIONS = {
    # version -> what becomes of NaN
    "opensearch@2.19": "zero", "opensearch@3.1": "zero", "opensearch@3.2": "right",
    "opensearch@3.5": "right", "opensearch@3.7.1": "right", "opensearch@3.8": "node",
    "opensearch@3.10": "node", "opensearch@4": "node", "elasticsearch@8.17": "zero",
    "elasticsearch@9.1": "zero",
}  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("knows_missing", [False, True])
def test_an_export_for_a_version_is_right_there_or_refused(version, knows_missing):
    data = _with_gaps() if knows_missing else _whole_numbers()
    ranker = LambdaMART(trees=30, min_leaf=3, threads=1).fit(data)
    form = form_of(ranker)
    assert form.has_missing_side == knows_missing
    gaps, branch = hard_rows(form, data.n_features, n=500, missing=0.3), VERSIONS[version]
    # A tree that does not know missing values takes 0 for them; one that knows them sends them its own way.
    is_right = branch == "node" or (branch == "zero" and not knows_missing)
    expected = ranker.predict(gaps.astype(float))
    if is_right:
        exported = export_model(ranker, version)
        assert exported.notes == ()
        rows = gaps if knows_missing else np.nan_to_num(gaps)
        assert_same(form, rows, expected, emulate(exported, gaps))
        return
    with pytest.raises(CannotExpressError, match=version.replace("@", " ")) as refusal:
        export_model(ranker, version)
    assert "complete_features=True" in str(refusal.value)
    exported = export_model(ranker, version, complete_features=True)
    whole = np.nan_to_num(gaps)
    assert_same(form, whole, ranker.predict(whole.astype(float)), emulate(exported, whole))
    wrong = np.abs(emulate(exported, gaps) - expected) > 1e-3
    assert wrong[np.isnan(gaps).any(axis=1)].any()
    assert "every document must have a value for every feature" in exported.notes[0]


def _with_gaps():
    X = np.where(np.random.default_rng(1).random(DATA.X.shape) < 0.3, np.nan, DATA.X)
    return RankingData.from_arrays(X, DATA.y, qid=DATA.groups.codes, missing="nan")


def test_solr_before_9_2_refuses_trees_that_know_missing_values():
    ranker = LambdaMART(trees=5, min_leaf=3, threads=1).fit(_with_gaps())
    with pytest.raises(CannotExpressError, match=r"solr 9\.1 refuses trees .* nearest: solr@9\.2"):
        export_model(ranker, "solr@9.1", complete_features=True)
    (note,) = export_model(ranker, "solr@9.2").notes
    assert '"defaultValue": "NaN"' in note
    plain = LambdaMART(trees=5, min_leaf=3, threads=1).fit(DATA)
    assert export_model(plain, "solr@8.11").content == export_model(plain, "solr").content


def test_versions_that_cannot_be():
    ranker = RankSVM().fit(DATA)
    assert export_model(ranker, "opensearch@3.5").version == "3.5"
    assert export_model(ranker, "opensearch").version is None
    for target in ("opensearch@", "opensearch@new", "opensearch@3.5-rc", "opensearch@3..5"):
        with pytest.raises(UsageError, match="expected a version such as opensearch"):
            export_model(ranker, target)
    with pytest.raises(UsageError, match="onnx has no versions"):
        export_model(ranker, "onnx@1.17")
    with pytest.raises(UnknownNameError, match="did you mean opensearch"):
        export_model(ranker, "opensaerch@3.5")


@pytest.mark.parametrize("target", TARGETS)
def test_zero_as_missing_is_refused_where_it_matters(target):
    tree = Tree.of([0], [0.5], [(~0, ~1)], [1.0, 2.0], [MISSING_ZERO])
    model = ImportedRanker.from_model(model_from_forest(Forest(1, (tree,))), "a test")
    assert model.predict([[0.0], [0.1]]).tolist() == [2.0, 1.0]
    with pytest.raises(CannotExpressError, match="treats 0 as missing"):
        export_model(model, target)
    harmless = Tree.of([0], [0.5], [(~0, ~1)], [1.0, 2.0], [MISSING_ZERO | DEFAULT_LEFT])
    model = ImportedRanker.from_model(model_from_forest(Forest(1, (harmless,))), "a test")
    assert emulate(export_model(model, target), np.array([[0.0], [0.6]])).tolist() == [1.0, 2.0]


def test_deep_trees_are_refused_but_not_by_onnx():
    n = 400
    children = [*((i + 1, ~i) for i in range(n - 1)), (~(n - 1), ~n)]
    deep = Tree.of([0] * n, np.arange(n)[::-1].tolist(), children, list(range(n + 1)))
    model = ImportedRanker.from_model(model_from_forest(Forest(1, (deep,))), "a test")
    for target in ENGINES:
        if target != "onnx":
            with pytest.raises(CannotExpressError, match=r"400 levels.*nearest: .*onnx"):
                export_model(model, target)
    X = np.arange(-1, n + 1, dtype=np.float32)[:, None]
    scores = runtime_scores(export_model(model, "onnx"), X)
    assert scores.tolist() == model.predict(X.astype(float)).tolist()


def test_numbers_beyond_float32_are_refused():
    model = ImportedRanker.from_model(
        dataclasses.replace(RankSVM().fit(DATA).model_, weights=np.full(4, 1e39)), "x"
    )
    for target in ("elasticsearch", "solr", "onnx"):
        with pytest.raises(CannotExpressError, match=r"1e\+39.*float32.*nearest: "):
            export_model(model, target)
    assert emulate(export_model(model, "vespa"), np.ones((1, 4))).tolist() == [4e39]


# --- JSON types, as strictly as the engines ---

DIRECTED = Forest(1, (Tree.of([0], [0.5], [(~0, ~1)], [1.0, 2.0], [MISSING_NAN | DEFAULT_LEFT]),))
NETWORK = ListNet(scorer=MLP(hidden=(2,), epochs=1, batch_queries=4))


def test_solr_takes_a_boolean_for_missing_values_and_texts_for_numbers():
    exported = export_model(
        ImportedRanker.from_model(model_from_forest(DIRECTED), "a test"), "solr"
    )
    params = json.loads(exported.content)["params"]
    assert params["isNullSameAsZero"] is False
    (tree,) = params["trees"]
    assert tree["weight"] == "1"
    assert {key: type(value) for key, value in tree["root"].items()} == {
        "feature": str, "threshold": str, "missing": str, "left": dict, "right": dict,
    }  # fmt: skip
    assert emulate(exported, np.array([[np.nan], [0.5], [0.6]])).tolist() == [1.0, 1.0, 2.0]


def put(*path):
    """A change of one entry: the way to it, then its new value."""
    *way, last, value = path

    def change(told):
        for step in way:
            told = told[step]
        told[last] = value

    return change


ROOT = ("params", "trees", 0, "root")
LAYER = ("params", "layers", 0)


@pytest.mark.parametrize(
    "change",
    [
        put("params", "isNullSameAsZero", "false"),
        put("params", "isNullSameAsZero", 0),
        put("params", "isNullSameAsZero", None),
        put("params", "nullIsZero", False),
        put("params", "trees", 0, "weight", 1.0),
        put("params", "trees", 0, "depth", "1"),
        put(*ROOT, "threshold", 0.5),
        put(*ROOT, "threshold", "inf"),
        put(*ROOT, "threshold", "1_0"),
        put(*ROOT, "missing", False),
        put(*ROOT, "feature", 1),
        put(*ROOT, "gain", "1"),
        put(*ROOT, "left", {"value": -1.0}),
        put(*ROOT, "left", {"value": "-1.0", "left": {"value": "1.0"}}),
        put("name", 1),
        put("class", "org.apache.solr.ltr.MultipleAdditiveTreesModel"),
        put("features", 0, "name", 1),
        put("features", 0, "norm", {"class": "org.apache.solr.ltr.norm.OtherNormalizer"}),
    ],
)
def test_solr_refuses_other_types_in_trees(change):
    refused(ImportedRanker.from_model(model_from_forest(DIRECTED), "a test"), "solr", change)


@pytest.mark.parametrize(
    ("ranker", "change"),
    [
        (RankSVM(), put("params", "weights", "f1", "0.5")),
        (RankSVM(), put("params", "weights", "f1", True)),
        (RankSVM(), put("params", "bias", 1.0)),
        (RankSVM(), put("features", 1, "name", "f1")),
        (NETWORK, put(*LAYER, "bias", 0, 1)),
        (NETWORK, put(*LAYER, "bias", 0, "1.0")),
        (NETWORK, put(*LAYER, "matrix", 0, 0, 1)),
        (NETWORK, put(*LAYER, "units", 2)),
        (NETWORK, put("features", 0, "norm", "params", "avg", 0.5)),
        (NETWORK, put("features", 0, "norm", "params", "mean", "0.5")),
    ],
)
def test_solr_refuses_other_types_in_sums_and_networks(ranker, change):
    refused(ranker.fit(DATA), "solr", change)


SPLIT = ("splits", 0)


@pytest.mark.parametrize("target", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize(
    "change",
    [
        put(*SPLIT, "split", 1),
        put(*SPLIT, "split_condition", True),
        put(*SPLIT, "nodeid", "zero"),
        put(*SPLIT, "missing", 7),
        put(*SPLIT, "default_left", True),
        put(*SPLIT, "children", 0, "leaf", None),
        put(*SPLIT, "children", 0, "cover", 1.0),
        put("missing_as_zero", True),
        put("objective", 1),
    ],
)
def test_the_plugins_refuse_other_types_in_trees(target, change):
    model = ImportedRanker.from_model(model_from_forest(DIRECTED), "a test")
    told = json.loads(export_model(model, target).content)
    definition = json.loads(told["model"]["model"]["definition"])
    change(definition)
    told["model"]["model"]["definition"] = json.dumps(definition)
    with pytest.raises(ModelFileError, match="expected"):
        EMULATORS[target](json.dumps(told), ["f1"], np.zeros((1, 1)))


@pytest.mark.parametrize(
    "change",
    [
        put("model", "name", 1),
        put("model", "features", []),
        put("model", "model", "definition", '{"f1": "0.5"}'),
        put("model", "model", "definition", {"f1": 0.5}),
        put("model", "model", "feature_normalizers", "f1", "standard", "mean", None),
        put("model", "model", "feature_normalizers", "f1", "standard", "standard_deviation", 0),
        put("model", "model", "feature_normalizers", "f1", "standard", "std", 1),
    ],
)
def test_the_plugins_refuse_other_types_in_sums(change):
    normalizers = {"f1": Standard(0.0, 2.0)}
    refused(RankSVM().fit(DATA), "opensearch", change, normalizers=normalizers)


@pytest.mark.parametrize(
    "change",
    [put("feature_names", 0, 1), put("tree_info", 0, "tree_structure", "decision_type", "==")],
)
def test_vespa_refuses_other_types(change):
    refused(ImportedRanker.from_model(model_from_forest(DIRECTED), "a test"), "vespa", change)


def refused(model, target, change, **options):
    """The engine takes the export, and not the changed one."""
    exported = export_model(model, target, **options)
    X = np.zeros((1, len(exported.features)))
    assert len(emulate(exported, X)) == 1
    told = json.loads(exported.content)
    change(told)
    with pytest.raises(ModelFileError, match="expected"):
        emulate(dataclasses.replace(exported, content=json.dumps(told)), X)


# --- thresholds in float32 ---

finite32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
finite64 = st.floats(allow_nan=False, allow_infinity=False)


@given(t=finite64, x=finite32)
def test_a_threshold_in_float32_decides_the_same(t, x):
    for value in (x, float(floor32(t)), float(next_above32(t))):
        assert (
            (value <= t)
            == (np.float32(value) <= floor32(t))
            == (np.float32(value) < next_above32(t))
        )


@pytest.mark.parametrize("t", [-np.inf, -LARGEST_FLOAT32, LARGEST_FLOAT32, np.inf])
def test_rounding_before_a_comparison_with_the_largest_numbers_is_undone(t):
    edge = float(largest_rounding_to(np.float32(t)))
    for x in (
        -LARGEST_FLOAT32,
        0.0,
        LARGEST_FLOAT32,
        edge,
        np.nextafter(edge, np.inf),
        -1e39,
        1e39,
        np.inf,
    ):
        with np.errstate(over="ignore"):
            assert (np.float32(x) <= np.float32(t)) == (x <= edge)


@given(t=finite32, x=finite64)
def test_rounding_before_a_comparison_is_undone(t, x):
    edge = float(largest_rounding_to(np.float32(t)))
    with np.errstate(over="ignore"):
        for value in (x, edge, np.nextafter(edge, np.inf), float(t)):
            assert (np.float32(value) <= np.float32(t)) == (value <= edge)


@given(t=st.floats(-1e6, 1e6), shift=st.floats(-1e3, 1e3), scale=st.floats(1e-3, 1e3))
def test_an_unscaled_threshold_is_the_last_number_below(t, shift, scale):
    n = Standard(shift, scale)
    edge = largest_argument(np.array([t]), n)[0]
    assert n(float(edge)) <= t
    assert not n(float(np.nextafter(edge, np.inf))) <= t
    # So is the last float32, for engines that have no others.
    assert n(float(floor32(edge))) <= t < n(float(next_above32(edge)))


@pytest.mark.parametrize("kind", ["standard", "min_max"])
def test_scaled_trees_in_json_are_exact_in_float64(kind):
    names, raw = DATA.names(), DATA.X * 100 + 1e4
    normalizers = fit_normalizers(raw, names, kind)
    X = normalize(raw, names, normalizers)
    ranker = cheap("lambdamart").fit(
        RankingData.from_arrays(X, DATA.y, qid=DATA.groups.codes)
    )  # fmt: skip
    rows, rng = raw.copy(), np.random.default_rng(0)
    for tree in form_of(ranker, normalizers=normalizers).trees:
        for feature, threshold in zip(tree.feature, tree.threshold, strict=True):
            rows[rng.integers(0, len(rows), 3), feature] = [
                threshold, np.nextafter(threshold, np.inf), np.nextafter(threshold, -np.inf),
            ]  # fmt: skip
    exported = export_model(ranker, "json", normalizers=normalizers)
    expected = ranker.predict(normalize(rows, names, normalizers))
    np.testing.assert_array_equal(emulate(exported, rows), expected)


@given(st.lists(finite32.filter(lambda t: abs(t) < 1e9), min_size=1, max_size=4))
def test_solr_meets_thresholds_exactly_or_knows_that_it_cannot(values):
    edges = np.array(values, dtype=np.float32)
    power = solr_power(edges)
    if power is None:
        assert np.abs(edges[edges != 0]).min() < 1e-20  # only numbers no feature is near
        return
    met = solr_thresholds(edges * np.float32(2.0**power))
    np.testing.assert_array_equal(met + np.float32(1e-6), edges * np.float32(2.0**power))


def test_copied_thresholds_would_be_wrong():
    """Why all this is done: on the thresholds an engine's own rules decide otherwise."""
    ranker = LambdaMART(trees=30, min_leaf=3, threads=1).fit(_whole_numbers())
    form = form_of(ranker)
    X = hard_rows(form, 3)
    told = json.loads(export_model(ranker, "elasticsearch").content)
    naive = json.loads(told["model"]["model"]["definition"])
    for tree in naive["splits"]:
        _copy_thresholds(tree)
    told["model"]["model"]["definition"] = json.dumps(naive)
    scores = EMULATORS["elasticsearch"](json.dumps(told), ["f1", "f2", "f3"], X)
    assert (np.abs(scores - ranker.predict(X.astype(float))) > 1e-3).mean() > 0.1


def _whole_numbers():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 5, (600, 3)).astype(float)
    return RankingData.from_arrays(X, rng.integers(0, 3, 600), qid=np.arange(600) // 15)


def _copy_thresholds(node):
    """t instead of the number above it."""
    if "leaf" not in node:
        node["split_condition"] = float(
            np.nextafter(np.float32(node["split_condition"]), -np.float32(np.inf))
        )
        for child in node["children"]:
            _copy_thresholds(child)


# --- scaling ---


def scaled_rankers():
    names = DATA.names()
    raw = DATA.X * [1.0, 100.0, 0.01, 5.0] + [0.0, 1e4, 3.0, -7.0]
    for kind in ("standard", "min_max"):
        normalizers = fit_normalizers(raw, names, kind)
        X = normalize(raw, names, normalizers)
        data = RankingData.from_arrays(X, DATA.y, qid=DATA.groups.codes)
        for ranker in (
            RankSVM(), cheap("lambdamart"), cheap("rankboost"),
            ListNet(scorer=MLP(hidden=(4,), epochs=2)),
        ):  # fmt: skip
            yield pytest.param(ranker.fit(data), normalizers, raw, id=f"{kind}-{ranker.name}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("ranker", "normalizers", "raw"), list(scaled_rankers()))
def test_scaling_goes_with_the_model(ranker, normalizers, raw, target):
    names = DATA.names()
    form = form_of(ranker, normalizers=normalizers)
    if reason := refusal(ranker, target, normalizers=normalizers):
        assert "is a network" in reason
        return
    exported = export_model(ranker, target, normalizers=normalizers)
    X = hard_rows(form, 4)
    rng = np.random.default_rng(0)
    X[::2] = raw[rng.integers(0, len(raw), (len(X) + 1) // 2)].astype(np.float32)
    expected = ranker.predict(normalize(X, names, normalizers))
    assert_same(form, X, expected, emulate(exported, X))
    if target == "onnx":
        assert_same(form, X, expected, runtime_scores(exported, X))


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler((-1, 1)), RobustScaler()])
@pytest.mark.parametrize("ranker", [RankSVM(), cheap("lambdamart")])
def test_a_pipeline_of_a_scaler_and_a_ranker(scaler, ranker):
    pipeline = make_pipeline(scaler, ranker)
    pipeline.fit(DATA.X, DATA.y, **{f"{ranker.name}__qid": DATA.groups.codes})
    X = DATA.X.astype(np.float32)
    exported = export_model(pipeline, "elasticsearch", feature_names=["a", "b", "c", "d"])
    form = form_of(pipeline)
    assert_same(form, X, pipeline.predict(X.astype(np.float64)), emulate(exported, X))


def test_pipelines_that_engines_do_not_have(fitted):
    for scaler, reason in [
        (PowerTransformer(), "PowerTransformer does not scale each feature"),
        (MinMaxScaler(clip=True), "do not clip"),
    ]:
        made = make_pipeline(scaler.fit(DATA.X), fitted("ranksvm"))
        with pytest.raises(CannotExpressError, match=rf"{reason}.*nearest: "):
            export_model(made, "solr")
    with pytest.raises(UsageError, match="use only one of them"):
        export_model(
            make_pipeline(StandardScaler().fit(DATA.X), fitted("ranksvm")), "solr", normalizers={}
        )
    long = make_pipeline(StandardScaler(), StandardScaler(), fitted("ranksvm"))
    with pytest.raises(CannotExpressError, match="scale features once"):
        export_model(long, "solr")


@pytest.mark.parametrize(
    ("normalizers", "message"),
    [
        ({"nothing": Standard(0, 1)}, "unknown feature 'nothing'"),
        ({"f1": {"standard": {"mean": 0}}}, "expected a normalizer of 'f1'"),
        ({"f1": 3}, "expected a normalizer of 'f1'"),
        ("robust", "normalizers by feature"),
        (StandardScaler().fit(np.ones((3, 2))), "fitted on 4 features, got one on 2"),
    ],
)
def test_wrong_normalizers(normalizers, message, fitted):
    with pytest.raises(UsageError, match=message):
        export_model(fitted("ranksvm"), "solr", normalizers=normalizers)


@pytest.mark.parametrize(
    ("kind", "a", "b"), [(Standard, 0, 0), (Standard, np.nan, 1), (MinMax, 1, 1)]
)
def test_normalizers_that_divide_by_nothing(kind, a, b):
    with pytest.raises(UsageError, match="expected"):
        kind(a, b)


def test_a_deviation_that_float32_takes_for_0_is_refused(fitted):
    with pytest.raises(CannotExpressError, match="0 in the float32"):
        export_model(fitted("ranksvm"), "solr", normalizers={"f1": Standard(0.0, 1e-50)})
    with pytest.raises(CannotExpressError, match="0 in the float32"):
        export_model(fitted("ranksvm"), "elasticsearch", normalizers={"f1": MinMax(1.0, 1 + 1e-9)})


# --- names and files ---


def test_names(fitted):
    ranker = fitted("ranksvm")
    exported = export_model(ranker, "solr", feature_names={"f2": "clicks"}, name="shop")
    assert (exported.name, exported.features) == ("shop", ("f1", "clicks", "f3", "f4"))
    for names, message in [
        (["a"], "expected 4 feature names"),
        (["a", "a", "b", "c"], "got 'a' twice"),
        (["a", "", "b", "c"], "text as feature names"),
        ("abcd", "got the text"),
        ({"x": "y"}, "unknown feature 'x'"),
    ]:
        with pytest.raises(UsageError, match=message):
            export_model(ranker, "solr", feature_names=names)
    with pytest.raises(UsageError, match="expected a name for the model"):
        export_model(ranker, "solr", name=" ")
    with pytest.raises(UnknownNameError, match="unknown target 'lucene'"):
        export_model(ranker, "lucene")
    with pytest.raises(UsageError, match="expected a fitted ranker"):
        export_model(object(), "solr")


def test_vespa_wants_names_of_its_own_kind(fitted):
    names = ["bm25(title)", "attribute(price)", "fieldMatch(title).completeness", "query(w_1)"]
    exported = export_model(fitted("ranksvm"), "vespa", feature_names=names, name="shop")
    assert "rank-profile shop inherits default {" in exported.content
    assert "* bm25(title)" in exported.content
    with pytest.raises(UsageError, match="such as bm25"):
        export_model(fitted("ranksvm"), "vespa", feature_names=["a b", "b", "c", "d"])
    with pytest.raises(UsageError, match="letters, digits"):
        export_model(fitted("ranksvm"), "vespa", name="a shop")


def test_elasticsearch_as_createmodel_takes_it():
    model = ImportedRanker.from_model(
        dataclasses.replace(RankSVM().fit(DATA).model_, weights=np.array([0.5, -2.0])), "x"
    )
    normalizers = {"f1": Standard(1970, 30), "f2": MinMax(0, 10)}
    told = json.loads(
        export_model(model, "elasticsearch", name="m", normalizers=normalizers).content
    )
    assert told == {
        "model": {
            "name": "m",
            "model": {
                "type": "model/linear",
                "feature_normalizers": {
                    "f1": {"standard": {"mean": 1970.0, "standard_deviation": 30.0}},
                    "f2": {"min_max": {"minimum": 0.0, "maximum": 10.0}},
                },
                "definition": '{"f1":0.5,"f2":-2.0}',
            },
        }
    }


def test_a_stump_in_each_form():
    model = ImportedRanker.from_model(
        model_from_forest(Forest(1, (Tree.stump(0, 0.5, -1.0, 2.0),))), "a test"
    )
    told = json.loads(export_model(model, "elasticsearch").content)["model"]["model"]
    above = float(np.nextafter(np.float32(0.5), np.float32(1)))
    assert json.loads(told["definition"])["splits"] == [
        {
            "nodeid": 0, "depth": 0, "split": "f1", "split_condition": above, "yes": 1, "no": 2,
            "missing": 1, "children": [{"nodeid": 1, "leaf": -1.0}, {"nodeid": 2, "leaf": 2.0}],
        }
    ]  # fmt: skip
    solr = json.loads(export_model(model, "solr").content)
    assert solr["class"] == "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
    (tree,) = solr["params"]["trees"]
    assert np.float32(tree["root"]["threshold"]) + np.float32(1e-6) == np.float32(0.5)
    assert (tree["weight"], tree["root"]["left"]) == ("1", {"value": "-1.0"})
    assert solr["features"] == [{"name": "f1"}]
    vespa = json.loads(export_model(model, "vespa").content)
    assert vespa["tree_info"][0]["tree_structure"]["threshold"] == above
    plain = json.loads(export_model(model, "json").content)
    assert plain["trees"][0]["threshold"] == 0.5


def test_solr_scales_features_with_thresholds_near_0():
    """LightGBM's 1e-35 is more than 0: a power of two brings it where Solr's 1e-6 is little."""
    model = ImportedRanker.from_model(
        model_from_forest(Forest(1, (Tree.stump(0, 1.0000000180025095e-35, 0.0, 1.0),))), "x"
    )
    exported = export_model(model, "solr")
    norm = json.loads(exported.content)["features"][0]["norm"]
    assert norm["class"].endswith("StandardNormalizer")
    assert np.log2(float(norm["params"]["std"])) % 1 == 0
    edge = np.float32(1e-35)
    X = np.array([[0.0], [edge], [np.nextafter(edge, np.float32(1))], [1e-30], [1e30], [-1e30]])
    assert emulate(exported, X).tolist() == [0, 0, 1, 1, 1, 0]


def test_files_are_written_whole(tmp_path, fitted):
    exported = export_model(fitted("ranksvm"), "onnx")
    exported.save(tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == exported.content
    assert export_model(fitted("ranksvm"), "onnx").content == exported.content  # same bytes
    with pytest.raises(FileNotFoundError):
        exported.save(tmp_path / "no" / "m.onnx")


def test_onnx_without_the_extra(monkeypatch, fitted):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"podium-ltr\[export\]"):
        export_model(fitted("ranksvm"), "onnx")


def test_trees_come_back_from_text(fitted):
    model = fitted("lambdamart").model_
    again = model_from_forest(forest_from_model(model))
    np.testing.assert_array_equal(again.predict(DATA.X), model.predict(DATA.X))
    np.testing.assert_allclose(again.contributions(DATA.X), model.contributions(DATA.X), atol=1e-12)
    assert write_forest(forest_from_model(again)) == again.text


def test_a_forest_of_stumps_adds_equal_ones(fitted):
    ranker = RankBoost(rounds=60, thresholds=3).fit(DATA)
    form = form_of(ranker)
    assert len(form.trees) < len(ranker.model_.features)
    np.testing.assert_allclose(form.predict(DATA.X), ranker.predict(DATA.X), rtol=1e-12)


def test_the_largest_numbers_on_both_sides():
    """Where all go left, or none, engines need a threshold that is a number all the same."""
    tree = Tree.of([0, 1], [1e300, -1e300], [(1, ~0), (~1, ~2)], [9.0, 1.0, 2.0])
    model = ImportedRanker.from_model(model_from_forest(Forest(2, (tree,))), "a test")
    X = np.array([[LARGEST_FLOAT32, -LARGEST_FLOAT32], [-LARGEST_FLOAT32, LARGEST_FLOAT32], [0, 0]])
    for target in TARGETS:
        assert emulate(export_model(model, target), X).tolist() == [2.0, 2.0, 2.0], target


def test_toprank_by_default_is_refused_everywhere():
    ranker = TopRank(base=RankSVM(), rankers=(RankSVM(C=1.0),), tuned=False, t=3).fit(DATA)
    for target in TARGETS:
        with pytest.raises(CannotExpressError, match="supervised-kemeny"):
            export_model(ranker, target)


# --- models that prepare their features ---


def holes(X, share=0.2):
    X = np.exp(X)
    X[np.random.default_rng(1).random(X.shape) < share] = np.nan
    return RankingData.from_arrays(X, DATA.y, qid=DATA.groups.codes, missing="nan")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("scale", ["none", "zscore", "minmax", "robust"])
@pytest.mark.parametrize("inner", ["ranksvm", "lambdamart", "rankboost", "network"])
def test_preparation_over_the_training_data_goes_with_the_model(inner, scale, target):
    data = holes(DATA.X)
    plain = cheap("ranknet", scorer=MLP(hidden=(3,))) if inner == "network" else cheap(inner)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker = Prepared(plain, impute="median", scale=scale).fit(data)
    if reason := refusal(ranker, target):
        assert (inner, target) in {
            ("network", t) for t in ("elasticsearch", "opensearch", "vespa")
        }, reason
        return
    exported = export_model(ranker, target)
    is_forest = inner in ("lambdamart", "rankboost")
    X = data.X.astype(np.float32).astype(np.float64)
    X = X if is_forest else np.where(np.isnan(X), ranker.model_.preparation.fill, X)
    found = scores_of_nan(exported, X)
    np.testing.assert_allclose(found, ranker.predict(X), rtol=2e-4, atol=2e-4)
    if target == "onnx":
        np.testing.assert_allclose(runtime_scores(exported, X), found, rtol=2e-4, atol=2e-4)
    assert any("fills in missing values" in note for note in exported.notes) is not is_forest
    assert exported.name == plain.name


def test_a_note_names_the_values_of_missing_features():
    data = holes(DATA.X)
    ranker = Prepared(RankSVM(), impute="zero").fit(data)
    (note,) = export_model(ranker, "solr", feature_names=list("abcd")).notes
    assert note.endswith("its fill value: a 0, b 0, c 0, d 0")


def test_scaling_is_in_the_normalizers_of_the_engine():
    ranker = Prepared(RankSVM(), impute="none", scale="minmax").fit(DATA)
    content = json.loads(export_model(ranker, "opensearch").content)
    own = content["model"]["model"]["feature_normalizers"]["f1"]["min_max"]
    assert own["minimum"] == pytest.approx(DATA.X[:, 0].min(), rel=1e-6)
    assert own["maximum"] == pytest.approx(DATA.X[:, 0].max(), rel=1e-6)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"scale": "query-zscore"}, r"within queries \(query-zscore\).*nearest: scale=.zscore."),
        ({"log1p": ("f1",)}, "this model also uses log1p; nearest: let the engine compute"),
        ({"clip": {"f1": (0, 1)}}, "this model also uses clip; nearest"),
        ({"indicators": True}, "no indicators of missing values; nearest: train without"),
    ],
)
@pytest.mark.parametrize("target", TARGETS)
def test_steps_that_engines_lack_are_refused(settings, reason, target):
    ranker = Prepared(RankSVM(), **settings).fit(holes(DATA.X))
    with pytest.raises(CannotExpressError, match=reason):
        export_model(ranker, target)


def test_one_preparation_only():
    ranker = Prepared(RankSVM()).fit(DATA)
    with pytest.raises(UsageError, match="prepares its features, and normalizers are given, too"):
        export_model(ranker, "solr", normalizers={"f1": Standard(0.0, 2.0)})
    vote = TopRank(base=Prepared(RankSVM()), rankers=(RankBoost(rounds=3),), t=3, tuned=False)
    member = export_model(vote.fit(DATA), "json", member="prepared")
    base = vote.model_.base.model
    np.testing.assert_allclose(emulate(member, DATA.X), base.predict(DATA.X), rtol=1e-9)
    both = Prepared(vote).fit(DATA)
    with pytest.raises(CannotExpressError, match="engines scale features once"):
        export_model(both, "json", member="prepared")
    export_model(both, "json", member="rankboost")
