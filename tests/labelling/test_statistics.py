"""Statistics of a store: against sessions replayed one by one, in SQLite and PostgreSQL."""

import itertools
import json
import math
import time
from collections import Counter, defaultdict

import numpy as np
import pytest
import sqlalchemy as sa

from podium.errors import UnknownNameError, UsageError
from podium.labelling import (
    STRATEGIES,
    Graded,
    GradeTask,
    JudgedTopK,
    Judgment,
    PreferenceTask,
    cohen_kappa,
    make_judgments,
    plot_statistics,
    statistics,
)
from podium.labelling.judging_statistics.judgment_times import COMPLEXITY, TIME_BINS
from podium.labelling.session import Session
from podium.labelling.store import Store, StoreMember
from tests.support import judged_stores


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("store") / "judgments.db") as opened:
        yield judged_stores.generated(opened, repeat=0.1)


@pytest.fixture(scope="module")
def found(store):
    return statistics(store)


@pytest.fixture(scope="module")
def sessions(store):
    """Every session as its events make it: no column of numbers takes part."""
    tasks = [state.task for state in store.session_states()]
    return [Session.replay(task, store.events(task.id)) for task in tasks]


def oriented(judgment):
    """0, 1 or 2 for >, ~ and < with the smaller id first."""
    one = judgment if judgment.a < judgment.b else judgment.flipped()
    return {">": 0, "~": 1, "bad": 1, "<": 2}[one.answer]


def said_by_query(sessions):
    """query -> assessor -> pair -> answer, the first one."""
    said = defaultdict(dict)
    for session in sessions:
        if isinstance(session.task, PreferenceTask):
            own = said[session.task.query].setdefault(session.task.assessor, {})
            for judgment in session.judgments:
                own.setdefault(frozenset((judgment.a, judgment.b)), oriented(judgment))
    return said


def test_the_pairs_that_both_judged(found, sessions):
    counts = Counter()
    for of_query in said_by_query(sessions).values():
        for u, v in itertools.permutations(of_query, 2):
            for pair in of_query[u].keys() & of_query[v].keys():
                counts[of_query[u][pair], of_query[v][pair]] += 1
    expected = [[counts[r, c] for c in range(3)] for r in range(3)]
    assert found.judged.table.tolist() == expected
    assert found.judged.n_pairs > 30


def test_alpha_and_kappa_of_the_pairs_that_both_judged(found, sessions):
    units, between = defaultdict(list), defaultdict(lambda: np.zeros((3, 3)))
    for query, of_query in said_by_query(sessions).items():
        for own in of_query.values():
            for pair, answer in own.items():
                units[query, pair].append(answer)
        for u, v in itertools.combinations(sorted(of_query), 2):
            for pair in of_query[u].keys() & of_query[v].keys():
                between[u, v][of_query[u][pair], of_query[v][pair]] += 1
    met = [values for values in units.values() if len(values) > 1]
    flat = [value for values in met for value in values]
    differ = sum(
        (a != b) / (len(values) - 1) for values in met for a, b in itertools.permutations(values, 2)
    )
    expected = sum(a != b for a, b in itertools.permutations(flat, 2)) / (len(flat) - 1)
    assert found.judged.alpha == pytest.approx(1 - differ / expected)
    kappas = [(cohen_kappa(table), table.sum()) for table in between.values()]
    defined = [(kappa, n) for kappa, n in kappas if not math.isnan(kappa)]
    weighted = sum(kappa * n for kappa, n in defined) / sum(n for _, n in defined)
    assert found.judged.kappa == pytest.approx(weighted)


def test_final_results_of_both_tools(found, sessions):
    for tool, told in (("preference", found.preferences), ("grade", found.grades)):
        counts = Counter()
        by_query = defaultdict(list)
        for session in sessions:
            if session.task.tool == tool:
                step = session.step
                labels = (
                    step.labels(session.task.documents) if tool == "preference" else step.labels
                )
                by_query[session.task.query].append(labels)
        for opinions in by_query.values():
            for one, other in itertools.permutations(opinions, 2):
                for a, b in itertools.combinations(sorted(one), 2):
                    signs = tuple(1 - int(np.sign(y[a] - y[b])) for y in (one, other))
                    counts[signs] += 1
        assert told.table.tolist() == [[counts[r, c] for c in range(3)] for r in range(3)]
        assert told.n_pairs == 8 * (12 * 11 // 2)  # eight queries, two assessors each


def test_grades_and_their_reliability(found, sessions):
    by_document = defaultdict(list)
    for session in sessions:
        if isinstance(session.task, GradeTask):
            for graded in session.judgments:
                by_document[session.task.query, graded.document].append(graded.grade)
    pairs = [tuple(grades) for grades in by_document.values()]
    assert found.reliability.documents == len(pairs) == 8 * 12
    assert found.reliability.same == pytest.approx(np.mean([a == b for a, b in pairs]))
    flat = [grade for pair in pairs for grade in pair]
    expected = np.mean([a != b for a, b in itertools.permutations(flat, 2)])
    observed = np.mean([a != b for a, b in pairs])
    assert found.reliability.nominal == pytest.approx(1 - observed / expected)
    assert found.reliability.nominal < found.reliability.ordinal < 1


def test_self_consistency(found, sessions):
    for tool, read in (("preference", oriented), ("grade", lambda graded: graded.grade)):
        both = []
        for session in sessions:
            if session.task.tool != tool:
                continue
            first = {}
            for one in session.judgments:
                pair = one.document if isinstance(one, Graded) else frozenset((one.a, one.b))
                first.setdefault(pair, read(one))
            for timed in session.repeats:
                one = timed.judgment
                pair = frozenset((one.a, one.b)) if isinstance(one, Judgment) else one.document
                both.append((first[pair], read(one)))
        told = found.consistency[tool]
        assert told.repeats == len(both) > 10
        assert told.same == pytest.approx(np.mean([a == b for a, b in both]))
        assert told.opposite == pytest.approx(np.mean([abs(a - b) > 1 for a, b in both]))


def test_table_1(found, sessions):
    for times, tool in zip(found.methods, ("preference", "grade"), strict=True):
        mine = [session for session in sessions if session.task.tool == tool]
        seconds = [s for session in mine for s in session.active_seconds]
        assert times.tool == tool
        assert times.judgments == len(seconds)
        assert times.seconds == pytest.approx(np.mean(seconds))
        assert times.median == pytest.approx(np.median(seconds))
        assert times.judgments_per_query == pytest.approx(len(seconds) / len(mine))
        spent = [sum(session.active_seconds) / 60 for session in mine]
        assert times.minutes_per_query == pytest.approx(np.mean(spent))
        assert times.repeated == sum(len(session.repeats) for session in mine)
        assert sum(times.histogram) == len(seconds)
        assert len(times.histogram) == len(TIME_BINS) - 1
    assert [(t.name, t.complexity) for t in found.methods] == [
        ("tournament", "n + k log n"),
        ("grade", "n"),
    ]
    costs = found.tables()[0]
    grows_as = [row[costs.headers.index("judgments grow as")] for row in costs.rows]
    assert grows_as == ["n + k log n", "n"]
    assert sum(times.judgments for times in found.assessors) == sum(
        times.judgments for times in found.methods
    )
    assert [times.name for times in found.assessors] == sorted(f"u{i}" for i in (0, 1, 2, 3, 4) * 2)


def test_overlap_of_the_top_k(found, sessions):
    by_query = defaultdict(list)
    for session in sessions:
        if isinstance(session.step, JudgedTopK):
            by_query[session.task.query].append(set(session.step.order))
    shares = [2 * len(a & b) / (len(a) + len(b)) for a, b in by_query.values()]
    assert found.overlap.pairs == 8
    assert found.overlap.mean == pytest.approx(np.mean(shares))
    assert found.overlap.least == min(shares)


def test_every_strategy_states_its_complexity():
    assert set(COMPLEXITY) == {*STRATEGIES, "grade"}


def test_a_small_store_by_hand(store_url):
    with Store.open(store_url) as store:
        judged_stores.small(store)
        found = statistics(store)
    # q1: ann w > x > y ~ z (outside), bob x > w > y ~ z. Pairs wx, wy, wz, xy, xz, yz: only wx differs.
    assert found.preferences.n_pairs == 6
    assert found.preferences.table.tolist() == [[8, 0, 1], [0, 2, 0], [1, 0, 0]]
    assert found.preferences.overall == 5 / 6
    assert found.preferences.without_ties == 4 / 5
    # q2: ann w4 x3 y3 z0, bob w3 x3 y4 z0: wx > ~, wy > <, wz > >, xy ~ <, xz > >, yz > >.
    assert found.grades.n_pairs == 6
    assert found.grades.overall == 3 / 6
    assert found.grades.without_ties == 3 / 4
    assert found.overlap.mean == 1.0
    assert found.overlap.first == 0.0
    sort, tournament, grade = found.methods[0], found.methods[1], found.methods[2]
    assert (sort.name, tournament.name, grade.name) == ("sort", "tournament", "grade")
    assert (grade.seconds, grade.judgments_per_query) == (15.0, 4.0)
    assert grade.minutes_per_query == pytest.approx((4 * 10 + 4 * 20) / 2 / 60)
    assert (tournament.sessions, tournament.finished, tournament.judgments) == (1, 0, 1)
    assert math.isnan(tournament.minutes_per_query)
    assert found.reliability.same == 2 / 4
    assert found.tools is not None
    assert found.tools.permutation is None  # one query for each tool
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["tools"]["permutation"] is None


def test_undone_untimed_and_flawed_judgments(tmp_path):
    with Store.open(tmp_path / "judgments.db") as store:
        store.add_pool(judged_stores.pool_of(["q"], "abc"))
        store.add_members([StoreMember("ann")])
        task = GradeTask("s", "q", "ann", tuple("abc"))
        store.add_tasks([task])
        judged_stores.tell(store, task, {"document": "a", "grade": 1}, seconds=8)
        judged_stores.tell(store, task, {"steps": 1}, kind="undo", seconds=0)
        judged_stores.tell(store, task, {"document": "a", "grade": 2}, seconds=4)
        judged_stores.tell(store, task, {"document": "b", "grade": 2}, seconds=0)
        judged_stores.tell(store, task, {"document": "c", "grade": 0}, seconds=-5)
        (times,) = statistics(store).methods
    assert (times.judgments, times.undone, times.untimed, times.flawed) == (3, 1, 2, 1)
    assert times.seconds == 4.0  # of the one that stands and has a time
    assert times.minutes_per_query == pytest.approx((8 + 4) / 60)  # the undone took its time, too


def test_a_store_without_judgments(tmp_path):
    with Store.open(tmp_path / "judgments.db") as store:
        found = statistics(store)
        assert found.tables() == []
        assert json.dumps(found.to_dict(), allow_nan=False)
        store.add_pool(judged_stores.pool_of(["q"], "ab"))
        store.add_members([StoreMember("ann")])
        store.add_tasks([PreferenceTask("s", "q", "ann", ("a", "b"))])
        found = statistics(store)
    assert repr(found) == "Statistics(0 judgments, 0 of 1 sessions finished)"
    assert found.tools is None
    assert math.isnan(found.methods[0].seconds)
    plot_statistics(found)


def test_tables_have_as_many_cells_as_columns(found):
    tables = found.tables()
    assert [table.title.split(":")[0] for table in tables] == [
        "Costs by method", "Costs by assessor", "Agreement", "Agreement", "Agreement",
        "Tests and reliability",
    ]  # fmt: skip
    for table in tables:
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.headers)}


def test_the_figure_has_all_panels(found, tmp_path):
    figure = plot_statistics(found)
    assert len(figure.axes) == 5
    figure.savefig(tmp_path / "figure.svg")


def test_a_picture_of_one_panel(found):
    ax = found.plot(what="preferences")
    texts = [text.get_text() for text in ax.texts]
    assert texts == [f"{share:.3f}" for share in found.preferences.matrix.ravel()]
    assert len(found.plot(what="assessors").get_yticklabels()) == len(found.assessors)
    methods = [times for times in found.methods if sum(times.histogram)]
    assert len(found.plot().patches) == len(methods)
    with pytest.raises(UnknownNameError, match="did you mean times"):
        found.plot(what="time")


def test_same_seed_same_statistics(store, found):
    again = statistics(store, resamples=found.resamples, seed=found.seed)
    assert again.to_dict() == found.to_dict()
    assert statistics(store, seed=1).tools.permutation.seed == 1


# Generated judgments


def test_generated_judgments_are_the_same_for_a_seed(tmp_path):
    told = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        with Store.open(tmp_path / f"{name}.db") as store:
            judged_stores.generated(store, n_queries=5, n_documents=6, k=2, seed=seed)
            assert make_judgments(store, seed=seed) == 0  # nothing is open any more
            told.append(store.results())
    assert told[0] == told[1] != told[2]


def test_without_noise_the_assessors_agree(tmp_path):
    with Store.open(tmp_path / "judgments.db") as store:
        judged_stores.generated(store, n_queries=5, noise=0.0, tie=0.0, repeat=0.2)
        found = statistics(store)
    assert found.preferences.overall == found.grades.overall == 1.0
    assert found.consistency["preference"].same == found.consistency["grade"].same == 1.0


@pytest.mark.parametrize("options", [{"noise": -1}, {"tie": -1}, {"repeat": 1.0}])
def test_generated_judgments_that_cannot_be(store, options):
    with pytest.raises(UsageError, match="expected noise and tie"):
        make_judgments(store, **options)


# Speed


def test_statistics_are_fast(tmp_path):
    """A tenth of a million events: 600 finished sessions of 50 documents, two assessors a query."""
    n_tasks, n_judgments = 600, 80
    documents = [f"document-{i:04d}" for i in range(50)]
    rng = np.random.default_rng(0)
    with Store.open(tmp_path / "judgments.db") as store:
        store.add_pool(judged_stores.pool_of([f"q{i}" for i in range(n_tasks // 2)], documents))
        store.add_members([StoreMember("ann"), StoreMember("bob")])
        store.add_tasks(
            PreferenceTask(f"s{i}", f"q{i // 2}", ("ann", "bob")[i % 2], tuple(documents))
            for i in range(n_tasks)
        )
        rows = []
        for number in range(1, n_tasks + 1):
            a = rng.integers(0, 50, n_judgments)
            b = (a + rng.integers(1, 50, n_judgments)) % 50
            answer = rng.integers(-1, 3, n_judgments)
            for i in range(2 * n_judgments):
                kind, j = ("shown", "judgment")[i % 2], i // 2
                rows.append((number, i + 1, f"{number}-{i}", kind, i, i, "{}", int(a[j]), int(b[j]),
                             int(answer[j]), 0, 900 + i, 0, 0))  # fmt: skip
        insert = sa.text(f"INSERT INTO events VALUES ({', '.join(f':c{i}' for i in range(14))})")
        finish = sa.text("UPDATE sessions SET events = :n, result = :result WHERE task = :task")
        with store.database.writing("many events") as connection:
            connection.execute(insert, [{f"c{i}": v for i, v in enumerate(row)} for row in rows])
            for number in range(1, n_tasks + 1):
                best = [[documents[i]] for i in rng.permutation(50)[:10]]
                result = json.dumps({"levels": best, "k": 10, "judged": n_judgments})
                values = {"n": 2 * n_judgments, "result": result, "task": number}
                connection.execute(finish, values)
        spent = []
        for _ in range(3):
            started = time.process_time()
            found = statistics(store)
            spent.append(time.process_time() - started)
    assert len(rows) == 96_000
    assert found.preferences.n_pairs == n_tasks // 2 * 1225
    assert min(spent) < 1  # measured: 0.12
