"""Who takes part in a comparison: a ranker, its label, and the settings to be tried."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from podium.errors import UnknownNameError, UsageError
from podium.experiments.pieces import readable
from podium.rankers import Ranker
from podium.registry import make_ranker

Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Entrant:
    """A ranker under its label; `grid` has what validation chooses from, empty where nothing is."""

    label: str
    ranker: Ranker
    grid: Grid = field(repr=False)

    def told(self) -> Any:
        """All that its results depend on, as plain values."""
        return [_plain(self.ranker), _plain(dict(self.grid))]


def as_entrants(
    rankers: Any, *, tune: bool | Mapping[str, Grid] = True, seed: int = 0
) -> tuple[Entrant, ...]:
    """Names, rankers, or a mapping from labels to either.

    Rankers by name get the seed. Of a ranker with settings other than the defaults those are kept:
    what is set is not tried.

    Examples
    --------
    >>> from podium.rankers import RankSVM
    >>> [(e.label, list(e.grid)) for e in as_entrants(["listnet", RankSVM(C=0.1)])]
    [('listnet', ['l2']), ('ranksvm', [])]
    >>> [e.label for e in as_entrants([RankSVM(C=0.1), RankSVM(C=10)])]
    ['RankSVM(C=0.1)', 'RankSVM(C=10)']
    """
    made = {label: _made(given, seed) for label, given in _labelled(rankers).items()}
    if not made:
        raise UsageError("expected at least one ranker to compare, got none")
    grids = tune if isinstance(tune, Mapping) else {}
    for label in grids:
        if label not in made:
            raise UnknownNameError("ranker with a grid", label, made)
    return tuple(
        Entrant(label, ranker, _grid(ranker, grids.get(label), wanted=tune is not False))
        for label, ranker in made.items()
    )


def _labelled(rankers: Any) -> dict[str, Any]:
    if isinstance(rankers, Mapping):
        return {readable(label): given for label, given in rankers.items()}
    if isinstance(rankers, str | Ranker):
        rankers = [rankers]
    if not isinstance(rankers, Iterable):
        raise UsageError(f"expected rankers to compare, by name or as they are, got {rankers!r}")
    given = list(rankers)
    names = [one.name if isinstance(one, Ranker) else str(one) for one in given]
    often = Counter(names)
    labels = [
        name
        if often[name] == 1
        else " ".join(repr(one).split())
        if isinstance(one, Ranker)
        else name
        for name, one in zip(names, given, strict=True)
    ]
    twice = next((label for label, times in Counter(labels).items() if times > 1), None)
    if twice is not None:
        raise UsageError(
            f"expected different rankers, got {twice} twice; give labels, as in "
            "{'first': ..., 'second': ...}"
        )
    return dict(zip(labels, given, strict=True))


def _made(given: Any, seed: int) -> Ranker:
    if isinstance(given, Ranker):
        ranker: Ranker = clone(given)
        return ranker
    if not isinstance(given, str):
        raise UsageError(
            f"expected a ranker or its name, as in 'ranksvm' or RankSVM(), got {given!r}"
        )
    ranker = make_ranker(given)
    return ranker.set_params(seed=seed) if "seed" in ranker.get_params(deep=False) else ranker


def _grid(ranker: Ranker, given: Grid | None, *, wanted: bool) -> Grid:
    """What is tried. A metric of the ranker's own is kept, as its only value."""
    defaults = type(ranker)().get_params(deep=False)
    own = ranker.get_params(deep=False)
    changed = {name for name in own if _plain(own[name]) != _plain(defaults[name])}
    if given is None:
        given = {n: v for n, v in ranker.grid.items() if n not in changed} if wanted else {}
    kept = {"metric": (own["metric"],)} if "metric" in changed and "metric" not in given else {}
    return {**kept, **given}


def _plain(value: Any) -> Any:
    """A setting as JSON has it: two that differ never look the same."""
    if value is None or isinstance(value, bool | int | float | str):
        return [type(value).__name__, repr(value)]
    if isinstance(value, np.ndarray):
        content = value.tobytes() if value.dtype != object else repr(value.tolist()).encode()
        return [str(value.dtype), list(value.shape), hashlib.sha256(content).hexdigest()]
    if isinstance(value, BaseEstimator):
        return [_kind(value), _plain(value.get_params(deep=False))]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        own = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return [_kind(value), _plain(own)]
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, Sequence):
        return [_kind(value), [_plain(one) for one in value]]
    return [_kind(value), repr(value)]


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
