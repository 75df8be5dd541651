"""Settlements: what an admin decides holds in merged truth, and judgments stay as they are."""

from itertools import combinations, permutations
from random import Random

import pytest

from podium.errors import ChangeConflictError, UsageError
from podium.labelling import JudgedTopK, Settlement, export, find_disagreements
from podium.labelling.settlements import check_settlement, settle_top_k
from podium.labelling.store import Store, StoreAdmin, StoreMember
from tests.support.judged_stores import small


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "judgments.db") as store:
        small(store)
        store.add_members([StoreMember("boss", role="admin")])
        yield store


def settle(top, *texts):
    pairs = [Settlement("q", (text[0], text[-1]), text[1:-1]) for text in texts]
    return settle_top_k(JudgedTopK(tuple(map(tuple, top)), 3, 5), pairs).levels


def test_the_better_document_moves_before_the_one_it_beats():
    assert settle(["a", "b", "c"], "c>a") == (("c",), ("a",), ("b",))
    assert settle(["a", "b", "c"], "a<c") == (("c",), ("a",), ("b",))
    assert settle(["a", "b", "c"], "a>b") == (("a",), ("b",), ("c",))
    assert settle(["ab", "c"], "b>a") == (("b",), ("a",), ("c",))
    assert settle(["a", "b", "c"], "c>b", "b>a") == (("c",), ("b",), ("a",))


def test_documents_that_move_before_the_same_one_keep_their_order():
    assert settle(["c", "b", "d"], "b>c", "d>c") == (("b",), ("d",), ("c",))
    assert settle(["c", "d", "b"], "b>c", "d>c") == (("d",), ("b",), ("c",))
    assert settle(["c", "bd"], "b>c", "d>c") == (("b", "d"), ("c",))


def test_a_document_from_outside_takes_a_place():
    assert settle(["a", "b", "c"], "x>b") == (("a",), ("x",), ("b",))
    assert settle(["a", "b", "c"], "x>y") == (("a",), ("b",), ("c",))  # both stay outside


def test_ties_share_a_level_and_bad_documents_leave():
    assert settle(["a", "b", "c"], "a~c") == (("a", "c"), ("b",))
    assert settle(["a", "b", "c"], "abadb") == (("c",),)


def test_every_settled_pair_holds_whatever_the_merged_order():
    for top in permutations("abcd", 3):
        for better, worse in permutations("abcd", 2):
            levels = settle(top, f"{better}>{worse}")
            place = {d: i for i, level in enumerate(levels) for d in level}
            assert sum(map(len, levels)) == 3
            assert place.get(better, 3) < place.get(worse, 4)
            others = [d for d in top if d != better and d in place]
            assert all(place[x] < place[y] for x, y in combinations(others, 2))


def test_settlements_must_not_contradict_each_other():
    others = [Settlement("q", ("a", "b"), ">"), Settlement("q", ("b", "c"), ">")]
    check_settlement(Settlement("q", ("a", "c"), ">"), others)
    check_settlement(Settlement("other", ("c", "a"), ">"), others)
    check_settlement(Settlement("q", ("b", "a"), ">"), others[:1])  # the same pair: it replaces
    for answer in ("<", "~"):
        with pytest.raises(ChangeConflictError, match="follows from them"):
            check_settlement(Settlement("q", ("a", "c"), answer), others)


@pytest.mark.parametrize("standing", ["a>b", "b<a", "a~b"])
def test_a_document_settled_as_better_or_tied_is_not_bad(standing):
    others = [Settlement("q", (standing[0], standing[-1]), standing[1])]
    with pytest.raises(ChangeConflictError, match="is settled; change those first"):
        check_settlement(Settlement("q", ("a", "x"), "bad"), others)
    bad = Settlement("q", ("a", "x"), "bad")
    with pytest.raises(ChangeConflictError, match="follows from them"):
        check_settlement(others[0], [bad])
    check_settlement(Settlement("q", ("b", "a"), ">"), [bad])
    check_settlement(bad, [Settlement("q", ("b", "a"), ">")])
    # An older store may hold both: each can be changed, and so can other pairs.
    check_settlement(Settlement("q", ("c", "d"), ">"), [*others, bad])
    check_settlement(Settlement("q", ("a", "b"), "<"), [*others, bad])


def test_the_order_of_settlements_does_not_matter():
    assert settle(["a", "b", "c"], "a>b", "abadx") == (("b",), ("c",))
    assert settle(["a", "b", "c"], "abadx", "a>b") == (("b",), ("c",))
    assert settle(["a", "b", "c"], "abadx", "a~b") == (("b",), ("c",))
    n_settled = 0
    for seed in range(300):
        random = Random(seed)
        top = JudgedTopK(tuple((d,) for d in random.sample("abcdef", 4)), 4, 6)
        settled = []
        for _ in range(4):
            answer = random.choice(["<", ">", "~", "bad"])
            new = Settlement("q", tuple(random.sample("abcdef", 2)), answer)
            try:
                check_settlement(new, settled)
            except ChangeConflictError:
                continue
            settled = [s for s in settled if s.key != new.key] + [new]
        n_settled += len(settled)
        results = {settle_top_k(top, order).levels for order in permutations(settled)}
        assert len(results) == 1
        place = {d: i for i, level in enumerate(results.pop()) for d in level}
        for s in settled:
            a, b = (place.get(d, 9) for d in s.documents)
            assert {"<": a > b, ">": a < b, "~": a == b, "bad": a == b == 9}[
                s.answer
            ] or a == b == 9
    assert n_settled > 600


@pytest.mark.parametrize(
    "arguments",
    [(("a",), ">"), (("a", "b"),), (("a", "a"), ">"), (("a", "b"), ">", 1), (("a", "b"), "?"), ((), None, 1)],
)  # fmt: skip
def test_malformed_settlements_are_refused(arguments):
    with pytest.raises(UsageError):
        Settlement("q", *arguments)


def test_who_differs_is_found(store):
    pairs = [(d.query, d.documents) for d in find_disagreements(store)]
    # ann: w > x > y > z; bob: x > w > y ~ z; cat has judged one pair so far.
    assert ("q1", ("w", "x")) in pairs
    (disagreement,) = [d for d in find_disagreements(store, "q1") if d.documents == ("w", "x")]
    answers = {answer.assessor: answer for answer in disagreement.answers}
    assert (answers["ann"].answer, answers["bob"].answer) == (">", "<")
    assert answers["ann"].is_judged
    assert answers["ann"].at in [event.at for event in store.events("ann-q1")]
    # ann: w 4, x 3, y 3; bob: w 3, x 3, y 4.
    assert [pair for pair in pairs if pair[0] == "q2"] == [("q2", ("w",)), ("q2", ("y",))]
    (graded,) = [d for d in find_disagreements(store, "q2") if d.documents == ("y",)]
    assert [(a.assessor, a.answer) for a in graded.answers] == [
        ("ann", "Excellent"),
        ("bob", "Perfect"),
    ]


def labels(store, tmp_path, what, **options):
    path = tmp_path / "out.csv"
    summary = export(store, path, what, "csv", **options)
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    return {(query, document): float(y) for query, document, y in rows}, summary


@pytest.mark.parametrize("merge", ["majority", "bradley-terry", "borda"])
def test_exports_use_what_is_settled(store, tmp_path, merge):
    admin, before = StoreAdmin(store, "boss"), store.events("ann-q1")
    admin.settle(Settlement("q1", ("w", "x"), "<", note="x says when"))
    settled_labels, summary = labels(store, tmp_path, "labels", merge=merge)
    assert settled_labels["q1", "x"] > settled_labels["q1", "w"]
    assert summary.settlements == 1
    admin.settle(Settlement("q1", ("w", "x"), ">"))  # the latest counts, both stay in the store
    again, _ = labels(store, tmp_path, "labels", merge=merge)
    assert again["q1", "w"] > again["q1", "x"]
    assert store.events("ann-q1") == before
    decisions = [entry.after["decision"] for entry in store.audit_log()]
    assert decisions == [">", "<"]
    assert store.audit_log()[0].before["decision"] == "<"


def test_grades_are_settled_too(store, tmp_path):
    StoreAdmin(store, "boss").settle(Settlement("q2", ("w",), grade=1))
    grades, _ = labels(store, tmp_path, "grades", merge="mean")
    assert grades == {("q2", "w"): 1, ("q2", "x"): 3, ("q2", "y"): (3 + 4) / 2, ("q2", "z"): 0}
    disagreement = next(d for d in find_disagreements(store, "q2") if d.documents == ("w",))
    assert disagreement.settlement.grade == 1


def test_settlements_of_nothing_are_refused(store):
    admin = StoreAdmin(store, "boss")
    with pytest.raises(ChangeConflictError, match="has no judged document"):
        admin.settle(Settlement("q1", ("w", "nowhere"), ">"))
    with pytest.raises(ChangeConflictError, match="has no judged document"):
        admin.settle(Settlement("q2", ("w", "x"), ">"))  # q2 is graded only
    with pytest.raises(UsageError, match="from 0 to 4"):
        admin.settle(Settlement("q2", ("w",), grade=5))
    assert store.settlements() == store.audit_log() == []
