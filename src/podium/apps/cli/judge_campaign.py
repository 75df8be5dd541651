"""What a command line asks to be judged, and by whom: pool, plan and tasks, checked before they are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.apps.cli.judge_options import DesignName, ToolName, is_there, open_store

if TYPE_CHECKING:
    from podium.labelling import Assignment, Pool
    from podium.labelling.store import Store, StoreMember
    from podium.labelling.tasks import Task

ADMIN = "admin"
"""The member whose link is the admin's."""


@dataclass(frozen=True)
class Wanted:
    """What the command line says; None where it says nothing."""

    pool: Path | None = None
    run: Path | None = None
    documents: Path | None = None
    queries: Path | None = None
    depth: int | None = None
    sample: int | None = None
    assessors: Sequence[str] = ()
    assign: str | None = None
    design: DesignName | None = None
    tool: ToolName = "preference"
    overlap: int = 2
    rounds: int | None = None
    top: int | None = None
    strategy: str | None = None
    prior: bool | None = None
    ask_implied: bool | None = None
    grades: str | None = None
    mix: bool = False
    seed: int | None = None

    @property
    def drawn_by(self) -> int:
        """The seed of everything that is drawn: 0 where none is named."""
        return self.seed or 0


@dataclass(frozen=True)
class Known:
    """What a store has before anything is added."""

    members: tuple[StoreMember, ...] = ()
    tasks: tuple[Task, ...] = ()

    @classmethod
    def of(cls, store: str) -> Known:
        """Of a store that need not be there; none is made."""
        if not is_there(store):
            return cls()
        with open_store(store) as opened:
            tasks = tuple(state.task for state in opened.session_states())
            return cls(tuple(opened.members()), tasks)

    @property
    def assessors(self) -> list[str]:
        """Who judges."""
        return [member.id for member in self.members if member.role == "assessor"]


@dataclass(frozen=True)
class Campaign:
    """Queries, who judges, the tasks that are new, and what should be known of them."""

    pool: Pool | None
    assessors: tuple[str, ...]
    tasks: tuple[Task, ...]
    notes: tuple[str, ...]

    def add_to(self, store: Store) -> dict[str, int]:
        """Put all of it into a store; what is there already stays. Says how much is new."""
        from podium.labelling.store import StoreMember

        new = {"queries": self._add_pool(store)}
        known = {member.id for member in store.members()}
        names = [name for name in self.assessors if name not in known]
        store.add_members(map(StoreMember, names))
        return new | {"assessors": len(names), "tasks": store.add_tasks(self.tasks)}

    def _add_pool(self, store: Store) -> int:
        from podium.errors import DataError

        if self.pool is None:
            return 0
        try:
            return store.add_pool(self.pool)
        except DataError as error:
            hint = "if the store has a sample, repeat the --sample and --seed of its first import"
            raise DataError(f"{error}; {hint}") from error


def campaign(store: str, wanted: Wanted, *, somebody: str | None = None) -> Campaign:
    """Everything read and checked, so that what cannot be leaves no store behind.

    Parameters
    ----------
    store
        Where it will go; what it has decides what is not said.
    wanted
        As on the command line.
    somebody
        Who judges where nobody is named and the store has nobody.
    """
    known = Known.of(store)
    names = split_names(wanted.assessors)
    notes: list[str] = []
    pool, sampled = _pool(store, wanted)
    notes += sampled
    unnamed = not names and wanted.assign is None and wanted.design is None
    if unnamed and not known.assessors and somebody and pool:
        names = [somebody]
        notes.append(
            f"no assessors were named: all queries go to one called {somebody!r}; name them by --assessors"
        )
    plan = [] if pool is None else plan_of(pool, names, wanted)
    _check_seed(wanted, plan)
    names = list(dict.fromkeys([*names, *(one.assessor for one in plan)]))
    _check_names(names, known)
    tasks: list[Task] = []
    if pool is not None:
        tasks = _new_tasks(plan, pool, wanted, known)
        notes += _notes(pool, tasks, known)
    return Campaign(pool, tuple(names), tuple(tasks), tuple(notes))


def split_names(given: Iterable[str]) -> list[str]:
    """Names from options that may be repeated and have commas in them, each once.

    Examples
    --------
    >>> split_names(["ann, bob", "cat", "ann"])
    ['ann', 'bob', 'cat']
    """
    return list(dict.fromkeys(n.strip() for part in given for n in part.split(",") if n.strip()))


def _check_seed(wanted: Wanted, plan: Sequence[Assignment]) -> None:
    from podium.errors import UsageError

    if wanted.seed is not None and wanted.sample is None and not plan:
        raise UsageError(
            "expected --seed with --sample or --assessors, got neither, so that nothing is drawn"
        )


def _sample(pool: Pool, n: int, seed: int) -> tuple[Pool, list[str]]:
    """Return a sample of each query, and a note that says how much of the pool it is."""
    sampled = pool.sample(n, seed=seed)
    before, after = (sum(len(query.documents) for query in one) for one in (pool, sampled))
    note = (
        f"a sample of {n:,} documents of each query (--seed {seed}): {after:,} of {before:,} stayed"
    )
    return sampled, [note]


def _pool(store: str, wanted: Wanted) -> tuple[Pool | None, list[str]]:
    """Return the pool to judge (of files, all of it or a sample, or the store's own), and notes."""
    from podium.errors import UsageError

    pool = _pool_of_files(wanted)
    if pool is not None:
        if wanted.sample is None:
            return pool, []
        return _sample(pool, wanted.sample, wanted.drawn_by)
    if wanted.sample is not None:
        raise UsageError("expected --sample with --pool or --run, got neither")
    if not wanted.assessors and wanted.assign is None:
        return None, []
    if is_there(store):
        with open_store(store) as opened:
            if opened.query_texts():
                return opened.pool(), []
    raise UsageError(
        "expected --pool or --run with queries to judge, got neither, and the store has none"
    )


def _pool_of_files(wanted: Wanted) -> Pool | None:
    """Read the files of a pool; return None where the command line names none."""
    from podium.errors import UsageError
    from podium.labelling import read_pool, read_trec_pool

    beside = [n for n in ("documents", "queries", "depth") if getattr(wanted, n) is not None]
    if wanted.pool is not None and wanted.run is not None:
        raise UsageError("expected --pool or --run, got both")
    if wanted.run is None and beside:
        raise UsageError(f"expected --{beside[0]} with --run, got no run")
    if wanted.pool is not None:
        return read_pool(wanted.pool)
    if wanted.run is not None:
        if wanted.documents is None:
            raise UsageError("expected --documents beside --run, got none")
        return read_trec_pool(wanted.run, wanted.documents, wanted.queries, depth=wanted.depth)
    return None


def plan_of(pool: Pool, assessors: list[str], wanted: Wanted) -> list[Assignment]:
    """Who judges which query with which tool, by a design or a file."""
    from podium.errors import UsageError
    from podium.labelling import Assignment, crossover_design, overlap_design

    ids = [query.id for query in pool]
    design = {None: "all", "paper": "crossover"}.get(wanted.design, wanted.design)
    if wanted.assign is not None:
        if wanted.design is not None:
            raise UsageError("expected --assign or --design, got both")
        return _from_file(wanted.assign, ids, assessors)
    if not assessors:
        if wanted.design is not None:
            raise UsageError(f"expected --assessors for --design {wanted.design}, got none")
        return []
    if design == "crossover":
        rounds = wanted.rounds or (2 if len(assessors) >= 4 else 1)
        return crossover_design(ids, assessors, rounds=rounds, seed=wanted.drawn_by)
    if design == "overlap":
        return overlap_design(
            ids, assessors, wanted.overlap, tools=[wanted.tool], seed=wanted.drawn_by
        )
    return [Assignment(name, query, wanted.tool) for name in assessors for query in ids]


def _from_file(path: str, queries: list[str], assessors: list[str]) -> list[Assignment]:
    from podium.errors import UsageError
    from podium.labelling import read_assignments

    if not Path(path).is_file():
        advice = (
            f"; did you mean --design {path}?" if path in ("all", "crossover", "overlap") else ""
        )
        raise UsageError(f"expected --assign with a CSV file, got no file {path!r:.80}{advice}")
    return read_assignments(path, queries=set(queries), assessors=set(assessors) or None)


def _check_names(names: list[str], known: Known) -> None:
    from podium.errors import UsageError
    from podium.labelling.store import StoreMember

    admins = {member.id for member in known.members if member.role == "admin"} | {ADMIN}
    for name in map(StoreMember, names):
        if name.id in admins:
            raise UsageError(
                f"expected assessors with other names than {name.id!r}, which is the admin's: the admin "
                "watches and does not judge"
            )


def _new_tasks(
    plan: list[Assignment], pool: Pool, wanted: Wanted, known: Known
) -> list[Task]:  # fmt: skip
    """Tasks that the store has not; one that it has must have been given with the same settings."""
    from podium.errors import DataError
    from podium.labelling import make_tasks

    if not plan:
        return []
    there = {task.id: task for task in known.tasks}
    settings = _settings(wanted, known.tasks, {one.tool for one in plan})
    tasks = make_tasks(plan, pool, **settings, seed=wanted.drawn_by)
    for task in tasks:
        before = there.get(task.id, task).settings
        for name, value in task.settings.items():
            if before[name] != value:
                raise DataError(
                    f"expected {_OPTIONS[name]} {before[name]!r:.60} for {task.assessor!r:.60} and query "
                    f"{task.query!r:.60} as the store has it, got {value!r:.60}: a task is not changed once "
                    "it is given; leave the option out, or begin another store"
                )
    return [task for task in tasks if task.id not in there]


_OPTIONS = {
    "k": "--top", "strategy": "--strategy", "prior": "--prior", "skip_implied": "--ask-implied",
    "grades": "--grades",
}  # fmt: skip


def _settings(wanted: Wanted, tasks: Sequence[Task], tools: set[Any]) -> dict[str, Any]:
    """The settings of new tasks: as said, else as all tasks of the store have them, else the usual."""
    from podium.labelling import FIVE_GRADES, strategy_named

    if wanted.strategy is not None:
        strategy_named(wanted.strategy)
    names = None if wanted.grades is None else tuple(n.strip() for n in wanted.grades.split(","))
    implied = None if wanted.ask_implied is None else not wanted.ask_implied
    said: list[tuple[str, Any, Callable[[Any], Any], Any]] = [
        ("k", wanted.top, lambda task: task.k, 10),
        ("strategy", wanted.strategy, lambda task: task.strategy, "tournament"),
        ("prior", wanted.prior, lambda task: task.prior is not None, False),
        ("skip_implied", implied, lambda task: task.skip_implied, True),
        ("grades", names, lambda task: task.grades, FIVE_GRADES),
    ]
    settings = {}
    for name, given, read, usual in said:
        tool = "grade" if name == "grades" else "preference"
        stored = {read(task) for task in tasks if task.tool == tool} if tool in tools else set()
        settings[name] = _setting(name, given, stored, usual, wanted.mix)
    return settings


def _setting(name: str, given: Any, stored: set[Any], usual: Any, mix: bool) -> Any:
    from podium.errors import UsageError

    have = " and ".join(sorted(map(str, stored)))
    if given is None:
        if len(stored) > 1:
            raise UsageError(
                f"expected {_OPTIONS[name]}, as the store's tasks have {have}, got none"
            )
        return next(iter(stored), usual)
    if stored and given not in stored and not mix:
        raise UsageError(
            f"expected {_OPTIONS[name]} as the store's tasks have it ({name} {have}), got {given}: results "
            "of different settings are not easily merged; leave the option out, or give --mix to have both"
        )
    return given


def _notes(pool: Pool, tasks: list[Task], known: Known) -> list[str]:
    """What people want to know before anybody judges."""
    from podium.labelling import PreferenceTask
    from podium.labelling.judging_statistics.summary import count_text

    notes = []
    if pool.ignored:
        notes.append(f"not read: {', '.join(pool.ignored)} (fields that a pool has not)")
    k_of = {task.query: task.k for task in tasks if isinstance(task, PreferenceTask)}
    size = {query.id: len(query.documents) for query in pool}
    if single := [query for query in k_of if size[query] == 1]:
        few = count_text(len(single), "query")
        notes.append(f"{few} with one document, such as {single[0]!r:.60}: nothing to compare")
    if short := [query for query, k in k_of.items() if 1 < size[query] <= k]:
        notes.append(
            f"{count_text(len(short), 'query')} with no more documents than places, such as {short[0]!r:.60} "
            f"({size[short[0]]} documents, --top {k_of[short[0]]}): all of them are put in order"
        )
    judged = {task.query for task in (*known.tasks, *tasks)}
    if open_ := [query for query in size if query not in judged]:
        notes.append(
            f"{count_text(len(open_), 'query')} without tasks, such as {open_[0]!r:.60}: name who judges by "
            "--assessors or --assign"
        )
    return notes
