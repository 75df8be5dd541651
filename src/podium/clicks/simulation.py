"""Simulated logs with a known truth: loggers of any strength, users of any click model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from podium.clicks.click_model import ClickModel
from podium.clicks.click_sessions import ClickSessions
from podium.clicks.session_counts import SessionCounts
from podium.clicks.true_models import query_names, true_model
from podium.data import Groups, RankingData, check_seed
from podium.data.argument_checks import to_array
from podium.errors import DataError, UsageError
from podium.feedback.list_sums import StringCodes
from podium.typing import Bools, Floats, Ints

START_SECONDS = 1_740_000_000.0
"""The start of simulated logs, in seconds since 1970."""
LOG_SECONDS = 28 * 86_400.0
"""The length of simulated logs."""


def simulate(
    data: RankingData,
    logger: Any = 0,
    model: str | ClickModel | Mapping[str, str | ClickModel] = "pbm",
    sessions: int = 10_000,
    *,
    seed: int = 0,
    depth: int = 10,
    noise: float = 0.1,
    eta: float = 1.0,
    swap: float = 0.0,
    shuffle: int = 0,
    traffic: Literal["equal", "zipf"] = "equal",
    class_shares: Mapping[str, float] | None = None,
) -> ClickSessions:
    """Simulate sessions: a logger ranks the documents of a query, and a user of a click model clicks.

    Parameters
    ----------
    logger
        What ranks: the number or name of a feature, one score per row, or a fitted ranker. A mapping of
        several by name gives variants, which serve equal shares of the sessions at random.
    model
        The click model of the users: a name (its parameters are those of ``true_model``), a model, or
        either of them for each user class.
    sessions
        The number of sessions.
    depth
        Documents per list, at most.
    noise, eta
        As in ``true_model``, for models by name.
    swap
        The probability that the documents of two adjacent ranks are exchanged, for every pair of ranks; no
        document moves by more than one rank.
    shuffle
        So many documents at the top are in random order.
    traffic
        "equal": all queries have the same number of sessions (or one more). "zipf": the query at rank r of
        a random order has a share in proportion to 1 / r.
    class_shares
        User class -> its share of the sessions; by default the classes of `model` in equal shares.

    Examples
    --------
    >>> import podium
    >>> data = podium.make_synthetic(n_queries=20, seed=1)
    >>> simulate(data, logger=3, model="dbn", sessions=100, swap=0.05, seed=1)
    ClickSessions(100 sessions, 20 queries, 189 documents, 945 impressions, 89 clicks, variants: 3)
    """
    check_seed(seed)
    _check_settings(sessions, depth, swap, shuffle, traffic)
    rng = np.random.default_rng(seed)
    loggers = logger if isinstance(logger, Mapping) else {_logger_name(logger): logger}
    top = _TopLists.of(data, loggers, depth)
    query = _draw_queries(data.n_queries, sessions, traffic, rng)
    variant = rng.integers(len(loggers), size=sessions)
    order = np.broadcast_to(np.arange(top.rows.shape[2]), (sessions, top.rows.shape[2])).copy()
    lengths = top.lengths[query]
    _swap(order, lengths, swap, rng)
    _shuffle(order, lengths, shuffle, rng)
    is_row = order < lengths[:, None]
    rows = np.take_along_axis(top.rows[variant, query], order, axis=1)[is_row]
    models = model if isinstance(model, Mapping) else {"": model}
    user_class = _draw_classes(models, class_shares, sessions, rng)
    lists = ClickSessions(
        Groups.from_sizes(lengths), _codes(query_names(data), query),
        _codes([str(d) for d in data.require_docids("simulated clicks")], rows),
        np.zeros(len(rows), dtype=np.int16),
        START_SECONDS + np.sort(rng.random(sessions)).round(6) * LOG_SECONDS,
        _codes([str(name) for name in loggers], variant),
        user_class, order[is_row] + 1 if swap or shuffle else None,
        SessionCounts(records=len(rows), sessions=sessions),
    )  # fmt: skip
    return lists.with_clicks(
        _draw_clicks(lists, data, models, rng, noise=noise, eta=eta, depth=depth)
    )


def _check_settings(sessions: int, depth: int, swap: float, shuffle: int, traffic: str) -> None:
    if sessions < 1 or depth < 1:
        raise UsageError(f"expected sessions and a depth of 1 or more, got {sessions} and {depth}")
    if not 0 <= swap <= 0.5:
        raise UsageError(f"expected a probability of a swap from 0 to 0.5, got {swap}")
    if shuffle < 0 or traffic not in ("equal", "zipf"):
        raise UsageError(
            f"expected shuffle of 0 or more and traffic equal or zipf, got {shuffle} and {traffic!r}"
        )


@dataclass(frozen=True, eq=False)
class _TopLists:
    """The rows of the top of each list, by variant, query and place; -1 behind the end."""

    rows: Ints
    lengths: Ints

    @classmethod
    def of(cls, data: RankingData, loggers: Mapping[Any, Any], depth: int) -> _TopLists:
        lengths = np.minimum(data.groups.sizes, depth)
        rows = np.full((len(loggers), data.n_queries, int(lengths.max())), -1)
        is_in_list = data.groups.places < depth
        for number, logger in enumerate(loggers.values()):
            order = data.groups.order(logger_scores(data, logger))[is_in_list]
            rows[number, data.groups.codes[is_in_list], data.groups.places[is_in_list]] = order
        return cls(rows, lengths)


def logger_scores(data: RankingData, logger: Any) -> Floats:
    """Return the scores of a logger: the number or name of a feature, scores, or a fitted ranker."""
    if isinstance(logger, str):
        names = data.feature_names or ()
        if logger not in names:
            raise UsageError(f"expected a feature of the data as logger, got {logger!r}")
        logger = names.index(logger)
    if isinstance(logger, int | np.integer):
        if not 0 <= logger < data.X.shape[1]:
            raise UsageError(
                f"expected the number of a feature from 0 to {data.X.shape[1] - 1}, got {logger}"
            )
        return np.asarray(data.X[:, int(logger)], dtype=np.float64)
    scores = logger.predict(data) if hasattr(logger, "predict") else logger
    values = to_array(scores, "scores", np.float64)
    data.groups.check(values, "scores")
    if not np.isfinite(values).all():
        raise DataError("expected finite scores, got NaN or infinity")
    return values


def _logger_name(logger: Any) -> str:
    return str(logger) if isinstance(logger, str | int) else "logger"


def _draw_queries(n_queries: int, n: int, traffic: str, rng: np.random.Generator) -> Ints:
    if traffic == "equal":
        return rng.permutation(np.arange(n) % n_queries)
    share = 1.0 / rng.permutation(np.arange(1, n_queries + 1))
    return rng.choice(n_queries, size=n, p=share / share.sum())


def _swap(order: Ints, lengths: Ints, swap: float, rng: np.random.Generator) -> None:
    """Exchange adjacent places, each pair with probability `swap`, a place at most once; in place."""
    if swap == 0:
        return
    is_swapped = np.zeros(len(order), dtype=bool)
    for place in range(order.shape[1] - 1):
        # Pairs that overlap a swapped one are left alone, so the others are swapped more often.
        chance = swap if place == 0 else min(1.0, swap / (1 - swap))
        is_swapped = ~is_swapped & (rng.random(len(order)) < chance) & (place + 1 < lengths)
        order[is_swapped, place] += 1
        order[is_swapped, place + 1] -= 1


def _shuffle(order: Ints, lengths: Ints, n: int, rng: np.random.Generator) -> None:
    """Put the first n documents of each list into random order, in place."""
    n = min(n, order.shape[1])
    if n < 2:
        return
    key = rng.random((len(order), n))
    key[np.arange(n) >= lengths[:, None]] = 2.0  # places behind the end stay there
    order[:, :n] = np.take_along_axis(order[:, :n], np.argsort(key, axis=1, kind="stable"), axis=1)


def _draw_classes(
    models: Mapping[str, Any], shares: Mapping[str, float] | None, n: int, rng: np.random.Generator
) -> StringCodes:
    names = [*(models if shares is None else shares)]
    share = np.ones(len(names)) if shares is None else np.array([*shares.values()], dtype=float)
    if not (share >= 0).all() or not share.sum() > 0:
        raise UsageError(f"expected shares of 0 or more of user classes, got {shares}")
    if set(models) != {""} and set(names) != set(models):
        raise UsageError(f"expected shares of the classes {', '.join(models)}, got {shares}")
    if names == [""]:
        return StringCodes.of([None] * n)
    return _codes(names, rng.choice(len(names), size=n, p=share / share.sum()))


def _codes(names: list[str], numbers: Ints) -> StringCodes:
    """Return a column of names by their numbers."""
    column = StringCodes.of(names)
    return StringCodes(column.table, column.codes[numbers])


def _draw_clicks(
    lists: ClickSessions, data: RankingData, models: Mapping[str, str | ClickModel],
    rng: np.random.Generator, **truth: Any,
) -> Bools:  # fmt: skip
    """Return the clicks of each row, by the model of the user's class."""
    clicked = np.zeros(lists.groups.n_rows, dtype=bool)
    names = np.array([*lists.user_class.table, ""], dtype=object)[lists.user_class.codes]
    for name, model in models.items():
        own = np.flatnonzero(names == name) if name else np.arange(len(lists))
        users = true_model(data, model, **truth) if isinstance(model, str) else model
        _, rows = lists.groups.take(own)
        clicked[rows] = users.draw_clicks(lists.take(own), rng)
    return clicked
