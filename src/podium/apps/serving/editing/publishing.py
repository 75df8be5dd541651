"""Saves of rules: checked, numbered, logged, and served at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podium.apps.http.refusals import Refusal
from podium.apps.serving.checked_rules import check_served_rules
from podium.apps.serving.editing.editing_bodies import (
    MergeAnswer,
    MergeConflictInfo,
    MergeRequest,
    RollbackRequest,
    RuleChangeInfo,
    SavedAnswer,
    SaveRequest,
    VersionInfo,
)
from podium.apps.serving.error_answers import refusal_of
from podium.apps.serving.operations import EditingContext, RequestContext
from podium.errors import PodiumError
from podium.postranking import rules_from
from podium.postranking.rules.files import parse_rule_file, rules_text
from podium.rule_history import Author, EditConflictError, merge_rules, rule_changes
from podium.rule_history.rule_drafts import RuleDrafts
from podium.rule_history.rule_folder import RuleVersion, count_changes, records_of


def editing_of(context: RequestContext) -> EditingContext:
    """Return what editors work on; 404 if the service has no editors."""
    if context.editing is None:
        message = "rules cannot be edited here: the service was started without --editors"
        raise Refusal(404, "no_editing", message)
    return context.editing


def author_of(editing: EditingContext) -> Author:
    """Return the author of a save."""
    if editing.editor is None:
        raise Refusal(401, "bad_token", "expected the token of an editor")
    return editing.editor.author


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Refuse a request whose work fails: 409 if somebody else was first, 503 if the disk fails."""
    try:
        yield
    except EditConflictError as error:
        raise Refusal(409, "edit_conflict", str(error)) from error
    except PodiumError as error:
        raise refusal_of(error) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        message = f"the rules cannot be saved at the moment: {reason}"
        raise Refusal(503, "not_saved", message) from error


def checked_text(records: Sequence[Mapping[str, Any]] | None, yaml: str | None) -> str:
    """Return the text of a rule file that the service can serve; raises otherwise."""
    if (records is None) == (yaml is None):
        got = "neither" if records is None else "both"
        raise Refusal(422, "bad_request", f"expected rules or yaml, got {got}")
    if records is not None:
        yaml = rules_text(rules_from({"version": 1, "rules": records}))
    assert yaml is not None
    check_served_rules(parse_rule_file(yaml, "rules.yaml"), "rules.yaml")
    return yaml


def save_rules(context: RequestContext, request: SaveRequest) -> SavedAnswer:
    """Save a new version, which is served at once."""
    editing = editing_of(context)
    author = author_of(editing)
    with refusing():
        text = checked_text(request.rules, request.yaml)
        action = "save" if request.draft is None else f"publish draft {request.draft}"
        drafts = RuleDrafts(editing.folder)
        draft = None if request.draft is None else drafts.read(request.draft)
        answer = _save(editing, author, text, request.reason, request.base, action)
        if draft is not None:
            with contextlib.suppress(EditConflictError):  # changed meanwhile: it stays
                drafts.remove(draft.name, author, revision=draft.revision, reason="published")
        editing.reload()
    return answer


def roll_back(context: RequestContext, request: RollbackRequest) -> SavedAnswer:
    """Save the rules of an earlier version, byte by byte, as the newest one."""
    editing = editing_of(context)
    author = author_of(editing)
    with refusing():
        text = editing.folder.version(request.number).text
        checked_text(None, text)
        action = f"rollback to {request.number}"
        answer = _save(editing, author, text, request.reason, request.base, action)
        editing.reload()
    return answer


def _save(
    editing: EditingContext, author: Author, text: str, reason: str, base: str, action: str
) -> SavedAnswer:
    newest = editing.folder.newest()
    if newest.revision != base:
        who = newest.header.author or "somebody"
        raise EditConflictError(
            f"{who} saved version {newest.number} since; merge, or load it first"
        )
    changes = [change.record() for change in rule_changes(safe_records(newest), records_of(text))]
    version = editing.folder.save(text, author, reason, base=base, action=action, changes=changes)
    return SavedAnswer(
        version=VersionInfo(
            number=version.number, editor=author.name, time=version.header.time, action=action,
            reason=version.header.reason, changes=count_changes(changes),
        ),
        revision=version.revision,
        changes=change_infos(changes),
    )  # fmt: skip


def merge(context: RequestContext, request: MergeRequest) -> MergeAnswer:
    """Merge rules with the changes that others saved since."""
    editing = editing_of(context)
    author_of(editing)
    with refusing():
        newest = editing.folder.newest()
        theirs, mine = (
            records_of(newest.text),
            records_of(rules_text(rules_from({"version": 1, "rules": request.rules}))),
        )
        version = editing.folder.rules_at(request.base)
        # A version that was changed by hand is lost: then only rules that both sides have are common.
        base = (
            [rule for rule in theirs if rule in mine]
            if version is None
            else records_of(version.text)
        )
        merged = merge_rules(base, mine, theirs)
        changes = [change.record() for change in rule_changes(base, theirs)]
        return MergeAnswer(
            revision=newest.revision,
            rules=[dict(rule) for rule in merged.rules],
            conflicts=[
                MergeConflictInfo(
                    base=dict(one.base),
                    mine=_plain(one.mine),
                    theirs=_plain(one.theirs),
                    number=one.number,
                )
                for one in merged.conflicts
            ],
            theirs=change_infos(changes),
            editor=newest.header.author,
            reason=newest.header.reason,
        )


def safe_records(version: RuleVersion) -> list[Mapping[str, Any]]:
    """Return the rules of a version; none if somebody wrote a wrong file by hand."""
    try:
        return records_of(version.text)
    except PodiumError:
        return []


def change_infos(changes: Sequence[Mapping[str, Any]]) -> list[RuleChangeInfo]:
    """Return changed rules as an answer has them."""
    return [RuleChangeInfo(**change) for change in changes]


def _plain(rule: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if rule is None else dict(rule)
