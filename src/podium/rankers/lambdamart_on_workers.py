"""LambdaMART on a cluster: LightGBM's data-parallel trees, stopped by podium's metric on validation parts.

Each machine has whole queries: parts are never cut. In each round LightGBM's machines add up histograms, and
podium's add up the metric over their own validation queries. So all of them stop after the same round.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from podium.data import RankingData, shuffle
from podium.data.collections.collection_parts import CollectionPart
from podium.data.concatenation import concatenate
from podium.data.row_selection import SelectedData
from podium.errors import DataError, UsageError
from podium.losses import Loss
from podium.metrics import Metric
from podium.metrics.ranked_lists import RankedLists
from podium.optim import Patience
from podium.optim.linear_problem import check_finite
from podium.rankers.fit_monitor import FitMonitor
from podium.rankers.fit_result import FitResult
from podium.rankers.lightgbm_checks import trees_alone
from podium.rankers.lightgbm_rounds import follow, kept_scores, label_gains
from podium.rankers.remote_rows import RemoteRows, read_parts, remote_rows
from podium.rankers.round_sums import TOKEN_BYTES, RoundSums, round_sums
from podium.rankers.training_objective import TrainingObjective
from podium.rankers.tree_model import Trees, lightgbm
from podium.task_runner import DelayedCall, LostMachineError, Machine
from podium.typing import Bools, Floats

NETWORK_MINUTES = 2
"""How long LightGBM's machines wait for each other at the start."""


@dataclass(frozen=True, eq=False)
class PartQueries:
    """Consecutive parts, and which of their queries are for training (None: all) and for validation."""

    parts: Sequence[CollectionPart]
    train: Bools | None
    valid: Bools | None


@dataclass(frozen=True, eq=False)
class BoostingPlan:
    """What all machines of a fit share."""

    ranker: Any
    loss: str | Loss
    metric: Metric
    levels: Floats
    """The labels of the training documents, from low to high."""
    top_label: float
    """The highest label of the validation documents, the scale of ERR."""
    token: bytes
    """Random bytes that the machines of one attempt know, and no other program."""


@dataclass(frozen=True)
class BoostedRounds:
    """The trees of all rounds, and the objective and the validation metric (NaN: none) after each."""

    trees: str
    steps: tuple[tuple[float, float], ...]


def boost_on_workers(ranker: Any, train: RankingData, monitor: FitMonitor) -> FitResult:
    """Grow trees over the parts of a collection, on the workers that are there."""
    remote = remote_rows(train)
    assert remote is not None
    valid = monitor.valid
    loss = ranker.choose_loss(train)
    labels = train.y if valid is None else valid.y
    plan = BoostingPlan(ranker, loss, monitor.metric, np.unique(train.y), float(labels.max()), b"")
    if loss == "lambdarank":
        label_gains(plan.levels)  # raises before workers start
    groups = [*_training_parts(remote, train, valid), *_validation_parts(remote, valid)]
    shipped = valid if valid is not None and remote_rows(valid) is None else None
    remote.forget()

    def make_calls(machines: Sequence[Machine]) -> list[DelayedCall]:
        shares = _deal_out(groups, len(machines))
        own = _cut_queries(shipped, len(shares))
        attempt = replace(plan, token=secrets.token_bytes(TOKEN_BYTES))
        return [
            (_boost_share, (attempt, share, own[number], machines[: len(shares)], number), {})
            for number, share in enumerate(shares)
        ]

    n_most = sum(map(_has_training, _single_parts(groups)))
    rounds = remote.runner.run_together(make_calls, n_most)[0]
    booster = lightgbm().Booster(model_str=rounds.trees)
    for number, (objective, metric) in enumerate(rounds.steps, start=1):
        model = _first_rounds(booster, number, train.n_features)
        monitor.record(objective, None if np.isnan(metric) else metric, model)
    if monitor.model is None:
        raise DataError(
            f"{ranker.name} cannot split the data: each leaf needs {ranker.min_leaf} documents (min_leaf)"
        )
    return FitResult(monitor.model)


def _training_parts(
    remote: RemoteRows, train: RankingData, valid: RankingData | None
) -> list[PartQueries]:
    """Return the parts with the queries that are in `train`, and those of them that were held out."""
    in_train = _selected_queries(remote, train)
    held_out = valid is not None and remote_rows(valid) is remote
    in_valid = _selected_queries(remote, valid) if valid is not None and held_out else None
    groups, first = [], 0
    for part in remote.part_groups:
        own = slice(first, first + sum(p.record.queries for p in part))
        groups.append(PartQueries(part, in_train[own], None if in_valid is None else in_valid[own]))
        first = own.stop
    return groups


def _validation_parts(remote: RemoteRows, valid: RankingData | None) -> list[PartQueries]:
    """Return the parts of another collection, whose queries only validate."""
    other = None if valid is None else remote_rows(valid)
    if other is None or other is remote:
        return []
    none = [np.zeros(sum(p.record.queries for p in parts), np.bool_) for parts in other.part_groups]
    return [PartQueries(parts, n, ~n) for parts, n in zip(other.part_groups, none, strict=True)]


def _selected_queries(remote: RemoteRows, data: RankingData) -> Bools:
    """Return which queries of a collection are among the selected ones."""
    is_selected = np.ones(len(remote), np.bool_)
    if isinstance(data, SelectedData):
        is_selected = np.zeros(len(remote), np.bool_)
        is_selected[data.rows] = True
    return is_selected[remote.groups.offsets[:-1]]


def _deal_out(groups: Sequence[PartQueries], n: int) -> list[list[PartQueries]]:
    """Return at most n shares of about as many rows each; each has a part to train on."""
    singles = sorted(
        _single_parts(groups), key=lambda s: (not _has_training(s), -s.parts[0].record.rows)
    )
    shares: list[list[PartQueries]] = [[] for _ in range(min(n, sum(map(_has_training, singles))))]
    sizes = [0] * len(shares)
    for single in singles:
        smallest = sizes.index(min(sizes))
        shares[smallest].append(single)
        sizes[smallest] += single.parts[0].record.rows
    return shares


def _single_parts(groups: Sequence[PartQueries]) -> list[PartQueries]:
    """Return each part of the groups by itself."""
    return [
        PartQueries(
            [part], *(_of_part(mask, group.parts, i) for mask in (group.train, group.valid))
        )
        for group in groups
        for i, part in enumerate(group.parts)
    ]


def _has_training(queries: PartQueries) -> bool:
    """Whether a query is for training."""
    return queries.train is None or bool(queries.train.any())


def _cut_queries(data: RankingData | None, n: int) -> list[RankingData | None]:
    """Return n pieces of about as many queries each; None: a piece without queries."""
    if data is None:
        return [None] * n
    pieces = np.array_split(np.arange(data.n_queries), n)
    return [data.subset(queries) if len(queries) else None for queries in pieces]


def _of_part(mask: Bools | None, parts: Sequence[CollectionPart], number: int) -> Bools | None:
    """Return the mask of one part's queries."""
    first = sum(part.record.queries for part in parts[:number])
    return None if mask is None else mask[first : first + parts[number].record.queries]


def _first_rounds(booster: Any, rounds: int, width: int) -> Any:
    return lambda: Trees(trees_alone(booster.model_to_string(num_iteration=rounds)), width)


# --- on a worker


def _boost_share(
    plan: BoostingPlan,
    share: Sequence[PartQueries],
    shipped: RankingData | None,
    machines: Sequence[Machine],
    number: int,
) -> BoostedRounds:
    """Grow trees together with the other machines; all of them return the same."""
    rows = [(read_parts(group.parts), group) for group in share]
    train = _take(rows, "train")
    valid = _take(rows, "valid") or shipped
    assert train is not None
    train = shuffle(train, plan.ranker.seed)
    own = plan.loss if isinstance(plan.loss, str) else None
    custom = None
    if isinstance(plan.loss, Loss):
        custom = TrainingObjective.from_loss(
            plan.loss, train, seed=plan.ranker.seed, reduction="sum"
        )
    with (
        _clear_errors(plan.ranker.name),
        round_sums(machines, number, plan.token) as add_up,
    ):
        booster = _make_booster(plan, train, own, valid, machines, number)
        try:
            return _grow(plan, booster, custom, (train, valid), add_up)
        finally:
            booster.free_network()


_NETWORK_TROUBLE = re.compile(r"socket|bind|connect|listen|network|local machine", re.IGNORECASE)
"""What LightGBM's messages about its connections have in common."""


@contextmanager
def _clear_errors(name: str) -> Iterator[None]:
    """Turn LightGBM's errors into those of podium."""
    try:
        yield
    except lightgbm().basic.LightGBMError as error:
        if _NETWORK_TROUBLE.search(str(error)):
            raise LostMachineError(f"LightGBM's machines lost each other: {error}") from None
        raise UsageError(f"LightGBM refuses the settings of {name}: {error}") from None


def _take(rows: Sequence[tuple[RankingData, PartQueries]], purpose: str) -> RankingData | None:
    """Return the queries of this worker for training or for validation; None if there are none."""
    pieces = []
    for data, group in rows:
        mask = getattr(group, purpose)
        if mask is None and purpose == "train":
            pieces.append(data)
        elif mask is not None and mask.any():
            pieces.append(data.subset(mask))
    return concatenate(pieces) if pieces else None  # raises if a query is in two pieces


def _make_booster(
    plan: BoostingPlan,
    train: RankingData,
    own: str | None,
    valid: RankingData | None,
    machines: Sequence[Machine],
    number: int,
) -> Any:
    lgb = lightgbm()
    parameters = plan.ranker.boosting_parameters(train, own)
    labels: Any = train.y
    if own == "lambdarank":
        labels = np.searchsorted(plan.levels, train.y)
        parameters["label_gain"] = label_gains(plan.levels)
    if len(machines) > 1:
        parameters |= {
            "tree_learner": "data", "pre_partition": True, "num_machines": len(machines),
            "machines": ",".join(f"{machine.host}:{machine.ports[0]}" for machine in machines),
            "local_listen_port": machines[number].ports[0], "time_out": NETWORK_MINUTES,
        }  # fmt: skip
    weight = train.query_weight
    columns: dict[str, Any] = {}
    if own:
        columns = {"group": train.groups.sizes}
        if weight is not None:
            columns["weight"] = train.groups.spread(weight)
    # Not constructed before the booster, which connects the machines: they choose bins together.
    dataset = lgb.Dataset(train.X, labels, params=parameters, free_raw_data=True, **columns)
    booster = lgb.Booster(parameters, dataset)
    if valid is not None:
        plain = {name: parameters[name] for name in ("num_threads", "verbosity")}
        booster.add_valid(dataset.create_valid(valid.X, params=plain), "valid")
    return booster


def _grow(
    plan: BoostingPlan,
    booster: Any,
    custom: TrainingObjective | None,
    data: tuple[RankingData, RankingData | None],
    add_up: RoundSums,
) -> BoostedRounds:
    """Add trees until no split is possible, or the metric of all validation queries stops to rise."""
    train, valid = data
    on_train = _QuerySums(train, plan.metric, float(plan.levels[-1]))
    on_valid = None if valid is None else _QuerySums(valid, plan.metric, plan.top_label)
    stop, steps = Patience(plan.ranker.patience), []
    for rounds in range(1, plan.ranker.trees + 1):
        objective = None if custom is None else custom.redraw(rounds)
        if objective is None:
            finished, value = booster.update(), 0.0
        else:
            finished, value = follow(booster, objective)
        sums = (0.0, 0.0) if objective else on_train(kept_scores(booster.eval_train))
        valid_sums = (0.0, 0.0) if on_valid is None else on_valid(kept_scores(booster.eval_valid))
        total, trained, weight, metric, valid_weight = add_up([value, *sums, *valid_sums])
        value = total if objective else 1 - trained / max(weight, 1e-300)
        check_finite(value, rounds)
        if finished:  # no split improves the loss any more
            break
        mean = metric / valid_weight if valid_weight else float("nan")
        steps.append((value, mean))
        if valid_weight and stop(mean):
            break
    return BoostedRounds(booster.model_to_string(num_iteration=len(steps)), tuple(steps))


class _QuerySums:
    """The sum of a metric over the queries of this machine, and the sum of their weights."""

    def __init__(self, data: RankingData, metric: Metric, top_label: float) -> None:
        self.data, self.metric, self.top_label = data, metric, top_label
        self._lists: RankedLists | None = None

    def __call__(self, scores: Floats) -> tuple[float, float]:
        if self._lists is None:
            lists = RankedLists.of_scores(self.data, scores)
            self._lists = replace(lists, scale_top=self.top_label)
        else:
            self._lists = self._lists.with_scores(self.data.check_scores(scores))
        values = self.metric.per_query(self._lists)
        weight = np.ones(len(values)) if self._lists.weight is None else self._lists.weight
        has_value = ~np.isnan(values)
        return float(np.sum((values * weight)[has_value])), float(np.sum(weight[has_value]))
