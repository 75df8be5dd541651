"""Operations for editors: saves, history, comparisons, drafts, the audit log and previews."""

from __future__ import annotations

import datetime
from itertools import islice
from typing import Any

from podium.apps.serving.editing.editing_bodies import (
    AuditAnswer,
    CompareAnswer,
    CompareRequest,
    DraftAnswer,
    DraftInfo,
    DraftRemoveRequest,
    DraftRequest,
    DraftSaveRequest,
    EditingAnswer,
    HistoryAnswer,
    HistoryRequest,
    MergeAnswer,
    MergeRequest,
    PreviewAnswer,
    RollbackRequest,
    RulesPreview,
    SavedAnswer,
    SaveRequest,
    VersionAnswer,
    VersionInfo,
    VersionRequest,
)
from podium.apps.serving.editing.publishing import (
    author_of,
    change_infos,
    checked_text,
    editing_of,
    merge,
    refusing,
    roll_back,
    save_rules,
)
from podium.apps.serving.editing.rule_preview import preview
from podium.apps.serving.operations import Operation, RequestContext
from podium.rule_history import RuleFolder, VersionHeader, rule_changes
from podium.rule_history.rule_drafts import RuleDraft, RuleDrafts, is_active
from podium.rule_history.rule_folder import count_changes, records_of


def describe_editing(context: RequestContext, _: None) -> EditingAnswer:
    """Return whether rules can be edited here, and by whom."""
    editing = context.editing
    if editing is None:
        return EditingAnswer(enabled=False)
    if editing.editor is None:
        return EditingAnswer(enabled=True)
    with refusing():
        drafts = RuleDrafts(editing.folder)
        return EditingAnswer(
            enabled=True,
            editor=editing.editor.author.name,
            revision=editing.folder.revision(),
            drafts=[_draft_info(drafts.read(name)) for name in drafts.names()],
        )


def list_versions(context: RequestContext, request: HistoryRequest) -> HistoryAnswer:
    """List versions with who saved them."""
    folder = _folder(context)
    with refusing():
        entries = (
            entry
            for entry in folder.audit.newest()
            if "version" in entry and (request.before is None or entry["version"] < request.before)
        )
        return HistoryAnswer(
            versions=[_version_info(entry) for entry in islice(entries, request.limit)]
        )


def show_version(context: RequestContext, request: VersionRequest) -> VersionAnswer:
    """Return a version with its rules."""
    folder = _folder(context)
    with refusing():
        version = folder.version(request.number)
        header = version.header
        return VersionAnswer(
            number=version.number, revision=version.revision,
            rules=[dict(rule) for rule in records_of(version.text)], yaml=version.text,
            editor=header.author, time=header.time, reason=header.reason, action=header.action,
        )  # fmt: skip


def compare(context: RequestContext, request: CompareRequest) -> CompareAnswer:
    """Return the rules that differ between two versions."""
    folder = _folder(context)
    with refusing():
        first, second = (
            records_of(folder.version(number).text) for number in (request.first, request.second)
        )
        changes = [change.record() for change in rule_changes(first, second)]
        return CompareAnswer(changes=change_infos(changes))


def show_audit(context: RequestContext, request: HistoryRequest) -> AuditAnswer:
    """Return entries of the audit log."""
    folder = _folder(context)
    with refusing():
        entries = (
            entry
            for entry in folder.audit.newest()
            if request.before is None or entry["number"] < request.before
        )
        return AuditAnswer(entries=[*islice(entries, request.limit)])


def show_draft(context: RequestContext, request: DraftRequest) -> DraftAnswer:
    """Return a draft with its rules."""
    folder = _folder(context)
    with refusing():
        draft = RuleDrafts(folder).read(request.name)
        rules = [dict(rule) for rule in records_of(draft.text, f"{draft.name}.yaml")]
        return DraftAnswer(draft=_draft_info(draft), rules=rules)


def save_draft(context: RequestContext, request: DraftSaveRequest) -> DraftAnswer:
    """Save a draft."""
    editing = editing_of(context)
    author = author_of(editing)
    with refusing():
        text = checked_text(request.rules, None)
        base = editing.folder.rules_at(request.base) or editing.folder.newest()
        changes = [
            change.record() for change in rule_changes(records_of(base.text), records_of(text))
        ]
        header = VersionHeader(
            reason=request.reason, base=request.base, starts=request.starts, ends=request.ends
        )
        draft = RuleDrafts(editing.folder).save(
            request.name, header, text, author, revision=request.revision, changes=changes
        )
        editing.reload()
        return DraftAnswer(
            draft=_draft_info(draft), rules=[dict(rule) for rule in records_of(text)]
        )


def remove_draft(context: RequestContext, request: DraftRemoveRequest) -> EditingAnswer:
    """Remove a draft."""
    editing = editing_of(context)
    author = author_of(editing)
    with refusing():
        RuleDrafts(editing.folder).remove(request.name, author, revision=request.revision)
        editing.reload()
    return describe_editing(context, None)


def _folder(context: RequestContext) -> RuleFolder:
    """Return the folder of rules, for an editor."""
    editing = editing_of(context)
    author_of(editing)
    return editing.folder


def _version_info(entry: dict[str, Any]) -> VersionInfo:
    return VersionInfo(
        number=entry["version"], editor=entry["editor"], time=entry["time"], action=entry["action"],
        reason=entry["reason"], changes=count_changes(entry["changes"]),
    )  # fmt: skip


def _draft_info(draft: RuleDraft) -> DraftInfo:
    header = draft.header
    return DraftInfo(
        name=draft.name, revision=draft.revision, base=header.base, editor=header.author,
        time=header.time, reason=header.reason, starts=header.starts, ends=header.ends,
        active=is_active(draft, datetime.datetime.now(datetime.UTC)),
    )  # fmt: skip


def _operation(path: str, summary: str, answer: Any, run: Any, body: Any) -> Operation:
    """Return an operation for editors; it reads or writes files."""
    return Operation(
        f"/v1/editing/{path}", summary, answer, run, body, lambda context, request: False,
        waits_for_disk=True, for_editors=True, statuses=(403, 404, 409),
    )  # fmt: skip


EDITING_OPERATIONS = (
    Operation(
        "/v1/editing", "Whether rules can be edited here, and who is signed in as an editor.",
        EditingAnswer, describe_editing, is_quick=lambda context, body: False, waits_for_disk=True,
    ),
    _operation("save", "Save rules as a new version.", SavedAnswer, save_rules, SaveRequest),
    _operation("rollback", "Return to an earlier version.", SavedAnswer, roll_back, RollbackRequest),
    _operation(
        "merge", "Merge rules with what others saved since.", MergeAnswer, merge, MergeRequest
    ),
    _operation("history", "Versions: who, when, why.", HistoryAnswer, list_versions, HistoryRequest),
    _operation("version", "One version with its rules.", VersionAnswer, show_version, VersionRequest),
    _operation("compare", "What differs between two versions.", CompareAnswer, compare, CompareRequest),
    _operation("audit", "Entries of the audit log.", AuditAnswer, show_audit, HistoryRequest),
    _operation("draft", "One draft with its rules.", DraftAnswer, show_draft, DraftRequest),
    _operation("draft/save", "Save a draft.", DraftAnswer, save_draft, DraftSaveRequest),
    _operation("draft/remove", "Remove a draft.", EditingAnswer, remove_draft, DraftRemoveRequest),
    _operation(
        "preview", "Try changed rules on recent requests and on the sample.", PreviewAnswer, preview,
        RulesPreview,
    ),
)  # fmt: skip
"""Operations for editors."""
