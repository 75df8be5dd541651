"""Quick requests are answered on the event loop; all others run in a thread."""

from __future__ import annotations

from podium.apps.serving.body_types import PostrankRequest, RankRequest
from podium.apps.serving.field_sizes import has_small_fields
from podium.apps.serving.postranking import ServedRules
from podium.apps.serving.reloaded_files import ServedState
from podium.apps.serving.rule_checking import has_answer
from podium.apps.serving.served_models import LoadedModel
from podium.postranking import Hide
from podium.rankers.models import Stumps
from podium.rankers.tree_model import Trees

INLINE_BODY_BYTES = 1 << 18
"""The largest body that counts as quick to decode."""
MAX_QUICK_QUERY_LENGTH = 200
"""The longest query, in characters, that is quick to compare with patterns."""
MAX_QUICK_RULES = 50
"""The largest number of rules that are quick to apply, or to write as a file."""
MAX_QUICK_DOCUMENTS = 200
"""The largest number of documents that soft rules order quickly."""
MAX_QUICK_STUMPS = 10_000
"""The largest number of stumps of a quick model."""
MAX_QUICK_TREE_STEPS = 1_000_000
"""The largest number of steps down trees, over all documents: about a millisecond."""
QUICK_MODEL_KINDS = ("linear", "stumps")
"""Kinds of models, besides small trees, that score any list quickly."""


def is_quick_rank(request: RankRequest, state: ServedState) -> bool:
    """Return whether a request to rank is quick."""
    model = state.models.get(request.model)
    if model is None:
        return True  # refusing it is quick
    if request.user_class is not None:
        return False
    if not is_quick_model(model, request.n_documents, request.explain):
        return False
    if not _is_quick_experiment(request, state):
        return False
    return request.rules is False or (
        _has_quick_rules(request, state.rules, request.n_documents)
        and has_small_fields(request.documents or ())
    )


def _is_quick_experiment(request: RankRequest, state: ServedState) -> bool:
    """Return whether the experiment of a request has quick models; optimised lists take milliseconds."""
    experiment = state.experiment
    if experiment is None or request.model is not None or request.id is None:
        return True
    models = [state.models.get(name) for name in experiment.served]
    return experiment.method != "optimised" and all(
        model is None or is_quick_model(model, request.n_documents, request.explain)
        for model in models
    )


def is_quick_postrank(request: PostrankRequest, state: ServedState) -> bool:
    """Return whether a request to apply rules is quick."""
    return _has_quick_rules(request, state.rules, len(request.documents)) and has_small_fields(
        request.documents
    )


def is_quick_rules_answer(served_rules: ServedRules) -> bool:
    """Return whether the service has few rules, or has already written them as a file."""
    return len(served_rules.rules or ()) <= MAX_QUICK_RULES or has_answer(served_rules)


def is_quick_model(model: LoadedModel, n_documents: int, explain: bool = False) -> bool:
    """Return whether a model scores this number of documents quickly."""
    scoring_model = model.scoring_model
    if isinstance(scoring_model, Trees):
        n_steps = n_documents * int(scoring_model.arrays.depths.sum())
        return n_steps <= MAX_QUICK_TREE_STEPS and not explain
    if isinstance(scoring_model, Stumps) and len(scoring_model.alphas) > MAX_QUICK_STUMPS:
        return False
    return scoring_model.kind in QUICK_MODEL_KINDS


def _has_quick_rules(
    request: RankRequest | PostrankRequest, served_rules: ServedRules, n_documents: int
) -> bool:
    """Return whether rules are quick; those of a request must be read, and hard rules need a search."""
    if isinstance(request.rules, list) or len(request.query or "") > MAX_QUICK_QUERY_LENGTH:
        return False
    rules = served_rules.rules
    if rules is None:
        return True  # refusing the request is quick
    if len(rules) > MAX_QUICK_RULES or n_documents > MAX_QUICK_DOCUMENTS:
        return False
    return not any(rule.hard and not isinstance(rule, Hide) for rule in rules)
