"""Who takes part in a comparison: a ranker, its label, and the settings to be tried."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from sklearn.base import clone

from podium.errors import UnknownNameError, UsageError
from podium.experiments.checkpoints import readable
from podium.experiments.identity import plain
from podium.rankers import Ranker
from podium.rankers.imported import Imported
from podium.registry import make_ranker

Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Contestant:
    """A ranker under its label; `grid` has what validation chooses from, empty where nothing is."""

    label: str
    ranker: Ranker
    grid: Grid = field(repr=False)

    @property
    def chosen(self) -> bool:
        """Whether there is anything to choose."""
        return any(isinstance(v, Sized) and len(v) > 1 for v in self.grid.values())

    def told(self) -> Any:
        """All that its results depend on, as plain values."""
        return [plain(self.ranker), plain(dict(self.grid))]


def as_contestants(
    rankers: Any, *, tune: bool | Mapping[str, Grid] = True, seed: int = 0
) -> tuple[Contestant, ...]:
    """Names, rankers, or a mapping from labels to either.

    Rankers by name get the seed. Of a ranker with settings other than the defaults those are kept:
    what is set is not tried.

    Examples
    --------
    >>> from podium.rankers import RankSVM
    >>> [(e.label, list(e.grid)) for e in as_contestants(["listnet", RankSVM(C=0.1)])]
    [('listnet', ['l2']), ('ranksvm', [])]
    >>> [e.label for e in as_contestants([RankSVM(C=0.1), RankSVM(C=10)])]
    ['RankSVM(C=0.1)', 'RankSVM(C=10)']
    """
    if not isinstance(tune, bool | Mapping):
        raise UsageError(
            f"expected tune to be True, False or grids by label, as in {{'ranksvm': {{'C': [1, 10]}}}}, "
            f"got {tune!r}"
        )
    made = {label: _made(one, seed) for label, one in _labelled(rankers).items()}
    if not made:
        raise UsageError("expected at least one ranker to compare, got none")
    grids = tune if isinstance(tune, Mapping) else {}
    for label in grids:
        if label not in made:
            raise UnknownNameError("ranker with a grid", label, made)
    return tuple(
        Contestant(label, ranker, _grid(ranker, grids.get(label), wanted=tune is not False))
        for label, ranker in made.items()
    )


def _labelled(rankers: Any) -> dict[str, Any]:
    if isinstance(rankers, Mapping):
        return _once([(" ".join(readable(label).split()), one) for label, one in rankers.items()])
    if isinstance(rankers, str | Ranker):
        rankers = [rankers]
    if not isinstance(rankers, Iterable):
        raise UsageError(f"expected rankers to compare, by name or as they are, got {rankers!r}")
    all_rankers = list(rankers)
    often = Counter(map(_name, all_rankers))
    return _once([(_name(one, full=often[_name(one)] > 1), one) for one in all_rankers])


def _name(ranker: Any, *, full: bool = False) -> str:
    """A ranker's name, or with its settings in full."""
    if not isinstance(ranker, Ranker):
        return str(ranker)
    return " ".join(repr(ranker).split()) if full else ranker.name


def _once(labelled: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """By label, if each label is another one."""
    often = Counter(label for label, _ in labelled)
    twice = next((label for label, times in often.items() if times > 1), None)
    if twice is not None:
        raise UsageError(
            f"expected different rankers, got {twice} twice; give labels that differ, as in "
            "{'first': ..., 'second': ...}"
        )
    return dict(labelled)


def _made(given: Any, seed: int) -> Ranker:
    if isinstance(given, Imported):
        return given  # what it knows it has not learned here, and would not learn again
    if isinstance(given, Ranker):
        ranker: Ranker = clone(given)
        return ranker
    if not isinstance(given, str):
        raise UsageError(
            f"expected a ranker or its name, as in 'ranksvm' or RankSVM(), got {given!r}"
        )
    ranker = make_ranker(given)
    return ranker.set_params(seed=seed) if "seed" in ranker.get_params(deep=False) else ranker


def _grid(ranker: Ranker, grid: Grid | None, *, wanted: bool) -> Grid:
    """What is tried. A metric of the ranker's own is kept, as its only value."""
    usual = _defaults(type(ranker))
    own = ranker.get_params(deep=False)
    changed = {name for name in own if name not in usual or not _same(own[name], usual[name])}
    if grid is None:
        grid = {n: v for n, v in ranker.grid.items() if n not in changed} if wanted else {}
    kept = {"metric": (own["metric"],)} if "metric" in changed and "metric" not in grid else {}
    return {**kept, **grid}


def _defaults(kind: type[Ranker]) -> dict[str, Any]:
    """The parameters that need not be given, with what they are then."""
    made = {f.name: f.default_factory() for f in fields(kind) if f.default_factory is not MISSING}
    parameters = inspect.signature(kind).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty} | made


def _same(one: Any, other: Any) -> bool:
    return one is other or plain(one) == plain(other)
