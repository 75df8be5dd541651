"""Previews: recent requests and sample queries under the rules that are served and under changed ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from podium.apps.http.refusals import Refusal
from podium.apps.serving.body_types import ListedDocument, PostrankRequest, RankRequest
from podium.apps.serving.editing.editing_bodies import PreviewAnswer, PreviewedList, RulesPreview
from podium.apps.serving.editing.publishing import author_of, editing_of, refusing
from podium.apps.serving.operations import RequestContext
from podium.apps.serving.postranking import ServedRules, postrank_answer
from podium.apps.serving.ranking import rank_answer
from podium.apps.serving.reloaded_files import ServedState
from podium.errors import PodiumError
from podium.postranking import rules_from
from podium.work_budget import check_time

MAX_SAMPLES_TRIED = 50
SHOWN = 10
"""The first places of a list, which count as seen."""
OWN_FIELDS = ("documents", "rules", "explain", "k", "conflicts")


def preview(context: RequestContext, request: RulesPreview) -> PreviewAnswer:
    """Try changed rules on recent requests and on the sample's queries."""
    editing = editing_of(context)
    author_of(editing)
    with refusing():
        state = context.state
        rules = rules_from({"version": 1, "rules": request.rules})
        changed = replace(state.rules, rules=rules)
        served = replace(state.rules, rules=state.rules.rules or ())
        lists, tried = [], 0
        for listed, is_live in _lists(context):
            check_time()
            try:
                lists.append(_compare(listed, is_live, served, changed))
            except (Refusal, PodiumError):
                continue  # a request that is refused under any rules
            tried += 1
        moved = [one for one in lists if one.before != one.after]
        moved.sort(key=lambda one: (not one.live, -one.moved, one.query))
        return PreviewAnswer(tried=tried, changed=len(moved), lists=moved[: request.limit])


def _lists(context: RequestContext) -> Iterator[tuple[PostrankRequest, bool]]:
    """Yield recent requests as lists, then the sample's queries."""
    state = context.state
    for request in editing_of(context).recent.newest():
        try:
            yield (
                (request if isinstance(request, PostrankRequest) else _ranked(request, state)),
                True,
            )
        except (Refusal, PodiumError):
            continue  # its model is gone
    for id_ in list(state.samples.queries)[:MAX_SAMPLES_TRIED]:
        sample = state.samples.find(id_, state.rules)
        documents: list[str | ListedDocument] = [
            ListedDocument(id=doc.id, score=doc.score, fields=doc.fields)
            for doc in sample.documents
        ]
        yield PostrankRequest(documents=documents, query=sample.query), False


def _ranked(request: RankRequest, state: ServedState) -> PostrankRequest:
    """Return a request to rank as the list that its model makes."""
    plain = msgspec.structs.replace(request, rules=False, explain=False, k=None)
    answer = rank_answer(plain, state.models.find(request.model), state.rules)
    fields = {document.id: document.fields for document in request.documents or ()}
    scored = zip(answer.ids or (), answer.scores, strict=True)
    documents: list[str | ListedDocument] = [
        ListedDocument(id=id_, score=score, fields=fields.get(id_)) for id_, score in scored
    ]
    shared = {
        name: getattr(request, name)
        for name in set(RankRequest.__struct_fields__) & set(PostrankRequest.__struct_fields__)
        if name not in OWN_FIELDS
    }
    return PostrankRequest(documents=documents, **shared)


def _compare(
    listed: PostrankRequest, is_live: bool, served: ServedRules, changed: ServedRules
) -> PreviewedList:
    """Return a list under both sets of rules."""
    plain = msgspec.structs.replace(listed, rules=None, k=None, explain=True, conflicts="yield")
    before, after = postrank_answer(plain, served), postrank_answer(plain, changed)
    place = {id_: at for at, id_ in enumerate(after.ids)}
    moved = sum(place.get(id_) != at for at, id_ in enumerate(before.ids[:SHOWN]))
    documents = [
        ListedDocument(id=doc) if isinstance(doc, str) else doc for doc in listed.documents
    ]
    return PreviewedList(
        query=listed.query or "",
        live=is_live,
        before=before.ids,
        after=after.ids,
        moved=moved,
        moves=after.moves or [],
        hidden=after.hidden or [],
        degraded=bool(after.degraded),
        documents=documents,
    )
