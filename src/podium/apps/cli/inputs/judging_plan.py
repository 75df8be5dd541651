"""The plan of judging that a command line names: pool, assessors, tasks; checked before it is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.apps.cli.inputs.judgment_store import open_store, store_exists
from podium.apps.cli.options.judge import PlanOptions
from podium.counted_nouns import count_text
from podium.errors import DataError, UsageError
from podium.labelling import (
    FIVE_GRADES,
    Assignment,
    Guidelines,
    Pool,
    PreferenceTask,
    crossover_design,
    make_tasks,
    overlap_design,
    read_assignments,
    read_guidelines,
    read_pool,
    read_trec_pool,
    strategy_named,
)
from podium.labelling.store import Store, StoreAdmin, StoreMember
from podium.labelling.tasks import Task

ADMIN = "admin"
"""The name of the admin, who watches and does not judge."""

COMMAND_LINE = "command line"
"""The name that the audit log has for changes by a command."""


@dataclass(frozen=True)
class StoreContents:
    """The members and tasks that a store has before anything is added."""

    members: tuple[StoreMember, ...] = ()
    tasks: tuple[Task, ...] = ()

    @classmethod
    def of(cls, store: str) -> StoreContents:
        """Read a store; a store that does not exist is empty, and is not created."""
        if not store_exists(store):
            return cls()
        with open_store(store) as opened:
            tasks = tuple(state.task for state in opened.session_states())
            return cls(tuple(opened.members()), tasks)

    @property
    def assessors(self) -> list[str]:
        """The names of the people who judge."""
        return [m.id for m in self.members if m.role == "assessor" and not m.is_machine]


@dataclass(frozen=True)
class JudgingPlan:
    """The queries to judge, the assessors, the tasks that are new, and notes for the user."""

    pool: Pool | None
    assessors: tuple[str, ...]
    tasks: tuple[Task, ...]
    notes: tuple[str, ...]
    guidelines: Guidelines | None = None

    def add_to(self, store: Store) -> dict[str, int]:
        """Put all of it into a store; what is there stays. Return how much is new."""
        new = {"queries": self._add_pool(store)}
        members = {member.id for member in store.members()}
        names = [name for name in self.assessors if name not in members]
        store.add_members(map(StoreMember, names))
        new |= {"assessors": len(names), "tasks": store.add_tasks(self.tasks)}
        if self.guidelines is None:
            return new
        before = store.guidelines().version
        latest = StoreAdmin(store, COMMAND_LINE).import_guidelines(self.guidelines)
        return new | {"guidelines": latest.version - before}

    def _add_pool(self, store: Store) -> int:
        if self.pool is None:
            return 0
        try:
            return store.add_pool(self.pool)
        except DataError as error:
            hint = "if the store has a sample, repeat the --sample and --seed of its first import"
            raise DataError(f"{error.on_command_line()}; {hint}") from error


def plan_judging(
    store: str, options: PlanOptions, *, default_assessor: str | None = None
) -> JudgingPlan:
    """Read and check everything that is to be judged; an error leaves no store behind.

    Parameters
    ----------
    store
        Where the plan will go. Its tasks decide the settings that the command line leaves out.
    options
        The options of the command line.
    default_assessor
        Who judges if the command line names nobody and the store has nobody.
    """
    contents = StoreContents.of(store)
    names = split_names(options.assessors or ())
    notes: list[str] = []
    pool, sampled = _pool(store, options)
    notes += sampled
    unnamed = not names and options.assign is None and options.design is None
    if unnamed and not contents.assessors and default_assessor and pool:
        names = [default_assessor]
        notes.append(
            f"no assessors were named: all queries go to one called {default_assessor!r}; name them by "
            "--assessors"
        )
    plan = [] if pool is None else assign_queries(pool, names, options)
    _check_seed(options, plan)
    names = list(dict.fromkeys([*names, *(assignment.assessor for assignment in plan)]))
    _check_names(names, contents)
    tasks: list[Task] = []
    if pool is not None:
        tasks = _new_tasks(plan, pool, options, contents)
        notes += _notes(pool, tasks, contents)
    guidelines = None if options.guidelines is None else read_guidelines(options.guidelines)
    return JudgingPlan(pool, tuple(names), tuple(tasks), tuple(notes), guidelines)


def split_names(texts: Iterable[str]) -> list[str]:
    """Return the names in options that may be repeated and have commas in them, each name once.

    Examples
    --------
    >>> split_names(["ann, bob", "cat", "ann"])
    ['ann', 'bob', 'cat']
    """
    return list(dict.fromkeys(n.strip() for text in texts for n in text.split(",") if n.strip()))


def _check_seed(options: PlanOptions, plan: Sequence[Assignment]) -> None:
    if options.seed is not None and options.sample is None and not plan:
        raise UsageError(
            "expected --seed with --sample or --assessors, got neither, so that nothing is drawn"
        )


def _sample(pool: Pool, n: int, seed: int) -> tuple[Pool, list[str]]:
    """Return a sample of each query, and a note that says how much of the pool it is."""
    sampled = pool.sample(n, seed=seed)
    before, after = (sum(len(query.documents) for query in part) for part in (pool, sampled))
    note = (
        f"a sample of {n:,} documents of each query (--seed {seed}): {after:,} of {before:,} stayed"
    )
    return sampled, [note]


def _pool(store: str, options: PlanOptions) -> tuple[Pool | None, list[str]]:
    """Return the pool to judge (of files, all of it or a sample, or the store's own), and notes."""
    pool = _pool_of_files(options)
    if pool is not None:
        if options.sample is None:
            return pool, []
        return _sample(pool, options.sample, options.seed or 0)
    if options.sample is not None:
        raise UsageError("expected --sample with --pool or --run, got neither")
    if not options.assessors and options.assign is None:
        return None, []
    if store_exists(store):
        with open_store(store) as opened:
            if opened.query_texts():
                return opened.pool(), []
    raise UsageError(
        "expected --pool or --run with queries to judge, got neither, and the store has none"
    )


def _pool_of_files(options: PlanOptions) -> Pool | None:
    """Read the files of a pool; return None where the command line names none."""
    run_options = [n for n in ("documents", "queries", "depth") if getattr(options, n) is not None]
    if options.pool is not None and options.run is not None:
        raise UsageError("expected --pool or --run, got both")
    if options.run is None and run_options:
        raise UsageError(f"expected --{run_options[0]} with --run, got no run")
    visible = [name.strip() for name in (options.show or "").split(",") if name.strip()]
    if options.pool is not None:
        return read_pool(options.pool, visible=visible)
    if options.run is not None:
        if options.documents is None:
            raise UsageError("expected --documents beside --run, got none")
        return read_trec_pool(
            options.run, options.documents, options.queries, depth=options.depth, visible=visible
        )
    if visible:
        raise UsageError("expected --show with --pool or --run, got neither")
    return None


def assign_queries(pool: Pool, assessors: list[str], options: PlanOptions) -> list[Assignment]:
    """Return who judges which query with which tool, by a design or a file."""
    ids = [query.id for query in pool]
    design = {None: "all", "paper": "crossover"}.get(options.design, options.design)
    if options.assign is not None:
        if options.design is not None:
            raise UsageError("expected --assign or --design, got both")
        return _read_assignments(options.assign, ids, assessors)
    if not assessors:
        if options.design is not None:
            raise UsageError(f"expected --assessors for --design {options.design}, got none")
        return []
    if design == "crossover":
        rounds = options.rounds or (2 if len(assessors) >= 4 else 1)
        return crossover_design(ids, assessors, rounds=rounds, seed=options.seed or 0)
    if design == "overlap":
        return overlap_design(
            ids, assessors, options.overlap, tools=[options.tool], seed=options.seed or 0
        )
    return [Assignment(name, query, options.tool) for name in assessors for query in ids]


def _read_assignments(path: str, queries: list[str], assessors: list[str]) -> list[Assignment]:
    if not Path(path).is_file():
        advice = (
            f"; did you mean --design {path}?" if path in ("all", "crossover", "overlap") else ""
        )
        raise UsageError(f"expected --assign with a CSV file, got no file {path!r:.80}{advice}")
    return read_assignments(path, queries=set(queries), assessors=set(assessors) or None)


def _check_names(names: list[str], contents: StoreContents) -> None:
    admins = {member.id for member in contents.members if member.role == "admin"} | {ADMIN}
    for name in map(StoreMember, names):
        if name.id in admins:
            raise UsageError(
                f"expected assessors with other names than {name.id!r}, which is the admin's: the admin "
                "watches and does not judge"
            )


def _new_tasks(
    plan: list[Assignment], pool: Pool, options: PlanOptions, contents: StoreContents
) -> list[Task]:  # fmt: skip
    """Return the tasks that are not in the store; raise if one in it has other settings."""
    if not plan:
        return []
    stored_tasks = {task.id: task for task in contents.tasks}
    settings = _settings(options, contents.tasks, {assignment.tool for assignment in plan})
    tasks = make_tasks(plan, pool, **settings, seed=options.seed or 0)
    for task in tasks:
        stored = stored_tasks.get(task.id, task).settings
        for name in {**task.settings, **stored}:
            before, value = stored.get(name), task.settings.get(name)
            if before != value:
                raise DataError(
                    f"expected {_OPTION_NAMES[name]} {before!r:.60} for {task.assessor!r:.60} and "
                    f"query {task.query!r:.60} as the store has it, got {value!r:.60}: a task is not "
                    "changed once it is given; leave the option out, or begin another store"
                )
    return [task for task in tasks if task.id not in stored_tasks]


_OPTION_NAMES = {
    "k": "--top", "strategy": "--strategy", "prior": "--prior", "skip_implied": "--ask-implied",
    "confidence": "--confidence", "grades": "--grades",
}  # fmt: skip


def _settings(options: PlanOptions, tasks: Sequence[Task], tools: set[Any]) -> dict[str, Any]:
    """Return the settings of new tasks: the options, else those of the stored tasks, else the defaults."""
    if options.strategy is not None:
        strategy_named(options.strategy)
    names = None if options.grades is None else tuple(n.strip() for n in options.grades.split(","))
    implied = None if options.ask_implied is None else not options.ask_implied
    choices: list[tuple[str, Any, Callable[[Any], Any], Any]] = [
        ("k", options.top, lambda task: task.k, 10),
        ("strategy", options.strategy, lambda task: task.strategy, "tournament"),
        ("prior", options.prior, lambda task: task.prior is not None, False),
        ("skip_implied", implied, lambda task: task.skip_implied, True),
        ("confidence", options.confidence, lambda task: task.confidence, None),
        ("grades", names, lambda task: task.grades, FIVE_GRADES),
    ]
    settings = {}
    for name, option, read, default in choices:
        tool = "grade" if name == "grades" else "preference"
        stored = {read(task) for task in tasks if task.tool == tool} if tool in tools else set()
        settings[name] = _setting(name, option, stored, default, options.mix)
    return settings


def _setting(name: str, option: Any, stored: set[Any], default: Any, mix: bool) -> Any:
    """Return the value of one setting; raise if stored tasks differ from each other or the option."""
    stored_text = " and ".join(sorted(map(str, stored)))
    if option is None:
        if len(stored) > 1:
            raise UsageError(
                f"expected {_OPTION_NAMES[name]}, as the store's tasks have {stored_text}, got none"
            )
        return next(iter(stored), default)
    if stored and option not in stored and not mix:
        raise UsageError(
            f"expected {_OPTION_NAMES[name]} as the store's tasks have it ({name} {stored_text}), got "
            f"{option}: results of different settings are not easily merged; leave the option out, or give "
            "--mix to have both"
        )
    return option


def _notes(pool: Pool, tasks: list[Task], contents: StoreContents) -> list[str]:
    """Return what the user should know before anybody judges."""
    notes = []
    if pool.ignored:
        fields = ", ".join(pool.ignored)
        notes.append(
            f"assessors do not see {fields}; --show {','.join(pool.ignored[:2])} shows fields"
        )
    k_of = {task.query: task.k for task in tasks if isinstance(task, PreferenceTask)}
    size = {query.id: len(query.documents) for query in pool}
    if single := [query for query in k_of if size[query] == 1]:
        count = count_text(len(single), "query")
        notes.append(f"{count} with one document, such as {single[0]!r:.60}: nothing to compare")
    if short := [query for query, k in k_of.items() if 1 < size[query] <= k]:
        notes.append(
            f"{count_text(len(short), 'query')} with no more documents than places, such as {short[0]!r:.60} "
            f"({size[short[0]]} documents, --top {k_of[short[0]]}): all of them are put in order"
        )
    judged = {task.query for task in (*contents.tasks, *tasks)}
    if unassigned := [query for query in size if query not in judged]:
        notes.append(
            f"{count_text(len(unassigned), 'query')} without tasks, such as {unassigned[0]!r:.60}: name "
            "who judges by --assessors or --assign"
        )
    return notes
