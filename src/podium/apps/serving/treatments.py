"""Treatments: how an experiment or a swap changes the list of a request, and the record of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.apps.serving.body_types import ExperimentInfo, RankAnswer, RankRequest
from podium.apps.serving.experiment_file import Experiment
from podium.apps.serving.feature_values import features_of
from podium.apps.serving.served_models import LoadedModel, ServedModels
from podium.clicks.experiment_records import ListAttributes, ListRecord
from podium.clicks.hashed_draws import hashed_draws, swap_neighbours
from podium.clicks.interleaving import INTERLEAVING_METHODS, NO_TEAM, InterleavedList
from podium.typing import Floats


@dataclass(frozen=True, eq=False)
class Treatment:
    """What is done to the list of one request.

    Parameters
    ----------
    model
        The model that ranks.
    experiment, arm
        The experiment that the request is in, and its arm in an A/B test.
    second
        The model whose ranking is interleaved with that of `model`.
    swap
        The probability that two neighbours are exchanged.
    names
        Names that decide all draws: the same request gets the same list.
    """

    model: LoadedModel
    experiment: Experiment | None = None
    arm: int | None = None
    second: LoadedModel | None = None
    swap: float = 0.0
    names: tuple[str, ...] = ()

    @property
    def without_rules(self) -> bool:
        """Whether the rules of the service do not act on the list."""
        return (
            self.experiment is not None
            and self.arm is not None
            and not self.experiment.rules[self.arm]
        )

    def mix(
        self, order: NDArray[np.int64], X: Floats, request: RankRequest
    ) -> InterleavedList | None:
        """Return the top rows of the request, interleaved; None if nothing is interleaved."""
        experiment, second = self.experiment, self.second
        if experiment is None or second is None:
            return None
        if second.feature_names != self.model.feature_names:
            X = features_of(request, second)
        scores, _ = second.score_rows(X, request.user_class)
        n = min(experiment.depth, len(order))
        other = np.argsort(-scores, kind="stable")
        tops = order[:n].tolist(), other[:n].tolist()  # no method looks below
        draw = hashed_draws("list", *self.names)
        return INTERLEAVING_METHODS[experiment.method](*tops, n, draw)

    def swaps(self, n: int) -> list[int] | None:
        """Return the order of n places after the swaps; None if there are none."""
        if not self.swap:
            return None
        return swap_neighbours(n, self.swap, hashed_draws("swaps", *self.names))

    def info(self, order: Sequence[int], mixed: InterleavedList | None) -> ExperimentInfo | None:
        """Return what the answer says about the experiment."""
        experiment = self.experiment
        if experiment is None:
            return None
        teams = None
        if mixed is not None:
            names = dict(zip(mixed.docs, mixed.teams, strict=True))
            labels = (*experiment.models, None)  # -1 is the last one
            teams = [labels[names.get(row, NO_TEAM)] for row in order]
        arm = None if self.arm is None else experiment.models[self.arm]
        return ExperimentInfo(name=experiment.name, method=experiment.method, arm=arm, teams=teams)

    def record(
        self,
        request: RankRequest,
        answer: RankAnswer,
        mixed: InterleavedList | None,
        rules: tuple[str, ...] | None = None,
    ) -> ListRecord:
        """Return the line of the log for an answer; `rules` are on for the request."""
        experiment = self.experiment
        attributes = ListAttributes(
            variant=f"{answer.model}@{answer.version}",
            base_positions=None if answer.base_positions is None else tuple(answer.base_positions),
        )
        if experiment is not None:
            attributes.experiment, attributes.method = experiment.name, experiment.method
            attributes.models, attributes.unit = experiment.models, experiment.unit
            attributes.share, attributes.arm = experiment.second_share, self.arm
            attributes.seed = experiment.seed
            attributes.variant = (
                experiment.name if self.arm is None else experiment.models[self.arm]
            )
        attributes.rules = rules
        if mixed is not None:
            _add_mixed(attributes, mixed, answer.order)
        return ListRecord(
            query_id=request.id or "", timestamp=int(time.time() * 1000), user_query=request.query,
            session_id=request.session, client_id=request.user,
            query_response_hit_ids=tuple(answer.ids or ()), query_attributes=attributes,
        )  # fmt: skip


def _add_mixed(
    attributes: ListAttributes, mixed: InterleavedList, order: Sequence[int | None]
) -> None:
    """Add teams, credits and ranks of the documents of an answer."""
    rows = [-1 if row is None else row for row in order]  # an inserted document has no row
    team = dict(zip(mixed.docs, mixed.teams, strict=True))
    attributes.teams = tuple([team.get(row, NO_TEAM) for row in rows])
    if mixed.credits is not None:
        credit = dict(zip(mixed.docs, mixed.credits, strict=True))
        attributes.credits = tuple([credit.get(row, 0.0) for row in rows])
    if mixed.ranks is not None:
        one, other = (dict(zip(mixed.docs, ranks, strict=True)) for ranks in mixed.ranks)
        attributes.ranks = (
            tuple([one.get(row, 0) for row in rows]),
            tuple([other.get(row, 0) for row in rows]),
        )


def choose_treatment(
    request: RankRequest, models: ServedModels, experiment: Experiment | None, swap: float
) -> Treatment | None:
    """Return the treatment of a request, None for a plain list.

    Only a request with an id can be changed: clicks name their list by it. A request that names its model
    gets this model.
    """
    if request.id is None or (request.documents is None and request.ids is None):
        return None
    query = request.id if request.query is None else request.query
    if experiment is not None and request.model is None and experiment.is_active(time.time()):
        treatment = _experiment_treatment(request, models, experiment, swap, query)
        if treatment is not None:
            return treatment
    model = models.find(request.model)
    key = request.session or request.user or request.id
    return Treatment(model, swap=swap, names=("", key, query)) if swap else None


def _experiment_treatment(
    request: RankRequest, models: ServedModels, experiment: Experiment, swap: float,
    query: str,
) -> Treatment | None:  # fmt: skip
    """Return the treatment by an experiment; None if the session or user is not in it."""
    unit = {"session": request.session, "user": request.user}.get(experiment.unit) or request.id
    salt = (experiment.name, experiment.seed)
    if experiment.share < 1 and hashed_draws("share", *salt, unit or "")() >= experiment.share:
        return None
    own_swap = swap if experiment.swap is None else experiment.swap
    first, second = (models.get(name) for name in experiment.served)
    if first is None or second is None:  # a changed file has another version
        return None
    # What draws the list is what the outcomes count as independent.
    own_names = (*salt, unit or "", query)
    if experiment.method != "ab":
        return Treatment(first, experiment, None, second, own_swap, own_names)
    arm = int(hashed_draws("arm", *salt, unit or "")() < experiment.second_share)
    return Treatment((first, second)[arm], experiment, arm, None, own_swap, own_names)
