"""Rules of the service and of requests: as records, as a rule file, and what a check finds."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from podium.apps.http.refusals import Refusal
from podium.apps.serving.body_types import FindingInfo, RulesAnswer, RulesCheck
from podium.apps.serving.postranking import ServedRules
from podium.postranking import Rule, examine_rules, rules_from
from podium.postranking.rules.files import parse_rules, rule_records, rules_text

MAX_CHECKED_RULES = 20_000
"""Rules of a request."""
_answers: WeakKeyDictionary[ServedRules, RulesAnswer] = WeakKeyDictionary()


def served_rules_answer(served_rules: ServedRules) -> RulesAnswer:
    """Return the service's rules; they are written once, until they change."""
    answer = _answers.get(served_rules)
    if answer is None:
        answer = _answers[served_rules] = rules_answer(served_rules.rules or ())
    return answer


def has_answer(served_rules: ServedRules) -> bool:
    """Return whether the service's rules were written before."""
    return served_rules in _answers


def rules_answer(rules: Sequence[Rule], findings: list[FindingInfo] | None = None) -> RulesAnswer:
    """Return rules as records and as a file."""
    return RulesAnswer(rules=rule_records(rules), yaml=rules_text(rules), findings=findings)


def rules_check_answer(request: RulesCheck, served_rules: ServedRules) -> RulesAnswer:
    """Return rules of either form in both forms; findings as of `podium rules check`, if asked for."""
    if (request.rules is None) == (request.yaml is None):
        got = "neither" if request.rules is None else "both"
        raise Refusal(422, "bad_request", f"expected rules or yaml, got {got}")
    if request.yaml is not None:
        rules = parse_rules(request.yaml, "rules.yaml")
    else:
        rules = rules_from({"version": 1, "rules": request.rules})
    if len(rules) > MAX_CHECKED_RULES:
        message = f"expected at most {MAX_CHECKED_RULES:,} rules, got {len(rules):,}"
        raise Refusal(413, "too_many", message)
    if not request.findings:
        return rules_answer(rules)
    findings = [
        FindingInfo(level=finding.level, rules=list(finding.rules), message=finding.message)
        for finding in examine_rules(rules, fields=served_rules.fields, today=request.today)
    ]
    return rules_answer(rules, findings)
