"""Assessment: a machine judges the tasks of a store as its assessor, and may be interrupted anywhere."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from podium.labelling.machines.call_budget import BudgetSpentError, Spending
from podium.labelling.machines.machine_client import MachineClient
from podium.labelling.machines.question_prompts import QuestionPrompts
from podium.labelling.machines.session_judge import AssessmentSettings, SessionJudge
from podium.labelling.tasks import Task

if TYPE_CHECKING:
    from podium.labelling.store import Store


@dataclass(frozen=True)
class AssessmentSummary:
    """What a run did.

    Parameters
    ----------
    tasks, finished
        The tasks of the assessor, and how many of them are finished now.
    judgments
        New judgments in the store.
    questions
        Questions of this run: from the cache, answered, and unanswered; failed calls by problem.
    calls
        Calls of the whole campaign by outcome. ``"lost"`` were on their way when a run was killed.
    spent
        What the whole campaign took.
    stopped
        Why the run ended before all tasks were finished; "" if no cap was reached.
    """

    tasks: int
    finished: int
    judgments: int
    questions: dict[str, int]
    calls: dict[str, int]
    spent: Spending
    stopped: str = ""


@dataclass
class _Progress:
    """The state that all threads share."""

    judgments: int = 0
    stopped: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)


class MachineAssessor:
    """Judges tasks of a store with a machine.

    Parameters
    ----------
    store
        The store with the tasks.
    client, prompts, settings
        The machine, what it reads, and how it judges.
    """

    def __init__(
        self,
        store: Store,
        client: MachineClient,
        prompts: QuestionPrompts,
        settings: AssessmentSettings,
    ) -> None:
        self.store, self.client, self.settings = store, client, settings
        self._judge = SessionJudge(client, prompts, settings)
        self._query = lru_cache(maxsize=256)(store.query)
        self._progress = _Progress()

    def assess(
        self, assessor: str, progress: Callable[[int, int], object] | None = None
    ) -> AssessmentSummary:
        """Judge all open tasks of an assessor, as far as caps allow.

        Parameters
        ----------
        assessor
            The id of the machine in the store.
        progress
            Takes the number of finished tasks and of all tasks.

        Raises
        ------
        EndpointError
            The endpoint does not answer as it should. All answers so far are in the store.
        """
        self._progress = _Progress()
        states = self.store.session_states(assessor)
        tasks = [s.task for s in states if not s.finished and s.task.tool == self.settings.tool]
        report = progress or (lambda done, total: None)
        done = sum(state.finished for state in states)
        report(done, len(states))
        with (
            ThreadPoolExecutor(self.settings.threads) as calls,
            ThreadPoolExecutor(self.settings.threads) as workers,
        ):
            futures = [workers.submit(self._work_on, task, calls) for task in tasks]
            try:
                for future in as_completed(futures):
                    done += future.result()
                    report(done, len(states))
            except BaseException:
                self._progress.stopped = "interrupted"
                for future in futures:
                    future.cancel()
                raise
        client = self.client
        return AssessmentSummary(
            len(states), done, self._progress.judgments, dict(sorted(client.counts.items())),
            client.cache.outcomes(client.campaign), client.cache.spending(client.campaign),
            self._progress.stopped,
        )  # fmt: skip

    def _work_on(self, task: Task, calls: ThreadPoolExecutor) -> bool:
        """Judge a task to its end, or until a question stays unanswered; return whether it is finished."""
        try:
            while (
                not self._progress.stopped and not (session := self.store.session(task.id)).finished
            ):
                events = self._judge.judge(session, self._query(task.query), calls)
                if not events:
                    return False
                with self.store.batch([task.id], [event.id for event in events]) as batch:
                    new = sum(batch.append(event).new for event in events)
                with self._progress.lock:
                    self._progress.judgments += new
        except BudgetSpentError as error:
            self._progress.stopped = str(error)
            return False
        except BaseException:
            self._progress.stopped = "interrupted"
            raise
        return self.store.session(task.id).finished
