"""The origin of truth: whether people or machines judged, and which of them an export takes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from podium.data.judged_by import JudgedBy, check_judged_by, has_machine_labels
from podium.errors import EmptyDataError, UsageError
from podium.labelling.tasks import Task

TaskRow = TypeVar("TaskRow", bound=tuple[Task, object])


def origin_of(assessors: Iterable[str], machines: Collection[str]) -> JudgedBy | None:
    """Return whether these assessors are people, machines or both; None without any.

    Examples
    --------
    >>> origin_of(["ann", "gpt"], {"gpt"}), origin_of(["gpt"], {"gpt"}), origin_of(["ann"], ())
    ('both', 'machines', 'people')
    """
    kinds = {assessor in machines for assessor in assessors}
    if len(kinds) == 2:
        return "both"
    return ("machines" if kinds.pop() else "people") if kinds else None


def choose_judges(
    rows: Sequence[TaskRow], machines: Collection[str], judged_by: JudgedBy | None
) -> list[TaskRow]:
    """Return the rows whose assessors are people, or machines; judgments of both need `judged_by`.

    Parameters
    ----------
    rows
        Tasks with their results.
    machines
        The ids of machine assessors.
    judged_by
        Whose judgments to take; None if there is nothing to choose.
    """
    check_judged_by(judged_by)
    if judged_by in (None, "both"):
        return list(rows)
    return [row for row in rows if (row[0].assessor in machines) == (judged_by == "machines")]


def mark_of(origin: JudgedBy | None) -> JudgedBy | None:
    """Return the mark of truth in files: none for people's."""
    return origin if has_machine_labels(origin) else None


def check_judges(
    assessors: Iterable[str], machines: Collection[str], judged_by: JudgedBy | None
) -> None:
    """Raise if truth would mix people's judgments with those of machines unasked, or has no judge."""
    names = sorted(set(assessors))
    if not names and judged_by in ("people", "machines"):
        raise EmptyDataError(f"no query is finished by {judged_by}; expected at least one")
    if judged_by is not None or origin_of(names, machines) != "both":
        return
    persons, others = (
        next(n for n in names if (n in machines) == is_machine) for is_machine in (False, True)
    )
    raise UsageError(
        f"people ({persons!r:.40}) and machines ({others!r:.40}) judged; expected a choice whose judgments "
        "become truth"
    ).advise(
        python="pass judged_by='people', 'machines' or 'both'",
        command_line="add --judged-by people, machines or both",
    )
