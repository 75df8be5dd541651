"""Tree models: scored by the kernel, without LightGBM, in any memory order."""

import numpy as np
import pytest

import podium
from podium.data import make_synthetic
from podium.errors import PodiumError, UsageError
from tests.support.forked_code import run_code
from tests.support.paths import GOLDEN

TREES = GOLDEN / "trees-v1.podium"


def test_scores_are_those_of_lightgbm():
    data = make_synthetic(n_queries=30, n_features=5, truth="nonlinear", seed=0)
    model = podium.LambdaMART(trees=20).fit(data).model_
    expected = model.booster.predict(data.X, raw_score=True)
    assert model.predict(data.X).tobytes() == np.asarray(expected).tobytes()


def test_any_memory_order_and_number_type():
    data = make_synthetic(n_queries=10, n_features=4, seed=1)
    model = podium.LambdaMART(trees=5, min_leaf=5).fit(data).model_
    scores = model.predict(data.X)
    for other in (
        np.asfortranarray(data.X),
        np.ascontiguousarray(data.X[::-1])[::-1],
        np.concatenate([data.X, data.X], axis=1)[:, :4],
    ):
        assert model.predict(other).tobytes() == scores.tobytes()
    whole = np.round(data.X * 10)
    assert model.predict(whole.astype(np.int64)).tobytes() == model.predict(whole).tobytes()


def test_rows_of_another_width_are_refused():
    model = podium.load(TREES).model_
    with pytest.raises(UsageError, match=f"rows of {model.width} features"):
        model.predict(np.zeros((2, model.width + 1)))


@pytest.mark.parametrize("kind", ["trees", "stumps", "linear"])
@pytest.mark.parametrize(
    "rows",
    [
        np.full((2, 40), "word"),
        np.full((2, 40), object()),
        np.full((2, 40), 1j),
        np.zeros((2, 1)),
        np.zeros(40),
    ],
    ids=["text", "objects", "complex", "too narrow", "a vector"],
)
def test_rows_that_are_no_numbers_or_too_few_are_refused(kind, rows):
    ranker = podium.load(GOLDEN / f"{kind}-v1.podium")
    rows = rows[..., : ranker.n_features_in_]
    with pytest.raises(PodiumError, match="expected "):
        ranker.predict(rows)
    if kind != "linear":
        with pytest.raises(UsageError, match=r"expected (rows of|numbers as) "):
            ranker.model_.predict(rows)


def test_loading_and_scoring_do_not_import_lightgbm():
    code = (
        "import sys, numpy as np, podium\n"
        f"ranker = podium.load({str(TREES)!r})\n"
        "n = ranker.model_.width\n"
        "data = podium.RankingData.from_arrays(np.eye(n), np.zeros(n), qid=np.zeros(n, int))\n"
        "ranker.predict(data); ranker.rank(data, k=2)\n"
        "print('lightgbm' in sys.modules)"
    )
    done = run_code(code)
    assert done.stdout == "False\n", done.stderr
