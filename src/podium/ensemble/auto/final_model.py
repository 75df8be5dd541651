"""The final model: the finalists' fold models, standardised, weighted and merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from podium.ensemble.auto.combinations import TopRankVote
from podium.ensemble.auto.fold_fits import FoldFit
from podium.ensemble.combined_models import combine_models
from podium.ensemble.toprank.reranked_model import Member, RerankedModel
from podium.rankers.models import Model
from podium.rankers.prepared_model import PreparedModel


@dataclass(frozen=True, eq=False)
class FinalMember:
    """A finalist with its weight and the fits whose mean it is."""

    label: str
    settings: str
    weight: float
    value: float | None
    fits: Sequence[FoldFit]


def sum_members(members: Sequence[FinalMember]) -> Model:
    """Return sum_m weight_m mean_f (s_mf - offset_mf) / scale_mf as one model, as simple as possible.

    Models of one kind are merged first: many trees become one sum of trees, many linear models one.
    """
    terms: list[tuple[Model, float, float, float]] = []
    for member in members:
        for fit in member.fits:
            assert fit.model is not None
            terms.append((fit.model, member.weight / len(member.fits), fit.offset, fit.scale))
    by_kind: dict[str, list[tuple[Model, float, float, float]]] = {}
    for term in terms:
        by_kind.setdefault(_kind(term[0]), []).append(term)
    merged = [_merge(group) for group in by_kind.values()]
    return _combine(merged)


def make_vote_model(members: Sequence[FinalMember], method: TopRankVote) -> RerankedModel:
    """Return TopRank's vote of the members; the one of the largest weight orders all documents."""
    order = sorted(members, key=lambda member: -member.weight)
    voters = tuple(Member(m.label, m.settings, sum_members([m]), value=m.value) for m in order)
    weights = tuple(member.weight for member in order)
    return RerankedModel(voters, weights, method.t, method.t, method.aggregator)


def _merge(
    group: Sequence[tuple[Model, float, float, float]],
) -> tuple[Model, float, float, float]:
    """Return one term that equals the sum of these, up to a constant, with their whole weight."""
    weight = sum(term[1] for term in group)
    return group[0] if len(group) == 1 else (_combine(group), weight, 0.0, weight)


def _combine(terms: Sequence[tuple[Model, float, float, float]]) -> Model:
    models, weights, offsets, scales = (list(column) for column in zip(*terms, strict=True))
    return combine_models(models, weights, offsets, scales)


def _kind(model: Model) -> str:
    return f"prepared {model.model.kind}" if isinstance(model, PreparedModel) else model.kind
