"""The rules that a folder serves now: its newest version, with the changes of scheduled drafts."""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass
from pathlib import Path

from podium.errors import PodiumError
from podium.postranking.rules.files import rules_from, rules_text
from podium.rule_history.rule_drafts import RuleDraft, RuleDrafts
from podium.rule_history.rule_folder import RuleFolder, RuleVersion, records_of
from podium.rule_history.rule_merge import merge_rules
from podium.typing import Path_


@dataclass(frozen=True)
class LiveRules:
    """The text of the rules that are served, the name of their version, and what is wrong with drafts."""

    text: str
    name: str
    drafts: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


def live_rules(folder: RuleFolder, now: datetime.datetime) -> LiveRules:
    """Return the rules that a folder serves at a time.

    A scheduled draft is its changes: they are merged into the newest version, so that a save during a
    campaign is served, too. A draft that cannot be read is left out.

    Examples
    --------
    >>> import tempfile
    >>> from podium.rule_history import Author
    >>> folder = RuleFolder(tempfile.mkdtemp())
    >>> text = "version: 1\\nrules:\\n- {rule: hide, docs: c3, hard: true}\\n"
    >>> _ = folder.save(text, Author("Ann"), base=folder.revision())
    >>> live_rules(folder, datetime.datetime.now(datetime.UTC)).name
    '000001.yaml'
    """
    newest = folder.newest()
    name = folder.path(newest.number).name
    text, names, reasons = newest.text, [], []
    for draft in RuleDrafts(folder).scheduled(now):
        try:
            text = _with_draft(folder, newest, text, draft)
            names.append(draft.name)
        except PodiumError as error:
            reasons.append(f"draft {draft.name}: {error}")
    return LiveRules(text, name, tuple(names), tuple(reasons))


def _with_draft(folder: RuleFolder, newest: RuleVersion, text: str, draft: RuleDraft) -> str:
    """Return the text of rules with the changes of a draft."""
    base = folder.rules_at(draft.header.base) if draft.header.base else newest
    origin = records_of((base or newest).text)
    merged = merge_rules(origin, records_of(draft.text, f"{draft.name}.yaml"), records_of(text))
    return rules_text(rules_from({"version": 1, "rules": merged.rules}))


def live_signature(folder: RuleFolder, now: datetime.datetime) -> tuple[object, ...]:
    """Return values that differ if other rules are served: names and times of files, active drafts."""
    drafts = RuleDrafts(folder)
    names = [draft.name for draft in drafts.scheduled(now)]
    paths = [
        folder.path(folder.newest_number()),
        *(drafts.folder / f"{name}.yaml" for name in names),
    ]
    return tuple((path.name, _times(path)) for path in paths)


def _times(path: Path) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return ()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def rules_path(path: Path_) -> Path:
    """Return the file of rules at a path: the newest version if it is a folder of versions.

    Examples
    --------
    >>> rules_path("rules.yaml").name
    'rules.yaml'
    """
    if not os.path.isdir(path):
        return Path(path)
    folder = RuleFolder(path)
    return folder.path(folder.newest_number())
