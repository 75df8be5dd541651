"""Rules as files and as records: what the playground reads, checks and writes."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from podium.apps.serving.bodies import FindingTold, RulesAnswer, RulesCheck
from podium.apps.serving.errors import Refusal
from podium.apps.serving.rules import ServedRules
from podium.postranking import Rule, examine_rules, rules_from
from podium.postranking.rules.files import parse_rules, rule_records, rules_text

FEW = 50
"""Rules whose file is written in no time."""
MAX_RULES = 20_000
"""Rules of a request."""
_known: WeakKeyDictionary[ServedRules, RulesAnswer] = WeakKeyDictionary()


def known_answer(book: ServedRules) -> RulesAnswer:
    """The service's rules; they are written once, until they are others."""
    answer = _known.get(book)
    if answer is None:
        answer = _known[book] = rules_answer(book.rules or ())
    return answer


def known_is_quick(book: ServedRules) -> bool:
    """Whether the service's rules are told in no time: few of them, or written before."""
    return len(book.rules or ()) <= FEW or book in _known


def rules_answer(rules: Sequence[Rule], findings: list[FindingTold] | None = None) -> RulesAnswer:
    """Rules as records and as a file."""
    return RulesAnswer(rules=rule_records(rules), yaml=rules_text(rules), findings=findings)


def check_answer(request: RulesCheck, book: ServedRules) -> RulesAnswer:
    """Rules of either form in both forms, and what `podium rules check` finds, if asked for."""
    if (request.rules is None) == (request.yaml is None):
        got = "neither" if request.rules is None else "both"
        raise Refusal(422, "bad_request", f"expected rules or yaml, got {got}")
    if request.yaml is not None:
        rules = parse_rules(request.yaml, "rules.yaml")
    else:
        rules = rules_from({"version": 1, "rules": request.rules})
    if len(rules) > MAX_RULES:
        said = f"expected at most {MAX_RULES:,} rules, got {len(rules):,}"
        raise Refusal(413, "too_many", said)
    if not request.findings:
        return rules_answer(rules)
    found = examine_rules(rules, fields=book.fields, today=request.today)
    told = [
        FindingTold(level=finding.level, rules=list(finding.rules), message=finding.message)
        for finding in found
    ]
    return rules_answer(rules, told)
