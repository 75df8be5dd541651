"""A ranker as a regressor of scikit-learn on rows that have no queries: all rows are one list."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from podium.errors import DataError, UsageError
from podium.rankers import Ranker, RankSVM
from podium.typing import Floats, Ints

DEFAULT_GRADES = 5


class OneQueryRegressor(RegressorMixin, BaseEstimator):
    """A ranker for programs that know rows and targets but no queries.

    All rows of a fit, of a prediction or of a score are one list. Targets are real numbers: the larger, the
    further to the top. They become grades, because rankers learn from grades.

    Parameters
    ----------
    ranker
        The ranker that is fitted; a clone of it is. None: `RankSVM()`.
    grades
        The number of grades. At most so many different targets are ranks 0, 1, ...; more are cut into
        parts of about equal size.

    Attributes
    ----------
    ranker_
        The fitted ranker.

    Examples
    --------
    >>> X = np.arange(12.0).reshape(-1, 1)
    >>> regressor = OneQueryRegressor(RankSVM()).fit(X, -3 * X[:, 0])
    >>> scores = regressor.predict(X)
    >>> bool((np.diff(scores) < 0).all())
    True
    >>> regressor.score(X, -3 * X[:, 0])  # NDCG@10
    1.0
    """

    def __init__(self, ranker: Ranker | None = None, grades: int = DEFAULT_GRADES) -> None:
        self.ranker = ranker
        self.grades = grades

    def fit(self, X: Any, y: ArrayLike | None) -> Self:
        """Fit a clone of the ranker to the rows as one query."""
        ranker = RankSVM() if self.ranker is None else self.ranker
        if not isinstance(ranker, Ranker):
            raise UsageError(f"expected a ranker, as in RankSVM(), got {ranker!r:.80}")
        matrix, targets = validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2,
            ensure_all_finite=self._finiteness(),
        )  # fmt: skip
        labels = cut_into_grades(targets, self.grades)
        own: Ranker = clone(ranker)
        # `fit` refuses searches of scikit-learn that pass no query ids; here there are none to pass.
        self.ranker_ = own.fit_data(own.ranking_data(matrix, labels, _one_query(matrix)))
        return self

    def predict(self, X: Any) -> Floats:
        """Return one score per row; only their order means something."""
        check_is_fitted(self, "ranker_")
        matrix = validate_data(
            self, X, dtype=np.float64, reset=False, ensure_all_finite=self._finiteness()
        )
        ranker: Ranker = self.ranker_
        return ranker.predict_by_query(matrix, _one_query(matrix))

    def score(self, X: Any, y: ArrayLike, sample_weight: None = None) -> float:
        """Return the NDCG@10 of the rows as one query; rows of one query have no weights."""
        if sample_weight is not None:
            raise UsageError("expected no sample_weight: rows of one query have no weights")
        check_is_fitted(self, "ranker_")
        matrix, targets = validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, reset=False,
            ensure_all_finite=self._finiteness(),
        )  # fmt: skip
        labels = cut_into_grades(targets, self.grades)
        ranker: Ranker = self.ranker_
        return ranker.score(matrix, labels, qid=_one_query(matrix))

    def _finiteness(self) -> bool | str:
        return "allow-nan" if self.__sklearn_tags__().input_tags.allow_nan else True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = getattr(self.ranker, "accepts_missing", False)
        tags.regressor_tags.poor_score = True  # scores have no scale, and `score` is no R²
        return tags


def cut_into_grades(targets: Floats, grades: int = DEFAULT_GRADES) -> Floats:
    """Return grades 0, 1, ... of real numbers; equal numbers have equal grades.

    Examples
    --------
    >>> cut_into_grades(np.array([-1.5, 20.0, 3.0, -1.5])).tolist()
    [0.0, 2.0, 1.0, 0.0]
    >>> cut_into_grades(np.arange(6.0), grades=3).tolist()
    [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]
    """
    if not isinstance(grades, int) or grades < 2:
        raise UsageError(f"expected grades of 2 or more, a whole number, got {grades!r:.80}")
    values, codes, counts = np.unique(targets, return_inverse=True, return_counts=True)
    if len(values) < 2:
        raise DataError(
            f"expected targets that differ, got {len(targets)} of the value {targets[0]:g}; nothing can be "
            "learned from them"
        )
    if len(values) <= grades:
        return codes.astype(np.float64)
    middle = np.cumsum(counts) - counts / 2  # of the places of equal targets
    levels = (middle * grades // len(targets)).astype(np.int64)
    return np.unique(levels, return_inverse=True)[1][codes].astype(np.float64)


def _one_query(matrix: Floats) -> Ints:
    return np.zeros(len(matrix), dtype=np.int64)
