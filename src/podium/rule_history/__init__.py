"""Numbered versions of a rule set in a folder: saves, drafts, an audit log, differences and merges.

>>> import tempfile
>>> from podium.rule_history import Author, RuleFolder
>>> folder = RuleFolder(tempfile.mkdtemp())
>>> text = "version: 1\\nrules:\\n- {rule: hide, docs: c3, hard: true}\\n"
>>> saved = folder.save(text, Author("Ann Baker"), "c3 is sold out", base=folder.revision())
>>> saved.number, [entry["editor"] for entry in folder.audit.entries()]
(1, ['Ann Baker'])
"""

from podium.rule_history.audit_log import AuditLog
from podium.rule_history.live_rules import LiveRules, live_rules
from podium.rule_history.rule_changes import RuleChange, rule_changes
from podium.rule_history.rule_drafts import RuleDraft, RuleDrafts
from podium.rule_history.rule_folder import EditConflictError, RuleFolder, RuleVersion
from podium.rule_history.rule_merge import MergeConflict, MergedRules, merge_rules
from podium.rule_history.version_header import Author, VersionHeader

__all__ = [
    "AuditLog",
    "Author",
    "EditConflictError",
    "LiveRules",
    "MergeConflict",
    "MergedRules",
    "RuleChange",
    "RuleDraft",
    "RuleDrafts",
    "RuleFolder",
    "RuleVersion",
    "VersionHeader",
    "live_rules",
    "merge_rules",
    "rule_changes",
]
