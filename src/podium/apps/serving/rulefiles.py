"""Rules as files and as records: what the playground reads, checks and writes."""

from __future__ import annotations

from collections.abc import Sequence

from podium.apps.serving.bodies import FindingTold, RulesAnswer, RulesCheck
from podium.apps.serving.errors import Refusal
from podium.apps.serving.rules import RuleBook
from podium.postranking import Rule, examine_rules, rules_from
from podium.postranking.rules.files import parse_rules, rule_records, rules_text


def rules_answer(rules: Sequence[Rule], findings: list[FindingTold] | None = None) -> RulesAnswer:
    """Rules as records and as a file."""
    return RulesAnswer(rules=rule_records(rules), yaml=rules_text(rules), findings=findings)


def check_answer(request: RulesCheck, book: RuleBook) -> RulesAnswer:
    """Rules of either form in both forms, and what `podium rules check` finds."""
    if (request.rules is None) == (request.yaml is None):
        got = "neither" if request.rules is None else "both"
        raise Refusal(422, "bad_request", f"expected rules or yaml, got {got}")
    if request.yaml is not None:
        rules = parse_rules(request.yaml, "rules.yaml")
    else:
        rules = rules_from({"version": 1, "rules": request.rules})
    found = examine_rules(rules, fields=book.fields, today=request.today)
    told = [
        FindingTold(level=finding.level, rules=list(finding.rules), message=finding.message)
        for finding in found
    ]
    return rules_answer(rules, told)
