"""Names of metrics: ``parse`` reads ``NDCG(gain='linear')@10``, the inverse of ``str``."""

from __future__ import annotations

import ast
import re
from typing import Any

from podium.errors import UnknownNameError, UsageError
from podium.metrics.binary_relevance import MAP, MRR, RBP, Hit, P, Recall
from podium.metrics.err import ERR
from podium.metrics.kappa_metrics import kERR, kNDCG
from podium.metrics.kendall_tau import PairAccuracy, Tau
from podium.metrics.metric import Metric
from podium.metrics.ndcg import DCG, NDCG
from podium.metrics.tool_conventions import RULES, fits_cutoff
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
"""Every metric by name."""

_GRAMMAR = re.compile(r"(?P<name>\w+)(?P<args>\(.*\))?(?:@(?P<k>[0-9]{1,9}))?", re.DOTALL)


def parse(text: str) -> Metric:
    """Return the metric with this name; ``str`` is the inverse.

    The form is ``Name(parameter=value, ...)@k``. ``rule='letor'`` sets all parameters of that
    convention; further parameters change single ones. Words need no quotes.

    Examples
    --------
    >>> parse("NDCG(rule='letor')@10") == NDCG(discount="letor", short="zero", k=10)
    True
    >>> str(parse("ap(rel=2)"))
    'MAP(rel=2)'
    """
    match = _GRAMMAR.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        error = UsageError(f"expected a metric such as NDCG@10 or P(rel=2)@5, got {text!r}")
        if isinstance(text, str) and "," in text:
            error.advise(python="give several as a list", command_line="give one name")
        raise error
    cls = _metric_class(match["name"])
    arguments = _parse_arguments(text, match["args"])
    k = int(match["k"]) if match["k"] else None
    if "rule" in arguments:
        rule = arguments.pop("rule")
        arguments = {**_rule_parameters(cls.name, rule), **arguments}
        if not fits_cutoff(rule, cls.name, k):
            condition = (
                "with a cutoff, as in @10" if k is None else "over the whole list, without a cutoff"
            )
            raise UsageError(f"the rule {rule!r} defines {cls.name} only {condition}; got {text!r}")
    unknown = [a for a in arguments if a not in cls.defaults()]
    if unknown:
        raise UnknownNameError(f"parameter of {cls.name}", unknown[0], [*cls.defaults(), "rule"])
    return cls(**arguments, k=k)


def _metric_class(name: str) -> type[Metric]:
    """Return the metric with this name or alias, in upper or lower case."""
    for metrics in (METRICS.own, METRICS.plugins):
        for cls in metrics.values():
            if name.lower() in (spelling.lower() for spelling in (cls.name, *cls.aliases)):
                return cls
    cut = re.fullmatch(r"(\w*?[^\W\d_])(?:_at)?_?(\d{1,9})", name)
    names = {metric.lower(): metric for metric in METRICS}
    metric = None if cut is None else names.get(cut[1].lower())
    suggestion = "" if cut is None or metric is None else f"{metric}@{cut[2]}"
    raise UnknownNameError("metric", name, METRICS, suggestion=suggestion)


def _parse_arguments(text: str, arguments: str | None) -> dict[str, Any]:
    try:
        call = ast.parse(f"f{arguments or '()'}", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ValueError("only name=value")
        values = {str(word.arg): _parse_value(word.value) for word in call.keywords}
        if len(values) < len(call.keywords):
            raise ValueError("a parameter twice")
        return values
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError) as error:
        raise UsageError(
            f"expected parameters as name=value in {text!r}, as in NDCG(gain='linear', empty=1)@10"
        ) from error


def _parse_value(node: ast.expr) -> Any:
    """Return a value; a bare word is text, so that a shell needs no quotes."""
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


def _rule_parameters(metric: str, rule: object) -> dict[str, Any]:
    if not isinstance(rule, str) or rule not in RULES:
        raise UnknownNameError("rule", str(rule), RULES)
    if metric not in RULES[rule]:
        metrics = ", ".join(RULES[rule])
        raise UsageError(f"the rule {rule!r} does not define {metric}; expected one of {metrics}")
    return dict(RULES[rule][metric])


def resolve(metric: str | Metric) -> Metric:
    """Return a metric, which may be passed by name."""
    return metric if isinstance(metric, Metric) else parse(metric)
