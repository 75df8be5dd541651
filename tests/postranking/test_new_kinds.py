"""Boost, bury, insert, mix, take-turns, fair-share and exposure: against brute force and closed forms."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from podium.errors import ConflictError, DataError, UsageError
from podium.postranking import (
    AtMost,
    Boost,
    Bury,
    Each,
    Exposure,
    FairShare,
    Hide,
    Insert,
    Mix,
    Pin,
    TakeTurns,
    TopK,
    Where,
    postrank,
    postrank_batch,
)
from podium.postranking.rules.fair_shares import (
    corrected_counts,
    exposures,
    failure_probability,
    least_counts,
)
from podium.postranking.rules.files import parse_rules, rules_text
from podium.testing import check_rule
from tests.support.hard_rules import AsGiven

LIST = list("abcdef")
BRANDS = [{"id": doc, "brand": brand} for doc, brand in zip(LIST, "xxxyyz", strict=True)]
KINDS = [
    (Boost("e", factor=2), LIST),
    (Boost(["b", "e", "f"], percentile=20), LIST),
    (Bury("b", factor=2.5), LIST),
    (Bury(["a", "d"], percentile=70), LIST),
    (Insert("e", 2), LIST),
    (Insert("e", 2, 3), LIST),
    (Mix(["e", "f"], 1, 3, 6), LIST),
    (Mix(["b", "d", "e", "f"], 2, 3, 5), LIST),
    (TakeTurns(Each("brand"), 6), BRANDS),
    (FairShare(["d", "e", "f"], 0.7, 6), LIST),
    (Exposure(["d", "e"], 4, least=0.4), LIST),
    (Exposure(["a", "b"], 4, most=0.3), LIST),
]


@pytest.mark.parametrize(("rule", "docs"), KINDS, ids=lambda value: getattr(value, "kind", ""))
def test_each_kind_keeps_the_contract_of_rules(rule, docs):
    check_rule(rule, docs)


@pytest.mark.parametrize(("rule", "docs"), KINDS, ids=lambda value: getattr(value, "kind", ""))
def test_each_kind_survives_a_file_and_names_the_documents_it_moves(rule, docs):
    assert parse_rules(rules_text([rule])) == (rule,)
    assert rule.kind == "take-turns" or eval(repr(rule)) == rule
    result = postrank(docs, [replace(rule, hard=True)])
    assert result.moved
    assert all(move.because == (replace(rule, hard=True),) for move in result.moved)


def orders_that_meet(docs, allowed):
    return [order for order in itertools.permutations(docs) if allowed(order)]


def best_order(docs, allowed):
    """The order with the smallest sum of original score times place, by brute force."""
    score = {doc: -at for at, doc in enumerate(docs)}

    def cost(order):
        return sum(score[doc] * place for place, doc in enumerate(order, start=1))

    return min(cost(order) for order in orders_that_meet(docs, allowed)), cost


def is_mixed(group, m, of, k):
    def allowed(order):
        n, a = len(order), len(group)
        for i in range(1, min(k, n) + 1):
            inside = sum(doc in group for doc in order[:i])
            least, most = min(m * i // of, a), max(math.ceil(m * i / of), i - (n - a))
            if not least <= inside <= most:
                return False
        return True

    return allowed


def takes_turns(order):
    """Round by round: before a brand has its second document, every brand with one left has its first."""
    brand = {record["id"]: record["brand"] for record in BRANDS}
    left = {b: sum(x == b for x in brand.values()) for b in "xyz"}
    remaining = list(order)
    while remaining:
        turn = {b for b, count in left.items() if count}
        first, remaining = remaining[: len(turn)], remaining[len(turn) :]
        if {brand[doc] for doc in first} != turn:
            return False
        for b in turn:
            left[b] -= 1
    return True


def is_fair(group, share, k):
    def allowed(order):
        table = corrected_counts(k, share, 0.1)
        return all(
            sum(doc in group for doc in order[:i]) >= min(least, len(group))
            for i, least in enumerate(table, start=1)
        )

    return allowed


@pytest.mark.parametrize(
    ("rule", "docs", "allowed"),
    [
        (Boost("e", factor=2), LIST, lambda order: order.index("e") < 3),
        (Boost(["b", "f"], percentile=34), LIST, lambda o: o.index("b") < 2 and o.index("f") < 3),
        (Bury("b", factor=2.5), LIST, lambda order: order.index("b") >= 4),
        (Bury(["e", "f"], percentile=90), LIST, lambda o: o.index("e") >= 4 and o.index("f") == 5),
        (Insert("f", 2, 3), LIST, lambda order: order.index("f") in (1, 2)),
        (Mix(["e", "f"], 1, 3, 6), LIST, is_mixed("ef", 1, 3, 6)),
        (Mix(["b", "d", "e", "f"], 2, 3, 5), LIST, is_mixed("bdef", 2, 3, 5)),
        (TakeTurns(Each("brand"), 6), BRANDS, takes_turns),
        (FairShare(["d", "e", "f"], 0.7, 6), LIST, is_fair("def", 0.7, 6)),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_a_hard_rule_finds_the_best_of_all_orders_that_meet_it(rule, docs, allowed):
    result = postrank(docs, [replace(rule, hard=True)], method=AsGiven())
    least, cost = best_order(LIST, allowed)
    assert allowed(result.order)
    assert result.proved_optimal
    assert cost(result.order) == least


@pytest.mark.parametrize("k", [3, 5, 6])
def test_exposure_bounds_hold_in_every_order_that_the_rule_allows(k):
    value = [1 / math.log2(1 + place) if place <= k else 0.0 for place in range(1, 7)]
    total = float(exposures(k).sum())
    assert total == pytest.approx(sum(value))
    for group in itertools.combinations(LIST, 2):
        for share in (0.1, 0.3, 0.45):
            for rule in (
                Exposure(list(group), k, least=share),
                Exposure(list(group), k, most=share),
            ):
                result = postrank(LIST, [replace(rule, hard=True)])
                places = [result.order.index(doc) for doc in group]
                got = sum(value[place] for place in places) / total
                if rule.least:  # the largest share that two documents can have may be less
                    assert got >= min(share, sum(value[:2]) / total) - 1e-9
                else:
                    assert got <= max(share, sum(value[-2:]) / total) + 1e-9


def test_the_plain_table_is_the_published_one():
    # Zehlike et al. (CIKM 2017), Table 2: m(k) at significance 0.1 for shares 0.1 to 0.7.
    published = {
        0.1: (0,) * 12,
        0.2: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1),
        0.3: (0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2),
        0.4: (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3),
        0.5: (0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4),
        0.6: (0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5),
        0.7: (0, 1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 6),
    }
    for share, table in published.items():
        assert least_counts(12, share, 0.1) == table


@pytest.mark.parametrize(
    ("k", "share", "significance", "steps", "failure"),
    [  # tables of the authors' library: the places where the count rises, and the probability to fail
        (10, 0.2, 0.15, (9,), 0.13421772800000065),
        (20, 0.25, 0.1, (9, 16), 0.10515247355215251),
        (30, 0.3, 0.05, (11, 17, 22, 26), 0.04877730797178359),
    ],
)
def test_the_corrected_table_is_the_published_one(k, share, significance, steps, failure):
    table = corrected_counts(k, share, significance)
    assert table == tuple(sum(step <= i for step in steps) for i in range(1, k + 1))
    assert failure_probability(table, share) == pytest.approx(failure, abs=1e-12)


@pytest.mark.parametrize(
    ("k", "share", "significance"), [(6, 0.5, 0.1), (9, 0.3, 0.2), (10, 0.7, 0.05)]
)
def test_the_correction_is_the_nearest_of_all_levels_by_counting_every_draw(k, share, significance):
    draws = np.array(list(itertools.product((0, 1), repeat=k)))
    weight = (share**draws * (1 - share) ** (1 - draws)).prod(axis=1)
    inside = draws.cumsum(axis=1)

    def failure(table):
        return float(weight[(inside < table).any(axis=1)].sum())

    levels = np.linspace(1e-6, significance, 4001)
    counts = [binom.ppf(levels, i, share) for i in range(1, k + 1)]  # F(m) >= level
    best = min(abs(failure(table) - significance) for table in set(zip(*counts, strict=True)))
    table = corrected_counts(k, share, significance)
    own = failure(table)
    assert own == pytest.approx(failure_probability(table, share), abs=1e-12)
    assert abs(own - significance) <= best + 1e-12


def test_an_inserted_document_has_no_old_place_and_its_rule_as_reason():
    rules = [Insert("new", 2, hard=True)]
    result = postrank(LIST, rules, insertable=[{"id": "new"}])
    assert result.order == ("a", "new", "b", "c", "d", "e", "f")
    assert result.inserted == ("new",)
    assert result.moves[1].origin is None
    assert result.moves[1].because == tuple(rules)
    assert result.kendall == 0
    assert postrank(LIST, rules, fields={"new": {}}).order == result.order


def test_a_document_comes_only_from_the_catalogue_or_the_request():
    with pytest.raises(DataError, match="not in the list"):
        postrank(LIST, [Insert("new", 2)], fields={"other": {}})
    result = postrank(LIST, [Insert("new", 2, hard=True)], fields={"other": {}}, missing="report")
    assert result.order == tuple(LIST)
    assert "absent: 'new'" in result.rules[0].note


def test_other_rules_act_on_inserted_documents():
    docs = [{"id": doc, "brand": "x"} for doc in "abc"]
    rules = [Insert("new", 1, hard=True), AtMost(Where("brand == 'y'"), 0, 1, hard=True)]
    with pytest.raises(ConflictError) as caught:
        postrank(docs, rules, insertable=[{"id": "new", "brand": "y"}])
    assert set(caught.value.rules) == set(rules)
    assert postrank(docs, rules, insertable=[{"id": "new", "brand": "z"}]).order[0] == "new"


def test_an_inserted_document_that_is_sold_out_is_not_shown_and_its_rule_gives_way():
    rules = [Insert("new", 1, hard=True), Hide(Where("stock == 0"), hard=True)]
    catalogue = {"new": {"stock": 0}, "a": {"stock": 3}, "b": {"stock": 1}}
    result = postrank(["a", "b"], rules, fields=catalogue, conflicts="yield")
    assert result.order == ("a", "b")
    assert result.hidden == result.inserted == ()
    assert [outcome.yielded for outcome in result.rules] == [True, False]


def test_lists_of_a_batch_get_the_documents_of_the_catalogue():
    rules = [Insert("new", 1, hard=True, query="one")]
    ruled = postrank_batch(
        {"one": ["a", "b"], "two": ["a"]}, rules, fields={"a": {}, "b": {}, "new": {}}
    )
    assert ruled["one"].order == ("new", "a", "b")
    assert ruled["two"].order == ("a",)


def test_a_soft_insert_takes_its_place_by_its_weight():
    places = [
        postrank(LIST, [Insert("new", 1, weight=weight)], insertable=["new"]).order.index("new")
        for weight in (0.01, 1, 30)
    ]
    assert places[0] == 6 > places[1] > places[2] == 0


def test_scores_below_the_list_are_given_to_inserted_documents():
    result = postrank(
        ["a", "b"],
        [Insert("new", 2, hard=True)],
        scores=[2.0, 5.0],
        base="margin",
        insertable=["new"],
    )
    assert result.order == ("b", "new", "a")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Boost("a"),
        lambda: Boost("a", factor=2, percentile=10),
        lambda: Boost("a", factor=0.5),
        lambda: Boost("a", factor=float("nan")),
        lambda: Insert("a", 3, 2),
        lambda: Insert(Where("x == 1"), 3),
        lambda: Mix("a", 3, 3, 9),
        lambda: TakeTurns("a", 3),
        lambda: FairShare("a", 1.5, 10),
        lambda: FairShare("a", 0.5, 1_001),
        lambda: Exposure("a", 5),
        lambda: Exposure("a", 5, least=0.2, most=0.5),
    ],
)
def test_wrong_numbers_are_refused(make):
    with pytest.raises(UsageError, match="expected"):
        make()


def test_the_weaker_class_gives_way_before_priorities_count():
    pin = Pin("a", 1, hard=True, class_="campaign", priority=9)
    for rule in (Hide("a", hard=True, class_="legal"), TopK("b", 1, hard=True, class_="stock")):
        result = postrank(["a", "b"], [pin, rule], conflicts="yield")
        assert [outcome.yielded for outcome in result.rules] == [True, False]
        turned = postrank(
            ["a", "b"], [pin, rule], conflicts="yield", classes=["campaign", "legal", "stock"]
        )
        assert [outcome.yielded for outcome in turned.rules] == [False, True]
    plain = TopK("b", 1, hard=True, priority=99)
    result = postrank(["a", "b"], [pin, plain], conflicts="yield")
    assert [outcome.yielded for outcome in result.rules] == [False, True]
