"""Who judges what: the paper's design, overlap, CSV."""

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import (
    DataError,
    EmptyDataError,
    MalformedLineError,
    UnknownNameError,
    UsageError,
)
from podium.labelling import (
    Assignment,
    check_assignments,
    crossover_design,
    overlap_design,
    read_assignments,
    write_assignments,
)


def names(letter, n):
    return [f"{letter}{i}" for i in range(n)]


def test_the_papers_design():
    queries, assessors = names("q", 50), names("u", 5)
    plan = crossover_design(queries, assessors)
    folds = defaultdict(set)
    for assessor, query, tool in plan:
        folds[assessor, tool].add(query)
    assert [len(fold) for fold in folds.values()] == [10] * 10
    for i in range(5):  # what U_i grades, U_{i+1} compares
        assert folds[f"u{i}", "grade"] == folds[f"u{(i + 1) % 5}", "preference"]
    assert plan != crossover_design(queries, assessors, seed=1)
    assert plan == crossover_design(queries, assessors, seed=0)


@st.composite
def crossovers(draw):
    rounds = draw(st.integers(1, 3))
    n = draw(st.integers(2 * rounds, 9))
    return draw(st.integers(n, 40)), n, rounds, draw(st.integers(0, 1000))


@given(crossovers())
def test_both_tools_for_everybody_and_no_query_in_both(case):
    n_queries, n_assessors, rounds, seed = case
    plan = crossover_design(
        names("q", n_queries), names("u", n_assessors), rounds=rounds, seed=seed
    )
    check_assignments(plan)
    tools = defaultdict(set)
    for assessor, _, tool in plan:
        tools[assessor].add(tool)
    assert all(tools[a] == {"preference", "grade"} for a in names("u", n_assessors))
    counts = Counter((query, tool) for _, query, tool in plan)
    assert len(counts) == 2 * n_queries
    assert set(counts.values()) == {rounds}
    # Folds differ by one query at most, and everybody has 2 * rounds of them.
    load = Counter(assessor for assessor, _, _ in plan)
    assert max(load.values()) - min(load.values()) <= 2 * rounds


@st.composite
def overlaps(draw):
    tools = draw(st.sampled_from([("preference",), ("grade",), ("preference", "grade")]))
    m = draw(st.integers(1, 4))
    n = draw(st.integers(m * len(tools), 10))
    return draw(st.integers(1, 30)), n, m, tools, draw(st.integers(0, 1000))


@given(overlaps())
def test_every_query_has_m_assessors_and_the_work_is_even(case):
    n_queries, n_assessors, m, tools, seed = case
    plan = overlap_design(names("q", n_queries), names("u", n_assessors), m, tools=tools, seed=seed)
    check_assignments(plan)
    counts = Counter((query, tool) for _, query, tool in plan)
    assert counts == {(query, tool): m for query in names("q", n_queries) for tool in tools}
    load = Counter(dict.fromkeys(names("u", n_assessors), 0))
    load.update(assessor for assessor, _, _ in plan)
    assert max(load.values()) - min(load.values()) <= 1


def test_overlap_mixes_who_meets_whom():
    plan = overlap_design(names("q", 60), names("u", 6), 2)
    of_query = defaultdict(set)
    for assessor, query, _ in plan:
        of_query[query].add(assessor)
    met = Counter(frozenset(pair) for pair in of_query.values())
    assert len(met) == 15  # all pairs of six
    assert max(met.values()) - min(met.values()) <= 2  # 60 queries, 4 for each pair


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: crossover_design(["q"], ["u", "v"]), "as many queries as assessors"),
        (
            lambda: crossover_design(["q", "r"], ["u"]),
            "expected 2 assessors or more for 1 round, got 1",
        ),
        (
            lambda: crossover_design(names("q", 9), names("u", 3), rounds=2),
            "expected 4 assessors or more for 2 rounds, got 3",
        ),
        (lambda: crossover_design(names("q", 9), names("u", 3), rounds=0), "1 round or more"),
        (lambda: crossover_design([], ["u"]), "expected queries, got none"),
        (lambda: crossover_design(["q", "q"], ["u", "v"]), "'q' twice"),
        (lambda: crossover_design(["q", "r"], ["u", "v"], seed=-1), "seed"),
        (lambda: overlap_design(["q"], ["u", "v"], 3), "overlap m of 1 to 2 assessors"),
        (lambda: overlap_design(["q"], ["u", "v"], 0), "overlap m of 1 to 2 assessors"),
        (
            lambda: overlap_design(["q"], ["u", "v"], 2, tools=("preference", "grade")),
            "overlap m of 1 assessor per query, got 2: 2 assessors with 2 tools",
        ),
        (lambda: overlap_design(["q"], ["u", "v"], 1, tools=("grade", "grade")), "each tool once"),
        (lambda: overlap_design(["q"], ["u", "v"], 1, tools=()), "each tool once"),
    ],
)
def test_impossible_designs_are_refused(call, says):
    with pytest.raises(UsageError, match=says):
        call()


def test_an_unknown_tool_is_refused():
    with pytest.raises(UnknownNameError, match="did you mean grade"):
        overlap_design(["q"], ["u"], 1, tools=("grades",))


def test_assignments_read_back_equal(tmp_path):
    plan = [*crossover_design(names("q", 6), ["ann, b.", 'c"d']), Assignment("é", "q1")]
    write_assignments(plan, tmp_path / "plan.csv")
    assert read_assignments(tmp_path / "plan.csv") == plan


def test_without_a_tool_it_is_preferences(tmp_path):
    (tmp_path / "plan.csv").write_text("query,assessor\nq1,ann\nq2,ann\n")
    plan = [Assignment("ann", "q1", "preference"), Assignment("ann", "q2", "preference")]
    assert read_assignments(tmp_path / "plan.csv") == plan


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("ann,,grade", "the assessor or the query is missing"),
        (",q2,grade", "the assessor or the query is missing"),
        ("ann,q2,grades", "tool preference or grade"),
        ("ann,q9,grade", "the pool has no query 'q9'"),
        ("eve,q2,grade", "unknown assessor 'eve'"),
        ("ann,q1,preference", "'q1' twice for 'ann'"),
        ("ann,q1,grade", "'q1' with both tools for 'ann'"),
        ("ann,q2", "3 fields"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, says):
    path = tmp_path / "plan.csv"
    path.write_text(f"assessor,query,tool\nann,q1,preference\nbob,q1,grade\n{line}\n")
    with pytest.raises(MalformedLineError, match=says) as caught:
        read_assignments(path, queries={"q1", "q2"}, assessors={"ann", "bob"})
    assert caught.value.line == 4


def test_an_empty_file_is_an_error(tmp_path):
    (tmp_path / "plan.csv").write_text("assessor,query,tool\n")
    with pytest.raises(EmptyDataError):
        read_assignments(tmp_path / "plan.csv")


def test_a_plan_is_checked():
    with pytest.raises(DataError, match="with both tools for 'ann'"):
        check_assignments([Assignment("ann", "q", "grade"), Assignment("ann", "q", "preference")])
    with pytest.raises(DataError, match="twice for 'ann'"):
        check_assignments([Assignment("ann", "q", "grade")] * 2)
