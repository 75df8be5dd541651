"""Wrapped rankers: a ranker around another one, which decides what a fit depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Self

from numpy.typing import ArrayLike

from podium.errors import UsageError
from podium.rankers.parameters import check_parameters
from podium.rankers.ranker import Ranker
from podium.typing import Floats


@dataclass(kw_only=True, eq=False, repr=False)
class WrappedRanker(Ranker):
    """A ranker around another one.

    Its own parameters come first; other names are those of the inner ranker, in `tune` without a
    prefix, in ``set_params`` as ``ranker__C``.

    Parameters
    ----------
    ranker
        The inner ranker, or its name, as in "listnet".
    """

    # Some inner models need query ids: predict requests them, too.
    __metadata_request__predict = {"qid": True}  # noqa: RUF012 - read by scikit-learn

    ranker: Ranker = field(kw_only=False)

    def __post_init__(self) -> None:
        if isinstance(self.ranker, str):
            # The registry has the rankers of all rooms and imports this one: it is imported for a name only.
            self.ranker = import_module("podium.registry").make_ranker(self.ranker)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as scikit-learn does; `ranker` may be a name here, too."""
        super().set_params(**params)
        self.__post_init__()
        return self

    def predict(
        self, X: Any, *, qid: ArrayLike | None = None, ignore_scaling: bool = False
    ) -> Floats:
        """Return one score per row, in the order of rows.

        Parameters
        ----------
        X
            RankingData, or a data frame of raw features; an array for a model without categories.
        qid
            The query of each row of an array, for models that need all documents of a query.
        ignore_scaling
            Whether to accept RankingData that is scaled differently from the training data.
        """
        if qid is None:
            return super().predict(X, ignore_scaling=ignore_scaling)
        return self.predict_by_query(X, qid)

    def check_settings(self) -> None:
        """Raise if the settings of the inner ranker are wrong."""
        check_parameters(self.ranker, self.ranker.name)
        self.ranker.check_settings()

    # --- what a fit depends on: the inner ranker decides ---

    @property
    def accepts_missing(self) -> bool:  # type: ignore[override]
        """Whether missing values are accepted."""
        if not isinstance(self.ranker, Ranker):
            raise UsageError(
                f"expected ranker of {self.name} to be a ranker, as in RankSVM(), got {self.ranker!r:.80}"
            )
        return self.ranker.accepts_missing

    @property
    def grid(self) -> Mapping[str, Sequence[Any]]:  # type: ignore[override]
        """The values that `tune` tries by default: those of the ranker."""
        return self.ranker.grid

    @property
    def validation_fraction(self) -> float:
        """The share of the queries that is held out if there is no validation data."""
        return self.ranker.validation_fraction

    def parameter_path(self, name: str) -> str:
        """Return the name of a parameter for set_params; parameters of the ranker need no prefix here."""
        is_own = name in self.get_params()
        return name if is_own else f"ranker__{self.ranker.parameter_path(name)}"

    def has_parameter(self, name: str) -> bool:
        """Whether this ranker or the inner one has a parameter of this name."""
        return super().has_parameter(name) or self.ranker.has_parameter(name)

    def needs_validation(self) -> bool:
        """Whether queries are held out if there is no validation data."""
        return self.ranker.needs_validation()

    def validation_metric(self) -> str:
        """Return the metric on the validation queries."""
        return self.ranker.validation_metric()


def innermost_ranker(ranker: Ranker) -> Ranker:
    """Return the ranker inside all wrappers; without any, the ranker itself.

    Examples
    --------
    >>> from podium.rankers import Prepared, RankSVM
    >>> innermost_ranker(Prepared(RankSVM())), innermost_ranker(RankSVM())
    (RankSVM(), RankSVM())
    """
    while isinstance(ranker, WrappedRanker):
        ranker = ranker.ranker
    return ranker
