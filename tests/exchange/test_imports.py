"""Imports: other programs' models score as they do there, and damaged files are refused by line."""

import gzip
import json
import random
import sys
import tracemalloc

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from hypothesis import given
from hypothesis import strategies as st

from podium.data import RankingData
from podium.errors import (
    ModelFileError,
    PodiumError,
    TruncationWarning,
    UnknownNameError,
    UsageError,
)
from podium.exchange import IMPORTERS, emulate, export_model, import_model
from podium.exchange.model_text_lines import MAX_MODEL_LINES
from podium.exchange.portable_model import make_portable
from podium.rankers import feature_importance
from podium.rankers.forest import Forest, Tree
from podium.rankers.forest_text import write_forest
from podium.rankers.imported_ranker import ImportedRanker
from podium.rankers.lightgbm_checks import MAX_TREE_LEVELS
from podium.registry import RANKERS, load
from tests.support.export_targets import TARGETS
from tests.support.ranklib_reader import ranklib_scores
from tests.support.small_rankers import small

DATA = small(20, n_features=4, seed=5)
RNG = np.random.default_rng(0)
X = RNG.standard_normal((600, 4))
X[:, 3] = RNG.integers(0, 4, 600)
GAPS = np.where(RNG.random(X.shape) < 0.15, np.nan, X)
Y = RNG.integers(0, 3, 600)
SIZES = [15] * 40


def written(path, text):
    path.write_text(text)
    return path


def on_thresholds(ranker, n=10_000, seed=1):
    """Rows with values on the thresholds of the imported trees, in float64, and right beside them."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, ranker.n_features_in_)) * 2
    form = make_portable(ranker).form
    for tree in form.trees:
        for feature, threshold in zip(tree.feature, tree.threshold, strict=True):
            near = rng.choice([-np.inf, np.inf, 0.0])
            value = threshold if near == 0 else np.nextafter(threshold, near)
            rows[rng.integers(0, n, 3), feature] = value if np.isfinite(value) else 1.0
    return rows


# --- XGBoost ---


def boosted(path, rounds=20, data=GAPS, labels=Y % 2, **settings):
    matrix = xgboost.DMatrix(data, labels)
    if settings.get("objective") == "survival:aft":
        for name, more in (("label_lower_bound", 1), ("label_upper_bound", 2)):
            matrix.set_float_info(name, labels + more)
    if settings.get("objective") == "reg:gamma":
        matrix.set_label(labels + 1)
    if settings.get("objective", "").startswith("rank"):
        matrix.set_group(SIZES)
    made = xgboost.train({"max_depth": 4, "nthread": 1, **settings}, matrix, rounds)
    made.save_model(path)
    return made


@pytest.mark.parametrize(
    "settings",
    [
        {"objective": "rank:ndcg"},
        {"objective": "rank:pairwise", "tree_method": "exact"},
        {"objective": "binary:logistic"},
        {"objective": "reg:squarederror"},
        {"objective": "binary:logitraw", "base_score": 0.3},
        {"objective": "reg:logistic", "base_score": 0.3},
        {"objective": "count:poisson", "base_score": 0.3},
        {"objective": "reg:gamma", "base_score": 0.3},
        {"objective": "reg:tweedie", "base_score": 0.3},
        {"objective": "survival:cox", "base_score": 0.3},
        {"objective": "survival:aft", "base_score": 0.3},
        {"objective": "rank:map", "booster": "dart", "rate_drop": 0.4, "seed": 1},
        {"objective": "reg:squarederror", "num_parallel_tree": 3, "subsample": 0.5},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_xgboost_scores_as_there(settings, tmp_path):
    theirs = boosted(tmp_path / "m.json", **settings)
    ranker = import_model(tmp_path / "m.json", "xgboost")
    assert ranker.source == f"xgboost {settings['objective']}"
    rows = np.vstack([GAPS, on_thresholds(ranker)])
    expected = theirs.predict(xgboost.DMatrix(rows), output_margin=True)
    np.testing.assert_allclose(ranker.predict(rows), expected, rtol=1e-5, atol=1e-5)


def test_xgboost_names_and_linear(tmp_path):
    matrix = xgboost.DMatrix(X, Y, feature_names=["bm25", "age", "clicks", "year"])
    made = xgboost.train({"booster": "gblinear", "objective": "reg:squarederror"}, matrix, 5)
    made.save_model(tmp_path / "m.json")
    ranker = import_model(tmp_path / "m.json", "xgboost")
    assert ranker.feature_names_in_.tolist() == ["bm25", "age", "clicks", "year"]
    constant = made.predict(matrix) - ranker.predict(X)
    np.testing.assert_allclose(constant, constant[0], rtol=1e-5)


def test_xgboost_that_is_no_ranker_is_refused(tmp_path):
    path = tmp_path / "m.json"
    boosted(path, labels=Y, objective="multi:softprob", num_class=3)
    with pytest.raises(ModelFileError, match="several classes"):
        import_model(path, "xgboost")
    frame = xgboost.DMatrix(
        X[:, 3:].astype(int), Y % 2, enable_categorical=True, feature_types=["c"]
    )
    made = xgboost.train({"max_depth": 2, "tree_method": "hist"}, frame, 3)
    made.save_model(path)
    with pytest.raises(ModelFileError, match="categories"):
        import_model(path, "xgboost")
    path.write_text(boosted(tmp_path / "n.json").get_dump(dump_format="json")[0])
    with pytest.raises(ModelFileError, match="this JSON has no 'learner'"):
        import_model(path, "xgboost")
    boosted(tmp_path / "m.ubj")
    with pytest.raises(ModelFileError, match="expected"):
        import_model(tmp_path / "m.ubj", "xgboost")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.update(left_children=[0] * len(t["left_children"])), "several parents"),
        (lambda t: t.update(left_children=[99] * len(t["left_children"])), "several parents"),
        (lambda t: t["split_indices"].__setitem__(0, 77), "features 0 to 3"),
        (lambda t: t["split_conditions"].__setitem__(0, 1e999), "is not a number"),
        (lambda t: t["split_conditions"].pop(), "have different lengths"),
        (lambda t: t.pop("default_left"), "KeyError"),
        (lambda t: t.update(left_children="abc"), "TypeError"),
    ],
)
def test_xgboost_trees_that_are_none(change, message, tmp_path):
    path = tmp_path / "m.json"
    boosted(path)
    told = json.loads(path.read_text())
    change(told["learner"]["gradient_booster"]["model"]["trees"][1])
    path.write_text(json.dumps(told))
    with pytest.raises(ModelFileError, match=message) as error:
        import_model(path, "xgboost")
    assert str(path) in str(error.value)


def test_xgboost_nested_without_end(tmp_path):
    path = written(tmp_path / "m.json", "[" * 200_000)
    with pytest.raises(
        ModelFileError, match=r"m\.json:1: this is not the JSON of an XGBoost model"
    ):
        import_model(path, "xgboost")
    path.write_text('{"learner":\n{"x": }}')
    with pytest.raises(ModelFileError, match=r"m\.json:2: "):
        import_model(path, "xgboost")


# --- LightGBM ---


def grown(path, rounds=15, data=GAPS, categories="auto", **settings):
    dataset = lightgbm.Dataset(data, Y % 2, group=SIZES, categorical_feature=categories)
    made = lightgbm.train({"verbosity": -1, "num_threads": 1, **settings}, dataset, rounds)
    made.save_model(path)
    return made


@pytest.mark.parametrize(
    "settings",
    [
        {"objective": "lambdarank"},
        {"objective": "lambdarank", "zero_as_missing": True},
        {"objective": "binary"},
        {"objective": "regression", "boosting": "dart"},
        {"objective": "regression", "boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
@pytest.mark.parametrize("data", [X, GAPS], ids=["whole", "missing"])
def test_lightgbm_scores_as_there(settings, data, tmp_path):
    theirs = grown(tmp_path / "m.txt", data=data, **settings)
    ranker = import_model(tmp_path / "m.txt", "lightgbm")
    rows = np.vstack([GAPS, on_thresholds(ranker)])
    expected = theirs.predict(rows, raw_score=True)
    assert ranker.predict(rows).tobytes() == expected.tobytes()
    with np.errstate(over="ignore"):
        single = rows.astype(np.float32)
    expected_single = theirs.predict(single, raw_score=True)
    assert ranker.predict(single).tobytes() == expected_single.tobytes()
    np.testing.assert_allclose(ranker.model_.importance(), theirs.feature_importance("gain"))
    shap = theirs.predict(GAPS[:9], pred_contrib=True)[:, :4]
    np.testing.assert_allclose(ranker.model_.contributions(GAPS[:9]), shap, atol=1e-12)
    if settings.get("boosting") == "rf":  # whose raw scores are sums, and whose predictions means
        np.testing.assert_allclose(theirs.predict(rows), expected / 15, atol=1e-12)


def test_lightgbm_without_a_single_split(tmp_path):
    theirs = grown(tmp_path / "m.txt", data=np.zeros((600, 4)), objective="regression")
    ranker = import_model(tmp_path / "m.txt", "lightgbm")
    assert ranker.predict(X).tobytes() == theirs.predict(X).tobytes()


def test_lightgbm_that_is_no_ranker_is_refused(tmp_path):
    path = tmp_path / "m.txt"
    grown(path, objective="binary", categories=[3], min_data_per_group=1, cat_smooth=0.0)
    with pytest.raises(ModelFileError, match=r"m\.txt:\d+: .*categories"):
        import_model(path, "lightgbm")
    grown(path, data=X, objective="regression", linear_tree=True)
    with pytest.raises(ModelFileError, match=r"m\.txt:\d+: .*linear models"):
        import_model(path, "lightgbm")
    grown(path, objective="multiclass", num_class=2)
    with pytest.raises(ModelFileError, match=r"m\.txt:\d+: .*several classes"):
        import_model(path, "lightgbm")
    path.write_text(grown(path, objective="binary").dump_model().__repr__())
    with pytest.raises(ModelFileError, match=r"m\.txt:1: .*begins with 'tree'"):
        import_model(path, "lightgbm")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("num_leaves=3", "num_leaves=1", "1 finite numbers as leaf_value"),
        ("left_child=", "left_child=0 ", "2 whole numbers as left_child"),
        ("split_feature=", "split_feature=9", "features 0 to 3"),
        ("threshold=", "threshold=nan ", "finite numbers as threshold"),
        ("leaf_value=", "leaf_value=inf ", "finite numbers as leaf_value"),
        ("decision_type=", "decision_type=1", "numeric splits"),
        ("end of trees", "", "it has no line 'end of trees'"),
        ("max_feature_idx=3", "max_feature_idx=999999999", "states 1000000000 features"),
        ("num_cat=0", "num_cat=0\nnum_cat=0", "num_cat occurs twice"),
    ],
)
def test_lightgbm_trees_that_are_none(old, new, message, tmp_path):
    path = tmp_path / "m.txt"
    grown(path, rounds=2, objective="lambdarank", num_leaves=3)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ModelFileError, match=rf"m\.txt:\d+: .*{message}"):
        import_model(path, "lightgbm")


# --- RankLib ---

LINEAR = "## {}\n## Restart = 5\n{}\n"


@pytest.mark.parametrize(
    ("algorithm", "line", "weights"),
    [
        ("Coordinate Ascent", "1:0.5 2:-0.499 4:1e-3", [0.5, -0.499, 0, 1e-3]),
        ("Linear Regression", "0:7.5 1:0.5 4:2.0 ", [0.5, 0, 0, 2.0]),  # 0 is the constant
        ("AdaRank", "4:0.5 1:0.25 4:0.5", [0.25, 0, 0, 1.0]),
        ("AdaRank", " 4:.5d 1:2.5E-1f  4:+0.5 # a comment", [0.25, 0, 0, 1.0]),
    ],
)
def test_ranklib_weighted_sums(algorithm, line, weights, tmp_path):
    path = written(tmp_path / "m.txt", LINEAR.format(algorithm, line))
    ranker = import_model(path, "ranklib")
    assert ranker.source == f"ranklib {algorithm}"
    np.testing.assert_allclose(ranker.predict(X), X @ np.array(weights))


def test_ranklib_rankboost(tmp_path):
    path = written(tmp_path / "m.txt", LINEAR.format("RankBoost", "1:0.5:2.0 3:-1.25:0.5 1:0.1:1"))
    ranker = import_model(path, "ranklib", n_features=4)
    edge = np.float32(0.1)  # above the threshold 0.1, or not, in float32
    rows = np.vstack([X, [[0.5, 0, -1.25, 0], [0.51, 0, 0, 0], [edge, 0, 0, 0], [0.1, 0, 0, 0]]])
    x = rows.astype(np.float32).astype(np.float64)
    expected = 2.0 * (x[:, 0] > 0.5) + 0.5 * (x[:, 2] > -1.25) + 1.0 * (x[:, 0] > 0.1)
    np.testing.assert_array_equal(ranker.predict(rows), expected)


def ensemble(rng, trees=3, depth=4, width=4):
    """RankLib's tags around random trees."""

    def split(indent, left):
        if left == 0 or rng.random() < 0.2:
            return f"{indent}<output> {rng.uniform(-2, 2)!r} </output>\n"
        inner = "".join(
            f'{indent}<split pos="{side}">\n{split(indent + chr(9), left - 1)}{indent}</split>\n'
            for side in ("left", "right")
        )
        threshold = np.float32(rng.uniform(-1, 1))
        return (
            f"{indent}<feature> {rng.integers(1, width + 1)} </feature>\n"
            f"{indent}<threshold> {threshold} </threshold>\n{inner}"
        )

    text = "<ensemble>\n"
    for i in range(trees):
        weight = np.float32(rng.uniform(0.05, 0.2))
        text += f'\t<tree id="{i + 1}" weight="{weight}">\n\t\t<split>\n{split(chr(9) * 3, depth)}'
        text += "\t\t</split>\n\t</tree>\n"
    return text + "</ensemble>\n"


@pytest.mark.parametrize(
    ("algorithm", "bags"), [("LambdaMART", 1), ("MART", 1), ("Random Forests", 4)]
)
def test_ranklib_trees(algorithm, bags, tmp_path):
    rng = np.random.default_rng(bags)
    body = "\n".join(ensemble(rng) for _ in range(bags))
    path = written(tmp_path / "m.txt", f"## {algorithm}\n## No. of trees = 3\n\n{body}")
    ranker = import_model(path, "ranklib", n_features=4)
    rows = np.vstack([X[:100], on_thresholds(ranker, n=400)])
    np.testing.assert_allclose(ranker.predict(rows), ranklib_scores(body, rows), atol=1e-12)


def stump(threshold, output="-1.5"):
    """RankLib's tags around one question."""
    return (
        '<ensemble>\n<tree id="1" weight="0.5">\n<split>\n<feature> 1 </feature>\n'
        f"<threshold> {threshold} </threshold>\n"
        f'<split pos="left">\n<output> {output} </output>\n</split>\n'
        '<split pos="right">\n<output> 2.0 </output>\n</split>\n</split>\n</tree>\n</ensemble>\n'
    )


@pytest.mark.parametrize(
    ("threshold", "scores"),
    [
        ("3.4028235E38", [-0.75, -0.75, -0.75]),  # Float.MAX_VALUE, which -mls 0 writes
        ("Infinity", [-0.75, -0.75, -0.75]),
        ("1e39", [-0.75, -0.75, -0.75]),
        ("-Infinity", [1.0, 1.0, 1.0]),
        ("-3.4028235E38", [-0.75, 1.0, 1.0]),
        ("0.5f", [-0.75, -0.75, 1.0]),
        ("+.5D", [-0.75, -0.75, 1.0]),
    ],
)
@pytest.mark.parametrize("algorithm", ["LambdaMART", "Random Forests"])
def test_ranklib_thresholds_are_numbers_as_java_reads_them(algorithm, threshold, scores, tmp_path):
    path = written(tmp_path / "m.txt", f"## {algorithm}\n{stump(threshold)}")
    ranker = import_model(path, "ranklib")
    largest = float(np.finfo(np.float32).max)
    rows = np.array([[-largest], [0.5], [largest]])
    assert ranker.predict(rows).tolist() == scores
    for target in TARGETS:
        assert emulate(export_model(ranker, target), rows).tolist() == scores, target


def test_ranklib_rankboost_thresholds_may_be_infinite(tmp_path):
    text = LINEAR.format("RankBoost", "1:Infinity:2.0 1:-Infinity:0.5 1:0.25f:1")
    ranker = import_model(written(tmp_path / "m.txt", text), "ranklib")
    assert ranker.predict([[0.25], [0.26]]).tolist() == [0.5, 1.5]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("## LambdaMART", "## lambdamart"),
        ("## LambdaMART", "## LAMBDAMART "),
        ("<ensemble>", "<!-- made today -->\n<ensemble>"),
        ("</ensemble>", "<!-- two\nlines <tree> -->\n</ensemble><!-- -->"),
        ("2.0 </output>", "2.0 <!-- c --></output>"),
        ("<tree", "  # a line that is dropped\n<tree"),
        ('weight="0.5"', "weight = '0.5f'"),
        ("2.0", "2.00000000001"),
    ],
)
def test_ranklib_trees_as_ranklib_takes_them(old, new, tmp_path):
    text = f"## LambdaMART\n## No. of trees = 1\n\n{stump(0.5)}"
    path = written(tmp_path / "m.txt", text.replace(old, new, 1))
    ranker = import_model(path, "ranklib")
    assert ranker.source == "ranklib LambdaMART"
    assert ranker.predict([[0.5], [0.6]]).tolist() == [0.5 * -1.5, 0.5 * 2.0]


def test_ranklib_files_that_may_be_cut_off_are_told(tmp_path):
    """Weights of coordinate ascent add up to 1; RankBoost states its rounds, and a forest its bags."""
    path = tmp_path / "m.txt"
    written(path, LINEAR.format("Coordinate Ascent", "1:0.5 2:-0.25 3:0.25"))
    assert import_model(path, "ranklib").n_features_in_ == 3
    written(path, LINEAR.format("Coordinate Ascent", "1:0.5 2:-0.25"))
    with pytest.warns(TruncationWarning, match=r"m\.txt: the absolute weights add up to 0\.75"):
        assert import_model(path, "ranklib").n_features_in_ == 2
    boost = "## RankBoost\n## Iteration = 3\n## No. of threshold candidates = 10\n{}\n"
    rounds = ["1:0.5:2.0", "2:0.5:1.0", "1:0.25:1.0"]
    written(path, boost.format(" ".join(rounds)))
    assert import_model(path, "ranklib").predict([[1.0, 0.0]]).tolist() == [3.0]
    written(path, boost.format(" ".join(rounds[:2])))
    with pytest.warns(TruncationWarning, match="states 3 rounds but has 2; .* validation data"):
        assert import_model(path, "ranklib").predict([[1.0, 0.0]]).tolist() == [2.0]
    written(path, boost.format(" ".join([*rounds, rounds[0]])))
    with pytest.raises(ModelFileError, match=r"m\.txt:4: expected 3 rounds, .* got 4"):
        import_model(path, "ranklib")
    forest = "## Random Forests\n## No. of bags = 2\n\n{}"
    written(path, forest.format(stump(0.5) * 2))
    assert import_model(path, "ranklib").predict([[0.0]]).tolist() == [-0.75]
    written(path, forest.format(stump(0.5)))
    with pytest.raises(ModelFileError, match=r"expected 2 ensembles, .* got 1"):
        import_model(path, "ranklib")


def ranklib_chain(n):
    """RankLib's tags around a tree of n levels, one level per line."""
    head = "\n".join(f"<feature>1</feature><threshold>{i}</threshold><split>" for i in range(n))
    tail = "<output>-1</output></split>" + "<split><output>1</output></split></split>" * n
    return f'## LambdaMART\n<ensemble><tree weight="1"><split>\n{head}{tail}</tree></ensemble>\n'


def test_ranklib_trees_deeper_than_a_stack_of_calls(tmp_path):
    ranker = import_model(written(tmp_path / "m.txt", ranklib_chain(3000)), "ranklib")
    assert ranker.predict([[-1.0], [0.0], [5.0]]).tolist() == [-1.0, -1.0, 1.0]


def test_the_place_of_trees_that_are_too_deep(tmp_path):
    n = MAX_TREE_LEVELS + 1
    path = written(tmp_path / "m.txt", ranklib_chain(n))
    line = 2 + n  # two lines before the first level
    with pytest.raises(ModelFileError, match=rf"m\.txt:{line}: expected at most 4096 splits"):
        import_model(path, "ranklib")

    children = [(~i, i + 1 if i + 1 < n else ~n) for i in range(n)]
    chain = Tree.of([0] * n, np.arange(n).tolist(), children, [0.0] * (n + 1))
    path = written(tmp_path / "m.txt", write_forest(Forest(1, (Tree.stump(0, 0, 0, 0), chain))))
    line = path.read_text().split("\n").index("Tree=1") + 7
    assert path.read_text().split("\n")[line].startswith("left_child=")
    with pytest.raises(ModelFileError, match=rf"m\.txt:{line + 1}: .* 4096 levels .* got 4097"):
        import_model(path, "lightgbm")


def test_the_place_of_json_trees_that_are_too_deep(tmp_path):
    n = MAX_TREE_LEVELS + 1
    path = tmp_path / "m.json"
    boosted(path, rounds=2)
    document = json.loads(path.read_text())
    inner = [i % 2 == 0 and i < 2 * n for i in range(2 * n + 1)]
    document["learner"]["gradient_booster"]["model"]["trees"][1].update(
        left_children=[i + 1 if node else -1 for i, node in enumerate(inner)],
        right_children=[i + 2 if node else -1 for i, node in enumerate(inner)],
        **{name: [0] * len(inner) for name in ("split_indices", "default_left", "split_type")},
        **{
            name: [0.5] * len(inner) for name in ("split_conditions", "loss_changes", "sum_hessian")
        },
    )
    written(path, json.dumps(document))
    with pytest.raises(
        ModelFileError, match=r"m\.json: expected .* 4096 levels in tree 1, got 4097"
    ):
        import_model(path, "xgboost")

    symmetric(path, rounds=2, grow_policy="Depthwise")
    document = json.loads(path.read_text())
    leaf = {"value": 0.0, "weight": 1}
    split = {"split_type": "FloatFeature", "float_feature_index": 0, "border": 0.5}
    before, after = json.dumps({"split": split, "left": leaf}).removesuffix("}"), "}"
    deep = f'{before}, "right": ' * n + json.dumps(leaf) + after * n
    document["trees"][1] = "DEEP"
    written(path, json.dumps(document).replace('"DEEP"', deep))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10 * n)  # or JSON itself is refused
    try:
        with pytest.raises(ModelFileError, match=r"m\.json: .* levels in tree 1, got 4097"):
            import_model(path, "catboost")
    finally:
        sys.setrecursionlimit(limit)


WIDE = "## LambdaMART\n" + (
    '<ensemble><tree weight="1"><split><feature>{}</feature><threshold>1</threshold>'
    '<split pos="left"><output>1</output></split><split pos="right"><output>2</output></split>'
    "</split></tree></ensemble>\n"
)


def test_a_small_file_that_claims_many_features_takes_no_memory(tmp_path):
    """The weights of 2**20 features alone would take 8 MB, their names 14 MB."""
    path = tmp_path / "m.txt"
    claims = {
        "ranklib": [WIDE.format(1 << 20), "## AdaRank\n1048576:1\n", "## RankBoost\n65537:1:1\n"],
        "svmrank": [
            "1048576:0.5\n",
            SVM.format(kernel=0, n=2, vectors="1 1:1\n").replace("4 # high", "65537 # high"),
        ],
    }
    for source, texts in claims.items():
        for text in texts:
            written(path, text)
            tracemalloc.start()
            with pytest.raises(ModelFileError, match=r"m\.txt: the model claims [0-9,]+ features"):
                import_model(path, source)
            taken = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert taken < 4 << 20, text  # 2 MB to read any file
    written(path, claims["ranklib"][0])
    assert import_model(path, "ranklib", n_features=1 << 20).n_features_in_ == 1 << 20
    written(path, WIDE.format(1 << 16))
    assert import_model(path, "ranklib").n_features_in_ == 1 << 16


def test_an_xgboost_file_that_claims_many_features(tmp_path):
    path = tmp_path / "m.json"
    boosted(path, rounds=2)
    document = json.loads(path.read_text())
    document["learner"]["learner_model_param"]["num_feature"] = "100000"
    written(path, json.dumps(document))
    with pytest.raises(ModelFileError, match="claims 100,000 features, too many for a file of"):
        import_model(path, "xgboost")
    assert import_model(path, "xgboost", n_features=100_000).n_features_in_ == 100_000
    written(path, json.dumps(document) + " " * 100_000)
    assert import_model(path, "xgboost").n_features_in_ == 100_000


def test_ranklib_files_that_would_take_long(tmp_path):
    """A name without an end is looked at once, or this would take hours; lines are counted first."""
    path = written(tmp_path / "m.txt", "## LambdaMART\n<" + "a" * 1_000_000)
    with pytest.raises(ModelFileError, match="expected tags"):
        import_model(path, "ranklib")
    (tmp_path / "m.txt.gz").write_bytes(gzip.compress(b"\n" * (MAX_MODEL_LINES + 2)))
    with pytest.raises(ModelFileError, match="at most 4,194,304 lines"):
        import_model(tmp_path / "m.txt.gz", "ranklib")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 0, "the file is empty"),
        ("1:0.5", 1, "'## ALGORITHM' first"),
        ("## RankNet\n1:0.5", 1, "RankNet is a network"),
        ("## Magic\n1:0.5", 1, "expected one of Linear Regression"),
        ("## AdaRank\n## no weights\n", 2, "the file ends after its comments"),
        ("## AdaRank\n\n1:0.5 x:3", 3, "expected feature:weight"),
        ("## AdaRank\n1:inf", 2, "finite number"),
        ("## AdaRank\n99999999:1", 2, "expected feature:weight"),
        ("## Linear Regression\n0:1.0", 2, "pairs, got none"),
        ("## RankBoost\n1:0.5", 2, "feature:threshold:weight"),
        ("## RankBoost\n0:0.5:1", 2, "feature of 1 to 1,048,576"),
        ("## RankBoost\n00000000123:0.5:1", 2, "feature of 1 to 1,048,576"),
        ("## LambdaMART\n", 1, "ensemble"),
        ("## LambdaMART\n<ensemble>\n</ensemble>", 3, "of trees, got none"),
        ("## LambdaMART\n<ensemble>\n<tree>\n", 3, "weight of the tree"),
        ('## LambdaMART\n<ensemble>\n<tree weight="x">', 3, "finite number"),
        ('## LambdaMART\n<ensemble><tree weight="1">\n<split>\n<output>1</tree>', 4, "</output>"),
        ('## MART\n<ensemble><tree weight="1">\n<split><feature>0</feature>', 3, "feature of 1 to"),
        ('## MART\n<ensemble><tree weight="1">\n<split><output>1e39</output>', 3, "float32"),
        ('## MART\n<!DOCTYPE x [<!ENTITY a "b">]>\n<ensemble>', 2, "tags as in"),
        ("##MART\n<ensemble>", 1, "'## ALGORITHM' first"),
        (f"## LambdaMART\n{stump(0.5)}{stump(0.5)}", 16, "expected one <ensemble>"),
        (f"## LambdaMART\n{stump('NaN')}", 6, "expected a number as threshold"),
        (f"## LambdaMART\n{stump('0.5ff')}", 6, "expected a number as threshold"),
        (f"## LambdaMART\n{stump(0.5, 'Infinity')}", 8, "finite number"),
        (f"## LambdaMART\n{stump(0.5)}<!-- never\nended", 17, "ends inside a comment"),
        (f"## LambdaMART\n{stump(0.5)}".replace("right", "rihgt"), 10, 'expected pos="right", got'),
        (f"## LambdaMART\n{stump(0.5)}".replace("left", "right"), 7, 'expected pos="left", got'),
        ("## AdaRank\n1:0.5\t2:0.25", 2, "expected feature:weight"),
        ("## AdaRank\n0:1 1:0.5", 2, "features from 1 on in others"),
        ("## Linear Regression\n1:0.5", 2, "a constant .* once"),
        ("## RankBoost\n1:0.5:Infinity", 2, "finite number"),
        ("## RankBoost\n1:nan:1", 2, "number as threshold"),
    ],
)
def test_ranklib_files_that_are_none(text, line, message, tmp_path):
    path = written(tmp_path / "m.txt", text)
    with pytest.raises(ModelFileError, match=message) as error:
        import_model(path, "ranklib")
    assert str(error.value).startswith(f"{path}:{line}: " if line else f"{path}: ")


# --- SVMrank ---

SVM = """SVM-light Version V6.20
{kernel} # kernel type
3 # kernel parameter -d
1 # kernel parameter -g
1 # kernel parameter -s
1 # kernel parameter -r
empty# kernel parameter -u
4 # highest feature index
600 # number of training documents
{n} # number of support vectors plus 1
0.5 # threshold b, each following line is a SV (starting with alpha*y)
{vectors}"""


def test_svmrank_one_vector(tmp_path):
    text = SVM.format(kernel=0, n=2, vectors="1 1:0.5 3:-2 #\n")
    ranker = import_model(written(tmp_path / "m.dat", text), "svmrank")
    assert ranker.n_features_in_ == 4
    np.testing.assert_allclose(ranker.predict(X), 0.5 * X[:, 0] - 2 * X[:, 2])


def test_svmlight_many_vectors(tmp_path):
    text = SVM.format(kernel=0, n=4, vectors="0.5 qid:1 1:1 2:2 # a\n-0.25 1:4\n2 4:1 #\n")
    ranker = import_model(written(tmp_path / "m.dat", text), "svmrank")
    np.testing.assert_allclose(ranker.model_.weights, [0.5 - 1.0, 1.0, 0.0, 2.0])


def test_weights_alone(tmp_path):
    path = tmp_path / "w.txt.gz"
    path.write_bytes(gzip.compress(b"# feature:weight\n1:0.5\n3:0.25 # the third\n"))
    ranker = import_model(path, "svmrank", feature_names=["a", "b", "c", "d"])
    assert ranker.model_.weights.tolist() == [0.5, 0, 0.25, 0]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (SVM.format(kernel=2, n=2, vectors="1 1:1\n"), 2, "linear kernel"),
        (SVM.format(kernel=0, n=9, vectors="1 1:1\n"), 10, "8 support vectors"),
        (SVM.format(kernel=0, n="x", vectors="1 1:1\n"), 10, "whole number"),
        (SVM.format(kernel=0, n=2, vectors="1 1:nan\n"), 12, "finite number"),
        (SVM.format(kernel=0, n=2, vectors="one 1:1\n"), 12, "finite number"),
        ("SVM-light Version V6.20\n0 # kernel type\n", 2, "lines of settings"),
        ("# nothing\n", 1, "pairs, got none"),
        ("0:1\n", 1, "from 1 on"),
        ("1:0.5\nhello\n", 2, "expected feature:weight"),
    ],
)
def test_svmrank_files_that_are_none(text, line, message, tmp_path):
    path = written(tmp_path / "m.dat", text)
    with pytest.raises(ModelFileError, match=message) as error:
        import_model(path, "svmrank")
    assert str(error.value).startswith(f"{path}:{line}: ")


# --- all of them ---

ODD_NUMBERS = [
    "1_0",
    "\u0661",
    "\uff11",
    "inf",
    "nan",
    "infinity",
    "1e999",
    "0x10",
    "1,0",
    "1\u00a0",
]


@pytest.mark.parametrize("odd", ODD_NUMBERS)
@pytest.mark.parametrize(
    ("source", "old", "new"),
    [
        ("ranklib", "## AdaRank\n1:0.5", "0.5"),
        ("ranklib", "## AdaRank\n1:0.5", "1"),
        ("ranklib", "## RankBoost\n17:0.5:1.0", "1.0"),
        ("ranklib", "## RankBoost\n17:0.5:1.0", "17"),
        ("ranklib", f"## LambdaMART\n{stump(0.25)}", "2.0"),
        ("ranklib", f"## LambdaMART\n{stump(0.25)}", "0.5"),
        ("ranklib", f"## LambdaMART\n{stump(0.25)}", " 1 </feature>"),
        ("svmrank", "1:0.5 2:0.25", "0.5"),
        ("svmrank", "1:0.5 2:0.25", "2:"),
        ("svmrank", SVM.format(kernel=0, n=2, vectors="1 1:0.5 3:-2 #\n"), "0.5"),
        ("svmrank", SVM.format(kernel=0, n=2, vectors="1 1:0.5 3:-2 #\n"), "2 # number"),
    ],
)
def test_numbers_that_only_python_reads_are_refused(source, old, new, odd, tmp_path):
    assert new in old
    put = odd + new.lstrip("0123456789. ")
    path = written(tmp_path / "m.txt", old.replace(new, put, 1))
    with pytest.raises(ModelFileError, match=r"m\.txt:\d+: "):
        import_model(path, source)


@pytest.mark.parametrize("odd", ODD_NUMBERS)
def test_numbers_that_only_python_reads_are_refused_in_lightgbm(odd, files, tmp_path):
    text = files["lightgbm"].read_text()
    for name in ("threshold", "leaf_value", "split_feature", "num_leaves", "max_feature_idx"):
        head, _, tail = text.partition(f"\n{name}=")
        first, space, rest = tail.partition(" " if " " in tail.partition("\n")[0] else "\n")
        assert first
        path = written(tmp_path / "m.txt", f"{head}\n{name}={odd}{space}{rest}")
        if (name, odd) in (("threshold", "inf"), ("threshold", "1e999")):
            continue  # all but the missing go left
        with pytest.raises(ModelFileError, match=r"m\.txt:\d+: "):
            import_model(path, "lightgbm")


@pytest.mark.parametrize("odd", ODD_NUMBERS)
def test_numbers_that_only_python_reads_are_refused_in_xgboost(odd, files, tmp_path):
    def tree(told):
        return told["learner"]["gradient_booster"]["model"]["trees"][0]

    places = [
        lambda told: (told["learner"]["learner_model_param"], "num_feature"),
        lambda told: (told["learner"]["learner_model_param"], "base_score"),
        lambda told: (told["learner"]["learner_model_param"], "num_class"),
        lambda told: (tree(told)["split_conditions"], 0),
        lambda told: (tree(told)["left_children"], 0),
    ]
    for place in places:
        told = json.loads(files["xgboost"].read_text())
        where, key = place(told)
        where[key] = odd
        path = written(tmp_path / "m.json", json.dumps(told))
        with pytest.raises(
            ModelFileError, match=r"m\.json: (expected|this JSON is not an XGBoost model)"
        ):
            import_model(path, "xgboost")


# --- CatBoost ---


def symmetric(path, rounds=20, data=GAPS, labels=Y, categories=None, **settings):
    made = catboost.CatBoost({
        "loss_function": "YetiRank", "iterations": rounds, "depth": 4, "thread_count": 1, "random_seed": 1,
        "allow_writing_files": False, "logging_level": "Silent", **settings,
    })  # fmt: skip
    queries = np.repeat(np.arange(len(SIZES)), SIZES)
    made.fit(catboost.Pool(data, labels, group_id=queries, cat_features=categories))
    made.save_model(str(path), format="json")
    return made


@pytest.mark.parametrize(
    "settings",
    [
        {"loss_function": "YetiRank"},
        {"loss_function": "QueryRMSE", "nan_mode": "Max"},
        {"loss_function": "RMSE", "boost_from_average": True},
        {"loss_function": "QuerySoftMax", "grow_policy": "Lossguide", "max_leaves": 9},
        {"loss_function": "PairLogit", "grow_policy": "Depthwise"},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_catboost_scores_as_there(settings, tmp_path):
    theirs = symmetric(tmp_path / "m.json", **settings)
    ranker = import_model(tmp_path / "m.json", "catboost")
    assert ranker.source == f"catboost {settings['loss_function']}"
    rows = np.vstack([GAPS, on_thresholds(ranker)])
    with np.errstate(over="ignore"):
        single = rows.astype(np.float32)
    for x in (rows, single):
        np.testing.assert_allclose(ranker.predict(x), theirs.predict(x), rtol=0, atol=1e-9)


def test_catboost_keeps_names(tmp_path):
    frame = pd.DataFrame(X, columns=["bm25", "age", "clicks", "year"])
    symmetric(tmp_path / "m.json", data=frame)
    ranker = import_model(tmp_path / "m.json", "catboost")
    assert ranker.feature_names_in_.tolist() == ["bm25", "age", "clicks", "year"]


def test_catboost_that_is_no_ranker_is_refused(tmp_path):
    path = tmp_path / "m.json"
    symmetric(path, loss_function="MultiClass")
    with pytest.raises(ModelFileError, match="expected one score per row, got 3"):
        import_model(path, "catboost")
    frame = pd.DataFrame(X).assign(colour=np.where(X[:, 0] > 0, "red", "blue"))
    symmetric(path, data=frame, categories=["colour"])
    with pytest.raises(ModelFileError, match="expected numeric features alone, got categorical"):
        import_model(path, "catboost")
    with pytest.raises(ModelFileError, match=r"m\.json: this JSON has no 'features_info'"):
        import_model(written(path, "[]"), "catboost")
    with pytest.raises(ModelFileError, match=r"m\.json: this is not the JSON of a CatBoost model"):
        import_model(written(path, "[" * 200_000), "catboost")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t["leaf_values"].pop(), "one number in each leaf, got 4 splits and 15 numbers"),
        (lambda t: t["leaf_values"].__setitem__(0, 1e999), "Infinity is not a number"),
        (lambda t: t["splits"][0].update(float_feature_index=4), "features 0 to 3, got 4"),
        (lambda t: t["splits"][0].update(split_type="OneHotFeature"), "got 'OneHotFeature'"),
        (lambda t: t["splits"][0].update(border="0"), "expected finite numbers, got '0'"),
        (lambda t: t["splits"].extend(20 * t["splits"]), "at most 16 splits"),
        (lambda t: t["splits"][0].pop("border"), "KeyError"),
    ],
)
def test_catboost_trees_that_are_none(change, message, tmp_path):
    path = tmp_path / "m.json"
    symmetric(path)
    document = json.loads(path.read_text())
    change(document["oblivious_trees"][1])
    path.write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=message) as error:
        import_model(path, "catboost")
    assert str(path) in str(error.value)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A small model of each program."""
    folder = tmp_path_factory.mktemp("models")
    boosted(folder / "xgboost.json", rounds=3, objective="rank:ndcg", max_depth=2)
    symmetric(folder / "catboost.json", rounds=3, depth=2)
    grown(folder / "lightgbm.txt", rounds=3, objective="lambdarank", num_leaves=4)
    rng = np.random.default_rng(0)
    written(folder / "ranklib.txt", f"## LambdaMART\n\n{ensemble(rng, depth=2)}")
    written(folder / "svmrank.txt", SVM.format(kernel=0, n=2, vectors="1 1:0.5 4:-2 #\n"))
    found = {path.stem: path for path in folder.iterdir()}
    assert set(found) == set(IMPORTERS)
    return found


@pytest.mark.parametrize("source", sorted(IMPORTERS))
def test_an_imported_ranker_is_a_ranker(source, files, tmp_path):
    ranker = import_model(files[source], source, feature_names=["a", "b", "c", "d"])
    data = RankingData.from_arrays(X, Y, qid=np.arange(600) // 15)
    assert 0 <= ranker.score(data) <= 1
    assert len(ranker.rank(data, k=3)) == 40
    assert set(feature_importance(ranker)) == {"a", "b", "c", "d"}
    assert np.isfinite(ranker.model_.contributions(X)).all()
    ranker.save(tmp_path / "m.podium")
    again = load(tmp_path / "m.podium")
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
    assert (again.source, again.n_features_in_) == (ranker.source, 4)
    for target in TARGETS:
        x = X.astype(np.float32)
        np.testing.assert_allclose(
            emulate(export_model(again, target), x), again.predict(x), rtol=1e-4, atol=1e-5
        )
    with pytest.raises(UsageError, match=f"imported from {source}"):
        ranker.fit(data)
    assert ImportedRanker.name not in RANKERS


def test_missing_values_in_an_imported_weighted_sum_are_an_error(files):
    ranker = import_model(files["svmrank"], "svmrank")
    with pytest.raises(PodiumError, match="expected finite features"):
        ranker.predict(GAPS)


@pytest.mark.parametrize("source", sorted(IMPORTERS))
def test_wrong_requests(source, files, tmp_path):
    with pytest.raises(UsageError, match="different feature names"):
        import_model(files[source], source, feature_names=["a", "a", "b", "c"])
    with pytest.raises((UsageError, ModelFileError), match="features"):
        import_model(files[source], source, n_features=2)
    with pytest.raises(UnknownNameError, match="unknown program"):
        import_model(files[source], "weka")
    with pytest.raises(UsageError, match="1 to 1048576 features"):
        import_model(files[source], source, n_features=0)
    with pytest.raises(OSError, match="no_such"):
        import_model(tmp_path / "no_such.txt", source)
    with pytest.raises(PodiumError, match="folder"):
        import_model(tmp_path, source)
    path = tmp_path / "bytes"
    path.write_bytes(b"tree\n\xff\xfe\x00")
    with pytest.raises(ModelFileError, match=r"bytes:2: the file is not UTF-8 text"):
        import_model(path, source)


@pytest.mark.parametrize("source", sorted(IMPORTERS))
@given(seed=st.integers(0, 2**32))
def test_damaged_files_never_end_otherwise_than_in_an_error(source, seed, files, tmp_path_factory):
    rng = random.Random(seed)
    text = files[source].read_text()
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randrange(len(text)), rng.choice([0, 1, 1, 5, 200])
        put = rng.choice(
            ["", "0", "-1", "9" * 12, "nan", "inf", "1e999", "<", "]", '"', "\n", "é", "\0"]
        )
        text = text[:at] + put + text[at + length :]
    path = tmp_path_factory.mktemp("damaged") / "m.txt"
    path.write_text(text)
    try:
        ranker = import_model(path, source)
        scores = ranker.predict(np.zeros((2, ranker.n_features_in_)))
    except PodiumError as error:
        assert len(str(error)) < 2000  # noqa: PT017 - any of podium's errors will do
    else:
        assert np.isfinite(scores).all()
