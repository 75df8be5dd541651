"""Metrics by name: ``NDCG(gain='linear')@10`` is the value, the column header and the argument."""

from __future__ import annotations

import ast
import re
from typing import Any

from podium.errors import UnknownNameError, UsageError
from podium.metrics.binary import MAP, MRR, RBP, Hit, P, Recall
from podium.metrics.graded import DCG, ERR, NDCG, kERR, kNDCG
from podium.metrics.metric import Metric
from podium.metrics.pairs import PairAccuracy, Tau
from podium.plugins import Registry, subclasses_of

METRICS: Registry[type[Metric]] = Registry(
    "podium.metrics",
    {
        "NDCG": NDCG,
        "DCG": DCG,
        "ERR": ERR,
        "P": P,
        "MAP": MAP,
        "MRR": MRR,
        "Recall": Recall,
        "Hit": Hit,
        "RBP": RBP,
        "kNDCG": kNDCG,
        "kERR": kERR,
        "Tau": Tau,
        "PairAccuracy": PairAccuracy,
    },
    subclasses_of(Metric),
)

RULES: dict[str, dict[str, dict[str, Any]]] = {
    "letor": {
        "NDCG": {"discount": "letor", "short": "zero"},
        "DCG": {"discount": "letor"},
        "P": {},
        "MAP": {},
    },
    "lightgbm": {"NDCG": {"empty": 1}, "MAP": {"empty": 1, "norm": "cut"}},
    "trec": {
        "NDCG": {"gain": "linear", "ties": "trec"},
        **{name: {"ties": "trec"} for name in ("P", "MAP", "MRR", "Recall", "Hit")},
    },
    "sklearn": {
        "NDCG": {"gain": "linear", "ties": "average"},
        "DCG": {"gain": "linear", "ties": "average"},
    },
    "ranklib": {
        "NDCG": {},
        "DCG": {},
        "P": {"short": "length"},
        "MAP": {},
        "MRR": {},
        "ERR": {"r_max": 4},
    },
}
"""The conventions of other tools: rule -> metric -> how it differs from the bare name."""

# What a tool computes only with a cutoff, or only over the whole list.
_RULE_CUTOFFS = {
    ("letor", "NDCG"): "needed",
    ("letor", "DCG"): "needed",
    ("letor", "MAP"): "none",
    ("lightgbm", "NDCG"): "needed",
    ("lightgbm", "MAP"): "needed",
    ("trec", "MRR"): "none",
    ("trec", "Recall"): "needed",
    ("ranklib", "MAP"): "none",
    ("ranklib", "MRR"): "needed",
}

_GRAMMAR = re.compile(r"(?P<name>\w+)(?P<args>\(.*\))?(?:@(?P<k>[0-9]{1,9}))?", re.DOTALL)


def parse(text: str) -> Metric:
    """The metric with this name; ``str`` is its inverse.

    ``Name(parameter=value, ...)@k``; ``rule='letor'`` stands for all parameters of that
    convention, and parameters beside it change single ones. Words need no quotes.

    Examples
    --------
    >>> parse("NDCG(rule='letor')@10") == NDCG(discount="letor", short="zero", k=10)
    True
    >>> str(parse("ap(rel=2)"))
    'MAP(rel=2)'
    """
    match = _GRAMMAR.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise UsageError(f"expected a metric such as NDCG@10 or P(rel=2)@5, got {text!r}")
    cls = _metric_class(match["name"])
    arguments = _arguments(text, match["args"])
    k = int(match["k"]) if match["k"] else None
    if "rule" in arguments:
        rule = arguments.pop("rule")
        arguments = {**_rule(cls.name, rule), **arguments}
        if not fits_cutoff(rule, cls.name, k):
            wanted = (
                "with a cutoff, as in @10" if k is None else "over the whole list, without a cutoff"
            )
            raise UsageError(f"the rule {rule!r} computes {cls.name} only {wanted}; got {text!r}")
    unknown = [a for a in arguments if a not in cls.defaults()]
    if unknown:
        raise UnknownNameError(f"parameter of {cls.name}", unknown[0], [*cls.defaults(), "rule"])
    return cls(**arguments, k=k)


def _metric_class(name: str) -> type[Metric]:
    """The metric by its name or an alias, in any case."""
    for metrics in (METRICS.own, METRICS.plugins):
        for cls in metrics.values():
            if name.lower() in (spelling.lower() for spelling in (cls.name, *cls.aliases)):
                return cls
    raise UnknownNameError("metric", name, METRICS)


def _arguments(text: str, arguments: str | None) -> dict[str, Any]:
    try:
        call = ast.parse(f"f{arguments or '()'}", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ValueError("only name=value")
        found = {str(word.arg): _value(word.value) for word in call.keywords}
        if len(found) < len(call.keywords):
            raise ValueError("a parameter twice")
        return found
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError) as error:
        raise UsageError(
            f"expected parameters as name=value in {text!r}, as in NDCG(gain='linear', empty=1)@10"
        ) from error


def _value(node: ast.expr) -> Any:
    """A value; a bare word is text, which spares quotes in a shell."""
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


def fits_cutoff(rule: str, metric: str, k: int | None) -> bool:
    """Whether the rule's tool computes the metric with this cutoff (None: the whole list)."""
    wanted = _RULE_CUTOFFS.get((rule, metric))
    return wanted is None or (wanted == "needed") == (k is not None)


def _rule(metric: str, rule: object) -> dict[str, Any]:
    if not isinstance(rule, str) or rule not in RULES:
        raise UnknownNameError("rule", str(rule), RULES)
    if metric not in RULES[rule]:
        known = ", ".join(RULES[rule])
        raise UsageError(f"expected a metric the rule {rule!r} defines ({known}), got {metric}")
    return dict(RULES[rule][metric])


def changes(metric: Metric) -> dict[str, Any]:
    """The parameters that differ from the bare name's."""
    defaults = metric.defaults()
    return {name: v for name, v in metric.convention().items() if v != defaults[name]}


def spell(metric: Metric) -> str:
    """The shortest name: a rule where one says it all, else the parameters that differ."""
    changed = changes(metric)
    cutoff = "" if metric.k is None else f"@{metric.k}"
    rules = [
        rule
        for rule, defined in RULES.items()
        if changed
        and defined.get(metric.name) == changed
        and fits_cutoff(rule, metric.name, metric.k)
    ]
    if rules:
        changed = {"rule": rules[0]}
    inside = ", ".join(f"{name}={value!r}" for name, value in changed.items())
    return f"{metric.name}({inside}){cutoff}" if inside else f"{metric.name}{cutoff}"


def resolve(metric: str | Metric) -> Metric:
    """A metric, given as itself or by name."""
    return metric if isinstance(metric, Metric) else parse(metric)
