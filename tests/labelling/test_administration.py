"""What an admin changes in a store: assessors, tasks, priorities; all of it in the audit log."""

import pytest
import sqlalchemy as sa

from podium.errors import (
    ChangeConflictError,
    StoreError,
    UnknownNameError,
    UsageError,
    WithdrawnTaskError,
)
from podium.labelling import statistics
from podium.labelling.export import export
from podium.labelling.store import Store, StoreAdmin, StoreMember
from tests.support.judged_stores import generated
from tests.support.stores import ANN, CAT, assert_is_its_replay, furnish, judge_all, judgment


@pytest.fixture
def store(store_url):
    with Store.open(store_url) as store:
        furnish(store)
        store.add_members([StoreMember("dan")])
        yield store


@pytest.fixture
def admin(store):
    return StoreAdmin(store, "bob")


def member(store, name):
    return next(m for m in store.members() if m.id == name)


def audited(store):
    return [(e.who, e.action, e.subject, e.before, e.after) for e in reversed(store.audit_log())]


def test_assessors_come_and_go(store, admin):
    assert admin.add_assessor("eve", "Eve") == member(store, "eve") == StoreMember("eve", "Eve")
    assert admin.renew_link("eve").generation == 1
    assert admin.disable_assessor("eve").disabled
    store.add_members([StoreMember("eve", "Eva")])  # an import enables nobody
    assert member(store, "eve") == StoreMember("eve", "Eva", "assessor", 2, True)
    assert admin.enable_assessor("eve").generation == 3  # links from before stay void
    assert audited(store) == [
        ("bob", "add assessor", "eve", None, {"name": "Eve"}),
        ("bob", "renew link", "eve", {"generation": 0}, {"generation": 1}),
        ("bob", "disable assessor", "eve", {"disabled": False}, {"disabled": True}),
        ("bob", "enable assessor", "eve", {"disabled": True}, {"disabled": False}),
    ]


def test_what_does_not_fit_is_refused_and_not_audited(store, admin):
    for act in (
        lambda: admin.add_assessor("ann"),
        lambda: admin.enable_assessor("ann"),
        lambda: admin.assign("q1", "ann", "preference"),
        lambda: admin.assign("q2", "ann", "grade"),
        lambda: admin.reassign("nothing", "dan"),
        lambda: admin.reassign(ANN.id, "ann"),
        lambda: admin.set_priority("high", query="q9"),
    ):
        with pytest.raises(ChangeConflictError):
            act()
    for act in (
        lambda: admin.disable_assessor("nobody"),
        lambda: admin.disable_assessor("bob"),  # an admin
        lambda: admin.set_priority("urgent", query="q1"),
    ):
        with pytest.raises(UnknownNameError):
            act()
    with pytest.raises(UsageError):
        admin.set_priority("high")
    with pytest.raises(UsageError):
        admin.add_assessor("a\nb")
    assert store.audit_log() == []


def test_a_task_goes_to_another_assessor_and_back(store, admin):
    judge_all(store, ANN.id, at_most=4)
    events = store.events(ANN.id)
    late = judgment(ANN.id, store.session(ANN.id).step, 99)
    task = admin.reassign(ANN.id, "dan")
    assert store.is_withdrawn(ANN.id)
    assert not store.is_withdrawn(task)
    (state,) = store.session_states("dan")
    assert (state.task.id, state.judged) == (task, 0)
    assert (state.task.documents, state.task.settings) == (ANN.documents, ANN.settings)
    assert store.session_states("ann") == []
    with pytest.raises(WithdrawnTaskError):
        store.append(late)
    assert store.events(ANN.id) == events  # nothing is overwritten
    back = admin.reassign(task, "ann")
    assert back == ANN.id
    judge_all(store, ANN.id)
    assert store.events(ANN.id)[:4] == events
    assert_is_its_replay(store, ANN)
    with pytest.raises(ChangeConflictError, match="finished"):
        admin.reassign(ANN.id, "dan")
    assert [(e[1], e[3]["assessor"], e[4]["assessor"]) for e in audited(store)] == [
        ("reassign task", "ann", "dan"),
        ("reassign task", "dan", "ann"),
    ]


def test_a_withdrawn_task_is_no_unfinished_session(store, admin, tmp_path):
    judge_all(store, ANN.id)
    admin.reassign("bob-q1", "dan")
    summary = export(store, tmp_path / "labels.csv", "labels", "csv")
    assert (summary.sessions, summary.unfinished) == (1, 1)  # ann's, and dan's new one
    assert statistics(store).methods  # withdrawn tasks stay in the log


def test_a_query_is_given_to_one_more(store, admin):
    task = admin.assign("q1", "dan", "grade")
    (state,) = store.session_states("dan")
    assert (state.task.id, state.task.grades) == (task, CAT.grades)
    assert admin.assign_all("dan", "preference") == [store.session_states("dan")[1].task.id]
    with pytest.raises(ChangeConflictError, match="has all queries already"):
        admin.assign_all("dan", "preference")
    admin.disable_assessor("dan")
    with pytest.raises(ChangeConflictError, match="disabled"):
        admin.reassign(ANN.id, "dan")
    assert not store.is_withdrawn(ANN.id)  # the whole change was taken back


def test_an_assessor_gets_all_queries_or_none(tmp_path, monkeypatch):
    with Store.open(tmp_path / "judgments.db") as store:
        generated(store, n_queries=5)
        store.add_members([StoreMember("dan")])
        admin, give, n_before = StoreAdmin(store, "bob"), StoreAdmin._give, len(store.audit_log())

        def give_two(self, connection, task, *options):
            if task.query == "q2":
                raise ChangeConflictError("the third query is refused")
            return give(self, connection, task, *options)

        monkeypatch.setattr(StoreAdmin, "_give", give_two)
        with pytest.raises(ChangeConflictError, match="third"):
            admin.assign_all("dan", "preference")
        assert store.session_states("dan") == []
        assert len(store.audit_log()) == n_before
        monkeypatch.setattr(StoreAdmin, "_give", give)
        tasks = admin.assign_all("dan", "preference")
        assert tasks == [state.task.id for state in store.session_states("dan")]
        assert len(tasks) == 5


def test_high_priorities_come_first(store, admin):
    admin.assign("q1", "ann", "grade")
    first, second = (state.task.id for state in store.session_states("ann"))
    assert admin.set_priority("high", task=second) == 1
    assert [state.task.id for state in store.session_states("ann")] == [second, first]
    assert admin.set_priority("low", query="q1") == 4
    assert {state.priority for state in store.session_states()} == {-1}
    assert [state.task.id for state in store.session_states("ann")] == [first, second]
    assert audited(store)[-1][3]["ann, grade"] == "high"


def test_the_database_refuses_to_change_the_audit_log(store, admin):
    admin.add_assessor("eve")
    for statement in ("UPDATE audit_log SET who = 'nobody'", "DELETE FROM audit_log"):
        with (
            pytest.raises(StoreError, match="append-only"),
            store.database.writing("the log") as connection,
        ):
            connection.execute(sa.text(statement))
    assert [entry.who for entry in store.audit_log()] == ["bob"]
