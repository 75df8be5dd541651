"""The contract checks: podium's own parts pass them, parts with a fault are told which clause they break."""

from dataclasses import dataclass

import numpy as np
import pytest

from podium.aggregation import AGGREGATORS, Borda, PointAggregator
from podium.data import draw_truth
from podium.errors import ContractError
from podium.exchange import EMULATORS, EXPORTERS, emulate
from podium.labelling import STRATEGIES
from podium.losses import LOSSES, QueryLoss
from podium.metrics import METRICS, NDCG
from podium.postranking import Apart, AtLeast, AtMost, Before, Hide, NotTopK, Pin, Together, TopK
from podium.rankers import RankSVM
from podium.testing import (
    check_aggregator,
    check_exporter,
    check_loss,
    check_metric,
    check_ranker,
    check_rule,
    check_strategy,
)
from podium.testing.contract import Contract, small_data
from tests.support.small_rankers import NAMES, cheap


@pytest.mark.parametrize("name", NAMES)
def test_own_rankers_keep_the_contract(name):
    check_ranker(cheap(name))


# "svm-order" is not to be used by itself: its docstring says which gradient it gives.
@pytest.mark.parametrize("name", sorted(set(LOSSES) - {"svm-order"}))
def test_own_losses_keep_the_contract(name):
    check_loss(LOSSES[name]())


@pytest.mark.parametrize("name", METRICS)
def test_own_metrics_keep_the_contract(name):
    metric = METRICS[name]()
    metric = metric @ 3 if metric.takes_cutoff else metric
    data = small_data()
    check_metric(metric, draw_truth(data, 3) if name.startswith("k") else data)


@pytest.mark.parametrize("name", AGGREGATORS)
def test_own_aggregators_keep_the_contract(name):
    check_aggregator(AGGREGATORS[name]())


@pytest.mark.parametrize("name", STRATEGIES)
def test_own_strategies_keep_the_contract(name):
    check_strategy(STRATEGIES[name], max_documents=4)


RULES = [
    TopK("c", 1), NotTopK("a", 2), Pin("b", 3), Before("d", "a"), Together(["a", "d"]),
    Apart(["a", "b"], 1), AtMost(["a", "b", "c"], 1, 2), AtLeast(["c", "d"], 1, 2),
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_own_rules_keep_the_contract(rule):
    check_rule(rule, list("abcd"))


def test_a_hide_takes_documents_out_before_places_are_given():
    with pytest.raises(ContractError, match="slack must be 0 exactly if the constraints hold"):
        check_rule(Hide("a"), list("abcd"))


@pytest.mark.parametrize("name", EXPORTERS)
def test_own_exporters_keep_the_contract(name):
    assert name in EMULATORS
    check_exporter(EXPORTERS[name], emulate)


# Faults, each with the clause that names it


@dataclass(eq=False)
class Forgetful(RankSVM):
    """Changes its own parameters."""

    name = "forgetful"

    def fit(self, *args, **kwargs):
        self.C = 3.0
        return super().fit(*args, **kwargs)


@dataclass(eq=False)
class Nameless(RankSVM):
    """Has a grid over nothing."""

    name = "nameless"
    grid = {"colour": [1]}  # noqa: RUF012


@dataclass(eq=False)
class Shuffled(RankSVM):
    """Gives scores in another order."""

    name = "shuffled"

    def predict(self, X):
        return super().predict(X)[::-1]


@dataclass(eq=False)
class Peeking(RankSVM):
    """Looks at the labels."""

    name = "peeking"

    def predict(self, X):
        return super().predict(X) + X.y


@pytest.mark.parametrize(
    ("ranker", "clause"),
    [
        (Peeking(), "scores must not depend on labels"),
        (Forgetful(), "Forgetful: fit must not change the parameters"),
        (Nameless(), r"grid names \['colour'\], which are not parameters"),
        (Shuffled(), "the order of"),
    ],
)
def test_faults_of_rankers_are_named(ranker, clause):
    with pytest.raises(ContractError, match=clause):
        check_ranker(ranker)


class WrongSlope(QueryLoss):
    name = "wrong-slope"

    def query(self, scores, labels):
        gap = (scores - scores.mean()) - (labels - labels.mean())
        return gap @ gap, gap  # half of the gradient


def test_a_wrong_gradient_is_named():
    with pytest.raises(ContractError, match="WrongSlope: the gradient must be that of the values"):
        check_loss(WrongSlope())


@dataclass(frozen=True, kw_only=True)
class SumOfScores(NDCG):
    name = "SumOfScores"

    def values(self, lists):
        return lists.groups.reduce(np.add, lists.scores)


def test_a_metric_of_the_scores_themselves_is_named():
    with pytest.raises(ContractError, match="only the order of the scores may change the values"):
        check_metric(SumOfScores())


@dataclass(frozen=True)
class FirstOnly(PointAggregator):
    name = "first-only"
    paper = "none"

    def points(self, rankings):
        points = Borda().points(rankings)
        points[:, 1:] = 0
        return -points


def test_an_aggregator_that_turns_a_ranking_round_is_named():
    with pytest.raises(
        ContractError, match="FirstOnly: the result of 1 equal rankings must be that ranking"
    ):
        check_aggregator(FirstOnly())


class Optimist(STRATEGIES["sort"]):
    name = "optimist"

    @staticmethod
    def _bound(n, k, prior):
        return 0


def test_a_bound_that_is_exceeded_is_named():
    with pytest.raises(ContractError, match="bound says 0 judgments, got 1"):
        check_strategy(Optimist)


class SlackOfAnother(TopK):
    def slack(self, bound, place):
        return 0


def test_a_slack_that_does_not_fit_the_constraints_is_named():
    with pytest.raises(ContractError, match="slack must be 0 exactly if the constraints hold"):
        check_rule(SlackOfAnother("a", 1), list("abc"))


class NoWish(TopK):
    def prefer(self, bound, preferences):
        return


def test_a_soft_rule_that_wishes_nothing_is_named():
    with pytest.raises(
        ContractError, match="a soft rule with a large weight must be less violated"
    ):
        check_rule(NoWish("c", 1), list("abc"))


def test_a_list_that_does_not_allow_a_rule_is_named():
    with pytest.raises(ContractError, match="NotTopK: expected a list that allows it"):
        check_rule(NotTopK("a", 3), list("abc"))


def test_an_exporter_that_drops_features_is_named():
    def drops(form, name):
        exported = EXPORTERS["json"](form, name)
        return type(exported)("json", exported.kind, name, ("f1",), exported.content)

    with pytest.raises(ContractError, match="the export must name the model's features"):
        check_exporter(drops)


def test_an_act_that_raises_nothing_or_another_error_is_named():
    contract = Contract("It")
    with pytest.raises(ContractError, match="It: clause; expected KeyError, got no error"):
        contract.require_error(KeyError, dict, "clause")
    with pytest.raises(ContractError, match="got ZeroDivisionError: division by zero"):
        contract.require_error(KeyError, lambda: 1 / 0, "clause")
