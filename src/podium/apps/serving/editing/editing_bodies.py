"""The bodies of requests and answers about the editing of rules."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from podium.apps.serving.body_types import AnswerPart, ListedDocument, MoveInfo, RequestPart

EditedRules = Annotated[list[dict[str, Any]], msgspec.Meta(max_length=20_000)]
RuleFileText = Annotated[str, msgspec.Meta(max_length=4_000_000)]
VersionNumber = Annotated[int, msgspec.Meta(ge=0, le=999_999_999)]
PageLength = Annotated[int, msgspec.Meta(ge=1, le=200)]
Reason = Annotated[str, msgspec.Meta(max_length=1_000)]
Revision = Annotated[str, msgspec.Meta(max_length=40)]
ShortText = Annotated[str, msgspec.Meta(max_length=100)]


class SaveRequest(RequestPart):
    """A new version: rules as records or as a rule file, the revision they were made from, and a reason.

    `draft` names a draft that this save publishes; it is removed.
    """

    base: Revision
    rules: EditedRules | None = None
    yaml: RuleFileText | None = None
    reason: Reason = ""
    draft: ShortText | None = None


class RollbackRequest(RequestPart):
    """The version to return to, and the newest revision, so that nobody's change is undone unseen."""

    number: VersionNumber
    base: Revision
    reason: Reason = ""


class MergeRequest(RequestPart):
    """My rules and the revision they were made from, to be merged with the newest rules."""

    base: Revision
    rules: EditedRules


class HistoryRequest(RequestPart):
    """Versions or entries before a number, the newest first."""

    before: VersionNumber | None = None
    limit: PageLength = 50


class VersionRequest(RequestPart):
    """Which version."""

    number: VersionNumber


class CompareRequest(RequestPart):
    """Which two versions."""

    first: VersionNumber
    second: VersionNumber


class DraftRequest(RequestPart):
    """Which draft."""

    name: ShortText


class DraftSaveRequest(RequestPart, rename={"starts": "from", "ends": "until"}):
    """A draft: rules, the revision they were made from, and when it is served, if ever.

    `revision` is that of the draft which is changed; empty for a new one.
    """

    name: ShortText
    base: Revision
    rules: EditedRules
    revision: Revision = ""
    reason: Reason = ""
    starts: ShortText = ""
    ends: ShortText = ""


class DraftRemoveRequest(RequestPart):
    """Which draft to remove, and its revision."""

    name: ShortText
    revision: Revision


class RulesPreview(RequestPart):
    """Rules to be tried on recent requests and on the sample's queries."""

    rules: EditedRules
    limit: PageLength = 20


class RuleChangeInfo(AnswerPart):
    """A rule that differs between two versions."""

    change: Literal["added", "removed", "changed"]
    number: int
    """Its place in the second version, or in the first one if it was removed, from 0."""
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None


class VersionInfo(AnswerPart):
    """A version: who saved it, when, why, and how many rules it changed."""

    number: int
    editor: str
    time: str
    action: str
    reason: str = ""
    changes: dict[str, int] = msgspec.field(default_factory=dict)


class VersionAnswer(AnswerPart):
    """A version with its rules."""

    number: int
    revision: str
    rules: list[dict[str, Any]]
    yaml: str
    editor: str = ""
    time: str = ""
    reason: str = ""
    action: str = ""


class HistoryAnswer(AnswerPart):
    """Versions, the newest first."""

    versions: list[VersionInfo]


class DraftInfo(AnswerPart, rename={"starts": "from", "ends": "until"}):
    """A draft, without its rules; `active` if it is served now."""

    name: str
    revision: str
    base: str
    editor: str
    time: str
    reason: str = ""
    starts: str = ""
    ends: str = ""
    active: bool = False


class DraftAnswer(AnswerPart):
    """A draft with its rules."""

    draft: DraftInfo
    rules: list[dict[str, Any]]


class EditingAnswer(AnswerPart):
    """Whether rules can be edited here, by whom, and the newest revision; drafts for editors."""

    enabled: bool
    editor: str | None = None
    revision: str | None = None
    drafts: list[DraftInfo] | None = None


class SavedAnswer(AnswerPart):
    """The version that was saved, and the rules that it changed."""

    version: VersionInfo
    revision: str
    changes: list[RuleChangeInfo]


class MergeConflictInfo(AnswerPart):
    """A rule that both sides changed; `number` is its place in the merged rules."""

    base: dict[str, Any]
    mine: dict[str, Any] | None = None
    theirs: dict[str, Any] | None = None
    number: int | None = None


class MergeAnswer(AnswerPart):
    """Merged rules, what conflicts, what others changed since `base`, and who saved the newest version."""

    revision: str
    rules: list[dict[str, Any]]
    conflicts: list[MergeConflictInfo]
    theirs: list[RuleChangeInfo]
    editor: str = ""
    reason: str = ""


class CompareAnswer(AnswerPart):
    """The rules that differ between two versions."""

    changes: list[RuleChangeInfo]


class AuditAnswer(AnswerPart):
    """Entries of the audit log, the newest first."""

    entries: list[dict[str, Any]]


class PreviewedList(AnswerPart):
    """One list under the rules that are served and under the changed rules."""

    query: str
    live: bool
    """Whether it is a recent request; otherwise it is a query of the sample."""
    before: list[str]
    after: list[str]
    moved: int
    """Documents among the first ten that have another place, or are not there any more."""
    moves: list[MoveInfo]
    hidden: list[str]
    degraded: bool
    documents: list[ListedDocument]


class PreviewAnswer(AnswerPart):
    """Lists whose order changes, the most changed first, and how many lists were tried."""

    tried: int
    changed: int
    lists: list[PreviewedList]
