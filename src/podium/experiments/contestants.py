"""Contestants of a comparison: a ranker, its label, and the settings to try."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from sklearn.base import clone

from podium.data import Collection
from podium.errors import UnknownNameError, UsageError
from podium.experiments.fingerprint_inputs import plain_value
from podium.experiments.text_escapes import escape_text
from podium.rankers import Ranker, innermost_ranker
from podium.rankers.imported_ranker import ImportedRanker
from podium.rankers.tuning import Grid as Grid  # a public name of this room
from podium.registry import make_ranker


@dataclass(frozen=True, eq=False)
class Contestant:
    """A ranker and its label; validation chooses settings from `grid`, which may be empty."""

    label: str
    ranker: Ranker
    grid: Grid = field(repr=False)

    @property
    def has_choices(self) -> bool:
        """Whether there is more than one setting to choose from."""
        return any(isinstance(v, Sized) and len(v) > 1 for v in self.grid.values())

    def fingerprint_inputs(self) -> Any:
        """Return everything that its results depend on, as plain values."""
        return [plain_value(self.ranker), plain_value(dict(self.grid))]


def read_contestants(
    rankers: Any, *, tune: bool | Mapping[str, Grid] = True, seed: int = 0
) -> tuple[Contestant, ...]:
    """Return the contestants for names, rankers, or a mapping from labels to either.

    Rankers by name get the seed. Settings of a ranker that differ from the defaults are kept and
    not tuned.

    Examples
    --------
    >>> from podium.rankers import RankSVM
    >>> [(e.label, list(e.grid)) for e in read_contestants(["listnet", RankSVM(C=0.1)])]
    [('listnet', ['l2']), ('ranksvm', [])]
    >>> [e.label for e in read_contestants([RankSVM(C=0.1), RankSVM(C=10)])]
    ['RankSVM(C=0.1)', 'RankSVM(C=10)']
    """
    if not isinstance(tune, bool | Mapping):
        raise UsageError(
            f"expected tune to be True, False or grids by label, as in {{'ranksvm': {{'C': [1, 10]}}}}, "
            f"got {tune!r}"
        )
    by_label = {
        label: _make_ranker(entry, seed) for label, entry in _label_rankers(rankers).items()
    }
    if not by_label:
        raise UsageError("there is no ranker to compare; expected at least one")
    grids = tune if isinstance(tune, Mapping) else {}
    for label in grids:
        if label not in by_label:
            raise UnknownNameError("ranker with a grid", label, by_label)
    return tuple(
        Contestant(label, ranker, _make_grid(ranker, grids.get(label), tunes=tune is not False))
        for label, ranker in by_label.items()
    )


def open_rows(data: Any, contestants: Sequence[Contestant]) -> Any:
    """Return the rows of a collection: on disk if every ranker reads them there; other data as it is."""
    if not isinstance(data, Collection):
        return data
    in_memory = [c for c in contestants if not c.ranker.fits_from_disk]
    return (in_memory or contestants)[0].ranker.open_rows(data)


def _label_rankers(rankers: Any) -> dict[str, Any]:
    if isinstance(rankers, Mapping):
        return _check_different(
            [(" ".join(escape_text(label).split()), entry) for label, entry in rankers.items()]
        )
    if isinstance(rankers, str | Ranker):
        rankers = [rankers]
    if not isinstance(rankers, Iterable):
        raise UsageError(
            "expected a list of rankers or of names, such as ['ranksvm', "
            f"ListNet()], got {rankers!r}"
        )
    all_rankers = list(rankers)
    times = Counter(map(_name, all_rankers))
    return _check_different(
        [(_name(entry, full=times[_name(entry)] > 1), entry) for entry in all_rankers]
    )


def _name(ranker: Any, *, full: bool = False) -> str:
    """Return a ranker's name; with `full`, the ranker with its settings."""
    if not isinstance(ranker, Ranker):
        return str(ranker)
    return " ".join(repr(ranker).split()) if full else ranker.name


def _check_different(labelled: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return rankers by label; raise if two labels are the same."""
    times = Counter(label for label, _ in labelled)
    twice = next((label for label, count in times.items() if count > 1), None)
    if twice is not None:
        raise UsageError(
            f"two rankers have the label {twice}; use different labels, as in "
            "{'first': ..., 'second': ...}"
        )
    return dict(labelled)


def _make_ranker(entry: Any, seed: int) -> Ranker:
    if isinstance(entry, ImportedRanker):
        return entry  # another program trained it, and it cannot learn again
    if isinstance(entry, Ranker):
        ranker: Ranker = clone(entry)
        return ranker
    if not isinstance(entry, str):
        raise UsageError(
            f"expected a ranker or its name, as in 'ranksvm' or RankSVM(), got {entry!r}"
        )
    ranker = make_ranker(entry)
    return ranker.set_params(seed=seed) if "seed" in ranker.get_params(deep=False) else ranker


def _make_grid(ranker: Ranker, grid: Grid | None, *, tunes: bool) -> Grid:
    """Return the settings to try. A metric that the user has set on the ranker is not tuned."""
    chosen_by_user = innermost_ranker(ranker)
    defaults = _defaults(type(chosen_by_user))
    own = chosen_by_user.get_params(deep=False)
    changed = {
        name for name in own if name not in defaults or not _is_same(own[name], defaults[name])
    }
    if grid is None:
        grid = {n: v for n, v in ranker.grid.items() if n not in changed} if tunes else {}
    own_metric = (
        {"metric": (own["metric"],)} if "metric" in changed and "metric" not in grid else {}
    )
    return {**own_metric, **grid}


def _defaults(kind: type[Ranker]) -> dict[str, Any]:
    """Return the default of each parameter that has one."""
    from_factories = {
        f.name: f.default_factory() for f in fields(kind) if f.default_factory is not MISSING
    }
    parameters = inspect.signature(kind).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty} | from_factories


def _is_same(a: Any, b: Any) -> bool:
    return a is b or plain_value(a) == plain_value(b)
