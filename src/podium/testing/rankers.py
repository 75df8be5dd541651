"""The contract of a ranker: a scikit-learn estimator that never splits a query."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from podium.data import RankingData, concatenate, split
from podium.errors import PodiumError
from podium.metrics import NDCG, evaluate
from podium.rankers import Ranker, model_files
from podium.registry import MODELS, RANKERS_IN_FILES
from podium.testing.contract import Contract, query_ids, reorder, small_data


def check_ranker(ranker: Ranker, *, learns: bool = True, saves: bool = True) -> None:
    """Check that a ranker keeps the contract.

    Parameters
    ----------
    ranker
        A ranker with settings that fit small data quickly; it is cloned and never fitted itself.
    learns
        Whether it must beat a random order by 0.05 in NDCG@10 on an easy problem.
    saves
        Whether its models can be saved and loaded.

    Examples
    --------
    >>> from podium.rankers import RankSVM
    >>> check_ranker(RankSVM())
    """
    contract = Contract(type(ranker).__name__)
    data = small_data()
    _check_estimator(contract, ranker)
    fitted = _check_fit(contract, ranker, data)
    _check_predictions(contract, fitted, data)
    _check_lists(contract, fitted, data)
    _check_row_order(contract, ranker, fitted, data)
    _check_silent_queries(contract, ranker, data)
    _check_bad_input(contract, ranker, fitted, data)
    if learns:
        _check_learning(contract, ranker)
    if saves:
        _check_files(contract, fitted, data)


def _check_estimator(contract: Contract, ranker: Ranker) -> None:
    contract.require(isinstance(ranker, Ranker), "expected a subclass of podium.rankers.Ranker")
    contract.require(bool(getattr(ranker, "name", "")), "name must be set")
    contract.require(bool(type(ranker).__doc__), "the class must have a docstring")
    parameters = ranker.get_params(deep=False)
    unknown = sorted(name for name in ranker.grid if not ranker.has_parameter(name))
    contract.require(not unknown, f"grid names {unknown}, which are not parameters")
    same = clone(ranker).get_params(deep=False)
    contract.require(set(same) == set(parameters), "clone must keep the parameters")


def _check_fit(contract: Contract, ranker: Ranker, data: RankingData) -> Ranker:
    fitted: Ranker = clone(ranker)
    before = repr(ranker.get_params())
    contract.require(fitted.fit(data) is fitted, "fit must return the ranker")
    contract.require(repr(fitted.get_params()) == before, "fit must not change the parameters")
    contract.require(fitted.n_features_in_ == data.n_features, "fit must set n_features_in_")
    again = clone(ranker).fit(data)
    same = again.predict(data).tobytes() == fitted.predict(data).tobytes()
    contract.require(same, "the same seed must give the same bytes")
    X, y, qid = data.X, data.y, query_ids(data)
    # Without document ids on both sides: ids may decide between equal labels.
    plain = clone(ranker).fit(RankingData.from_arrays(X, y, qid=qid))
    clause = "fit(X, y, qid=qid) must learn what fit(data) learns"
    contract.require_equal(
        clone(ranker).fit(X, y, qid=qid).predict(data), plain.predict(data), clause
    )
    return fitted


def _check_predictions(contract: Contract, fitted: Ranker, data: RankingData) -> None:
    scores = fitted.predict(data)
    contract.require(scores.shape == (len(data),), "predict must give one score per row")
    contract.require(scores.dtype == np.float64, "scores must be float64")
    contract.require(bool(np.isfinite(scores).all()), "scores must be finite")
    contract.require(float(np.ptp(scores)) > 0, "scores must differ")
    unlabelled = data.with_labels(np.zeros(len(data)))
    contract.require_equal(fitted.predict(unlabelled), scores, "scores must not depend on labels")
    single = data.with_features(data.X.astype(np.float32))
    clause = "float32 features must give nearly the scores of float64 ones"
    contract.require_equal(
        fitted.predict(single), scores, clause, 1e-3 * max(1.0, float(np.ptp(scores)))
    )


def _check_lists(contract: Contract, fitted: Ranker, data: RankingData) -> None:
    scores = fitted.predict(data)
    lists = fitted.rank(data, k=3)
    contract.require([top.qid for top in lists] == data.qids.tolist(), "rank must keep all queries")
    for top, rows in zip(lists, data.groups.slices(), strict=True):
        best = np.sort(scores[rows])[::-1][:3]
        contract.require_equal(top.scores, best, "rank must give the k highest scores, best first")


def _check_row_order(contract: Contract, ranker: Ranker, fitted: Ranker, data: RankingData) -> None:
    moved, rows = reorder(data)
    scores = clone(ranker).fit(moved).predict(data)
    tolerance = 1e-6 * max(1.0, float(np.ptp(scores)))
    clause = "the order of queries and documents must not change what is learned"
    contract.require_equal(scores, fitted.predict(data), clause, tolerance)
    # `from_arrays` keeps queries in the order in which they appear, as `rows` has them.
    clause = "the order of rows must not change their scores"
    contract.require_equal(fitted.predict(moved), fitted.predict(data)[rows], clause, 1e-9)


def _check_silent_queries(contract: Contract, ranker: Ranker, data: RankingData) -> None:
    width = data.n_features
    silent = RankingData.from_arrays(
        np.random.default_rng(0).standard_normal((6, width)), [2, 1, 1, 0, 0, 0],
        qid=["one", "same", "same", "none", "none", "none"], docid=list("abcdef"),
    )  # fmt: skip
    scores = clone(ranker).fit(concatenate([silent, data])).predict(data)
    clause = "queries with one document or equal labels must not make scores infinite"
    contract.require(bool(np.isfinite(scores).all()), clause)


def _check_bad_input(contract: Contract, ranker: Ranker, fitted: Ranker, data: RankingData) -> None:
    contract.require_error(
        NotFittedError, lambda: clone(ranker).predict(data), "predict before fit"
    )
    narrow = data.with_features(np.array(data.X[:, :-1]))
    contract.require_error(
        PodiumError, lambda: fitted.predict(narrow), "predict with one feature missing"
    )
    contract.require_error(
        PodiumError, lambda: clone(ranker).fit(data.X, data.y), "arrays without qid"
    )
    equal = RankingData.from_arrays(data.X, np.ones(len(data)), qid=query_ids(data))
    contract.require_error(
        PodiumError, lambda: clone(ranker).fit(equal), "labels that are all equal"
    )


def _check_learning(contract: Contract, ranker: Ranker) -> None:
    train, test = split(small_data(60, seed=3), [0.7, 0.3], seed=0)
    metric: Any = NDCG(ties="average") @ 10
    random = evaluate(test, np.zeros(len(test)), metric)[metric].mean
    learned = clone(ranker).fit(train).score(test)
    clause = (
        f"the ranker must reach an NDCG@10 of {random + 0.05:.3f} on an easy problem, got "
        f"{learned:.3f}"
    )
    contract.require(learned > random + 0.05, clause)


def _check_files(contract: Contract, fitted: Ranker, data: RankingData) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.podium"
        fitted.save(path)
        loaded = model_files.load(path, {**RANKERS_IN_FILES, fitted.name: type(fitted)}, MODELS)
    same = loaded.predict(data).tobytes() == fitted.predict(data).tobytes()
    contract.require(same, "a model that is saved and loaded must give the same bytes")
