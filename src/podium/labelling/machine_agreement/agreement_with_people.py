"""Machine agreement: how far a machine judges as people do, beside how far people agree among themselves."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.errors import DataError, UnknownNameError
from podium.labelling.grading import Grades
from podium.labelling.judging_statistics.agreement import AssessorAgreement, agreement
from podium.labelling.judging_statistics.kappa_alpha import Level
from podium.labelling.judging_statistics.reliability import SelfConsistency, self_consistency
from podium.labelling.judging_statistics.shared_judgments import SharedJudgments, shared_judgments
from podium.labelling.judging_statistics.summary import opinions
from podium.labelling.judgments import JudgedTopK
from podium.labelling.machine_agreement.agreement_intervals import (
    AnswerAgreement,
    AnswerPairs,
    Estimate,
    interval_of,
    measure_agreement,
    pair_answers,
    resample_queries,
)
from podium.labelling.machine_agreement.answer_biases import (
    LengthBias,
    SideBias,
    document_lengths,
    length_bias,
    read_preferences,
    side_bias,
)
from podium.labelling.machine_agreement.judgments_needed import (
    ENOUGH_HALF_WIDTH,
    AdviceInputs,
    JudgingAdvice,
    advise,
)
from podium.labelling.machine_agreement.model_drift import (
    MachineVersion,
    VersionChange,
    compare_versions,
)
from podium.labelling.machine_agreement.system_ranking import SystemAgreement
from podium.labelling.tasks import GradeTask, Tool
from podium.typing import Floats, Ints

if TYPE_CHECKING:
    from podium.labelling.store import JudgmentLog, Store


@dataclass(frozen=True)
class AgreementComparison:
    """The agreement of a machine with people, and that of people among themselves.

    Parameters
    ----------
    machine, people
        Machine and people; every two people.
    difference
        The share of equal answers of the first, less that of the second.
    """

    machine: AnswerAgreement
    people: AnswerAgreement
    difference: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return JSON."""
        return {
            "machine": self.machine.to_dict(),
            "people": self.people.to_dict(),
            "difference": self.difference.to_dict(),
        }


@dataclass(frozen=True)
class MachineAgreement:
    """How a machine judges, held against people.

    Parameters
    ----------
    machine, record
        The id of the machine, and what it is: model, endpoint, prompt, settings.
    people
        The ids of people with judgments of its tool.
    tool, values
        The tool, and the names of the answers: >, ~, < (the smaller id comes first), or grades.
    judged
        Agreement on the questions that both judged themselves.
    results
        Agreement on all pairs of documents in finished results.
    side, people_side
        The preference for the left document; of the machine, and of people.
    length, people_length
        The preference for longer documents.
    consistency, people_consistency
        The agreement with themselves on repeated questions.
    versions, changes
        Models and prompts of all machines, and how their answers differ.
    advice
        What people should still judge.
    systems
        The ranking of systems by both truths, if systems were measured.
    resamples, seed
        Settings of the intervals.
    """

    machine: str
    record: Mapping[str, Any]
    people: tuple[str, ...]
    tool: Tool
    values: tuple[str, ...]
    judged: AgreementComparison
    results: AgreementComparison
    side: SideBias
    people_side: SideBias
    length: LengthBias
    people_length: LengthBias
    consistency: SelfConsistency
    people_consistency: SelfConsistency
    versions: tuple[MachineVersion, ...]
    changes: tuple[VersionChange, ...]
    advice: JudgingAdvice
    systems: SystemAgreement | None = None
    resamples: int = 1_000
    seed: int = 0

    @property
    def main(self) -> AgreementComparison:
        """The agreement that verdict and advice rest on: on judged questions, or else in results."""
        return self.judged if self.judged.machine.answers else self.results

    def verdict(self) -> str:
        """Return the outcome in a few sentences."""
        compared = self.main
        if not compared.machine.answers:
            return (
                f"{self.machine} and people have no question in common; let people judge some of its "
                "queries."
            )
        where = "the questions that both judged" if compared is self.judged else "their results"
        text = f"{self.machine} and people agree on {compared.machine.same} of {where}."
        if not compared.people.answers:
            return f"{text} No two people judged the same, so nothing says how well people would agree."
        return f"{text} People agree among themselves on {compared.people.same}: {self._difference_text()}."

    def _difference_text(self) -> str:
        gap = self.main.difference
        if gap.low != gap.low:
            return "with fewer than two queries, nobody can say whether this differs"
        if gap.high < 0:
            return (
                f"the machine agrees less, by {-gap.value:.3f} ({-gap.high:.3f} to {-gap.low:.3f})"
            )
        if gap.low > 0:
            return f"the machine agrees more, by {gap.value:.3f} ({gap.low:.3f} to {gap.high:.3f})"
        return f"the difference, {gap.value:+.3f}, is not significant ({gap.low:+.3f} to {gap.high:+.3f})"

    def to_dict(self) -> dict[str, Any]:
        """Return JSON, with None for what is not defined."""
        return {
            "machine": self.machine,
            "record": dict(self.record),
            "people": list(self.people),
            "tool": self.tool,
            "values": list(self.values),
            "verdict": self.verdict(),
            "judged": self.judged.to_dict(),
            "results": self.results.to_dict(),
            "side_bias": {"machine": self.side.to_dict(), "people": self.people_side.to_dict()},
            "length_bias": {
                "machine": self.length.to_dict(), "people": self.people_length.to_dict(),
            },
            "self_consistency": {
                "machine": self.consistency.to_dict(), "people": self.people_consistency.to_dict(),
            },
            "versions": [version.to_dict() for version in self.versions],
            "changes": [change.to_dict() for change in self.changes],
            "systems": None if self.systems is None else self.systems.to_dict(),
            "advice": self.advice.to_dict(),
            "resamples": self.resamples,
            "seed": self.seed,
        }  # fmt: skip


def machine_agreement(
    store: Store,
    machine: str | None = None,
    *,
    half_width: float = ENOUGH_HALF_WIDTH,
    systems: SystemAgreement | None = None,
    resamples: int = 1_000,
    seed: int = 0,
) -> MachineAgreement:
    """Hold a machine assessor against people.

    Parameters
    ----------
    store
        The store with the judgments.
    machine
        The id of the machine; None if there is only one.
    half_width
        How narrow the interval of the agreement should become, half of it, for the advice.
    systems
        The ranking of systems by both truths, if it was measured.
    resamples, seed
        Settings of the bootstrap over queries.
    """
    log, results = store.judgments(), store.results()
    name = choose_machine(log.machines, machine)
    draws = {"resamples": resamples, "seed": seed}
    tool = _tool_of(log, name)
    people = {t.assessor for t in log.tasks if t.tool == tool} - log.machines
    pairs, graded = shared_judgments(log)
    shared = graded if tool == "grade" else pairs
    level: Level = "ordinal" if tool == "grade" else "nominal"
    finals = agreement(opinions([(task, results.get(task.id)) for task in log.tasks], tool))
    judged = _compare(
        pair_answers(shared, {name}, people), pair_answers(shared, people, people), level, **draws
    )
    compared = _compare(
        _final_pairs(finals, {name}, people),
        _final_pairs(finals, people, people),
        "nominal",
        **draws,
    )
    mine, theirs = read_preferences(store, [name]), read_preferences(store, people)
    lengths = document_lengths(store)
    versions, changes = compare_versions(store, log.machines, people, tool, **draws)
    record = next(json.loads(m.machine) for m in store.members() if m.id == name)
    inputs = _advice_inputs(
        log, results, name, people, judged if judged.machine.answers else compared
    )
    return MachineAgreement(
        name, record, tuple(sorted(people)), tool, _value_names(log, name), judged, compared,
        side_bias(mine, **draws), side_bias(theirs, **draws),
        length_bias(mine, theirs, lengths, **draws), length_bias(theirs, [], lengths, **draws),
        self_consistency(_of(shared, {name})), self_consistency(_of(shared, people)),
        versions, changes, advise(inputs, half_width), systems, resamples, seed,
    )  # fmt: skip


def choose_machine(machines: Collection[str], name: str | None) -> str:
    """Return the machine of this name, or the only one."""
    if name is not None:
        if name not in machines:
            raise UnknownNameError("machine assessor", name, sorted(machines))
        return name
    if len(machines) != 1:
        got = ", ".join(sorted(machines)[:5]) or "none"
        raise DataError(
            f"expected the name of a machine assessor, because the store has {got}"
        ).advise(python="pass machine=", command_line="add --machine NAME")
    return next(iter(machines))


def _tool_of(log: JudgmentLog, machine: str) -> Tool:
    """Return the tool of most of a machine's tasks."""
    tools: list[Tool] = [task.tool for task in log.tasks if task.assessor == machine]
    return max(sorted(set(tools)), key=tools.count, default="preference")


def _value_names(log: JudgmentLog, machine: str) -> tuple[str, ...]:
    grades = [t.grades for t in log.tasks if t.assessor == machine and isinstance(t, GradeTask)]
    return max(grades, key=len) if grades else (">", "~", "<")


def _of(judged: SharedJudgments, assessors: set[str]) -> SharedJudgments:
    """Return the judgments of these assessors."""
    chosen = np.array([name in assessors for name in judged.assessors], dtype=np.bool_)
    return judged.keep(chosen[judged.assessor] if len(chosen) else np.zeros(0, dtype=np.bool_))


def _final_pairs(finals: AssessorAgreement, first: set[str], second: set[str]) -> AnswerPairs:
    """Return the answers in final results of assessors in `first` beside those of others in `second`."""
    names = np.array([name in first for name in finals.assessors], dtype=np.bool_)
    others = np.array([name in second for name in finals.assessors], dtype=np.bool_)
    between = finals.between
    straight = names[between[:, 0]] & others[between[:, 1]]
    swapped = ~straight & names[between[:, 1]] & others[between[:, 0]]
    counts = np.where(swapped[:, None, None], finals.counts.transpose(0, 2, 1), finals.counts)
    rows = straight | swapped
    between = np.where(swapped[:, None], between[:, ::-1], between)
    return AnswerPairs(finals.queries, finals.query[rows], between[rows], counts[rows])


def _compare(
    machine: AnswerPairs, people: AnswerPairs, level: Level, *, resamples: int, seed: int
) -> AgreementComparison:
    """Measure two agreements, and the difference on the same resamples of queries."""
    present = np.flatnonzero(machine.present | people.present)
    weights = resample_queries(len(present), resamples, seed)
    shares, values = [], []
    for pairs in (machine, people):
        equal = _per_query(pairs, np.trace(pairs.counts, axis1=1, axis2=2))[present]
        total = _per_query(pairs, pairs.counts.sum(axis=(1, 2)))[present]
        with np.errstate(invalid="ignore"):
            shares.append((weights @ equal) / (weights @ total))
            values.append(np.sum(equal) / np.sum(total))
    difference = interval_of(float(values[0] - values[1]), shares[0] - shares[1])
    one, other = (
        measure_agreement(pairs, level, resamples=resamples, seed=seed)
        for pairs in (machine, people)
    )
    return AgreementComparison(one, other, difference)


def _per_query(pairs: AnswerPairs, counts: Ints) -> Floats:
    return np.bincount(pairs.query, counts, len(pairs.queries)).astype(np.float64)


def _advice_inputs(
    log: JudgmentLog, results: Mapping[str, JudgedTopK | Grades], machine: str, people: set[str],
    compared: AgreementComparison,
) -> AdviceInputs:  # fmt: skip
    """Return what advice depends on; queries in which the machine took most judgments come first."""
    counts = np.bincount(log.task[log.standing], minlength=len(log.tasks)).tolist()
    rows = list(zip(log.tasks, counts, strict=True))
    own = {task.query: n for task, n in rows if task.assessor == machine}
    human = [
        (task, n) for task, n in rows if task.assessor in people and task.id not in log.withdrawn
    ]
    finished = [(task.query, n) for task, n in human if task.id in results]
    by_people: dict[str, int] = {}
    for task, n in human:
        by_people[task.query] = max(n, by_people.get(task.query, 0))
    basis = [n for _, n in finished] or list(own.values()) or [0]
    return AdviceInputs(
        compared.machine.same, compared.machine.by_query,
        sorted(own, key=lambda query: (-own[query], query)), by_people,
        frozenset(query for query, _ in finished), sum(basis) / len(basis),
    )  # fmt: skip
