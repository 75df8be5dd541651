"""Records of experiments in logs: which list a request got, and which ranker placed each document."""

from __future__ import annotations

from typing import Literal

import msgspec

Unit = Literal["session", "user", "list"]
"""What is assigned as a whole: all lists of a session, all lists of a user, or each list by itself."""
ExperimentMethod = Literal["team-draft", "balanced", "optimised", "ab"]


class ListAttributes(msgspec.Struct, omit_defaults=True, kw_only=True, gc=False):
    """The `query_attributes` of a list that an experiment or a swap has changed.

    `arm` (0 or 1) and `share` (that of arm 1) are those of A/B tests; `teams`, `credits` and `ranks` are
    those of `InterleavedList`, for the documents of `query_response_hit_ids`. `base_positions` has the
    positions before the swaps, from 1. `seed` is that of the hash that gives arms. `rules` names the rules
    of the service that are on for the request, if an arm has no rules: those of the other arm act.
    """

    variant: str | None = None
    experiment: str | None = None
    method: ExperimentMethod | None = None
    models: tuple[str, str] | None = None
    unit: Unit = "list"
    share: float = 0.5
    seed: str | None = None
    arm: int | None = None
    teams: tuple[int, ...] | None = None
    credits: tuple[float, ...] | None = None
    ranks: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    base_positions: tuple[int, ...] | None = None
    rules: tuple[str, ...] | None = None

    @property
    def settings(self) -> tuple[object, ...]:
        """What decides arms and outcomes: all lists of an experiment have the same."""
        return self.method, self.models, self.unit, self.share, self.seed


class ListRecord(msgspec.Struct, omit_defaults=True, kw_only=True, gc=False):
    """The query record of a list, as UBI has it."""

    query_id: str
    timestamp: str | int | float | None = None
    user_query: str | None = None
    session_id: str | None = None
    client_id: str | None = None
    query_response_hit_ids: tuple[str, ...] = ()
    query_attributes: ListAttributes = msgspec.field(default_factory=ListAttributes)
