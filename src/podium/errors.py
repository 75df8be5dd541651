"""The error tree: every message says what was expected, what was got, and where.

PodiumError
├── DataError (ValueError)            the data is wrong; with file and line where it has them
│   ├── MalformedLineError            a line that cannot be read
│   ├── NonFiniteError                NaN or infinity where a finite number must be
│   ├── NegativeLabelError            a label below 0 in training data
│   ├── DuplicateFeatureError         one feature id twice on a line
│   ├── FeatureIdError                a feature id outside 1..n_features
│   ├── MissingValueError             NULL where missing values are not allowed
│   ├── EmptyDataError                no document in it
│   ├── TruncatedFileError            a compressed file that ends before its data does
│   ├── CorruptFileError              a file that is not what its name says
│   ├── LengthMismatchError           arrays that should be equally long are not
│   ├── MemoryLimitError              a dense matrix larger than the stated limit
│   ├── MissingTruthError             a top-k measure on data without top-k truth
│   ├── MissingDocidsError            document ids are needed and there are none
│   ├── GainOverflowError             2^label does not fit a double
│   └── EventError                    an event of a judging session that cannot be taken
│       ├── ReusedIdError             an event id that stands for another event already
│       └── NotAskedError             a judgment for a question that was not asked
├── UsageError (ValueError)           the request is wrong: a name, a parameter, a combination
│   ├── UnknownNameError              no such metric, rule, ... (with the nearest names)
│   ├── ConversionError               no exact way from one convention to the other
│   ├── CannotExpressError            an engine that has no form for a model
│   ├── ConflictError                 hard rules that cannot hold together
│   └── WorkLimitError                a request that needs more steps than it may take
├── StoreError (RuntimeError)         a store that cannot be opened, or did not keep what it was given
├── UndecidedError (RuntimeError)     a search reached its limit and knows no answer
├── DeadlineError (TimeoutError)      a call that ended because its time was over
├── ModelFileError (ValueError)       a model file that cannot be read
├── DivergedError (ArithmeticError)   training left the numbers
├── ContractError (AssertionError)    a ranker, loss, ... of one's own breaks its contract
├── MissingExtraError (ImportError)   an optional dependency is not installed
└── BackendError (ImportError)        PODIUM_BACKEND asks for kernels that are not there
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import Literal


class PodiumError(Exception):
    """Anything podium raises on purpose."""


class DataError(PodiumError, ValueError):
    """The data is wrong; says in which file and line where it came from one."""

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None) -> None:
        self.path, self.line = path, line
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(place + message)


class MalformedLineError(DataError):
    """A line that cannot be read."""


class NonFiniteError(DataError):
    """NaN or infinity where a finite number must be."""


class NegativeLabelError(DataError):
    """A label below 0 in training data."""


class DuplicateFeatureError(DataError):
    """One feature id twice on a line."""


class FeatureIdError(DataError):
    """A feature id outside 1..n_features."""


class MissingValueError(DataError):
    """A NULL where missing values are not allowed."""


class EmptyDataError(DataError):
    """Not a single document."""


class TruncatedFileError(DataError):
    """A compressed file that ends before its data does."""


class CorruptFileError(DataError):
    """A file that is not what its name says."""


class LengthMismatchError(DataError):
    """Arrays that should be equally long are not."""


class MemoryLimitError(DataError):
    """A dense matrix would be larger than the stated limit."""


class MissingTruthError(DataError):
    """A top-k measure was asked of data without top-k truth."""


class MissingDocidsError(DataError):
    """Document ids are needed and the data has none."""


class GainOverflowError(DataError):
    """2^label does not fit a double."""


class EventError(DataError):
    """An event of a judging session that cannot be taken: malformed, or of no session."""


class ReusedIdError(EventError):
    """An event id that stands for another event already."""


class NotAskedError(EventError):
    """A judgment for a question that was not asked, or an undo of what was not judged."""


class UsageError(PodiumError, ValueError):
    """The request is wrong: a name, a parameter, a combination."""


class UnknownNameError(UsageError):
    """No such name; the message lists the nearest ones, after what else may be meant."""

    def __init__(
        self, kind: str, name: str, known: Iterable[str], instead: str = "", meant: str = ""
    ) -> None:
        self.name = name
        names = sorted(known)
        lowered = {n.lower(): n for n in names}
        near = (
            [meant]
            if meant
            else [lowered[n] for n in difflib.get_close_matches(name[:80].lower(), lowered, 3, 0.4)]
        )
        known = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {known}"
        super().__init__(f"unknown {kind} {name!r:.200}; {instead and f'{instead}; '}{hint}")


class ConversionError(UsageError):
    """There is no exact way from one convention to the other."""


class CannotExpressError(UsageError):
    """An engine has no form for a model; the message says why, and what is nearest."""


class ConflictError(UsageError):
    """Hard rules that cannot hold together; `rules` is a minimal set of them."""

    def __init__(self, message: str, rules: Iterable[object] = ()) -> None:
        self.rules = tuple(rules)
        super().__init__(message)


StoreReason = Literal["full", "locked", "failed"]
"""Why a store did not do what it should: its disk, another program, or something else."""


class StoreError(PodiumError, RuntimeError):
    """A store that cannot be opened, or that did not keep what it was given; `reason` is for programs."""

    def __init__(self, message: str, reason: StoreReason = "failed") -> None:
        self.reason = reason
        super().__init__(message)


class WorkLimitError(UsageError):
    """A request needs more steps than it may take."""


class DeadlineError(PodiumError, TimeoutError):
    """A call ended because its time was over."""


class UndecidedError(PodiumError, RuntimeError):
    """A search reached its limit before it found an answer or the proof that there is none."""


class ModelFileError(PodiumError, ValueError):
    """A model file that is truncated, changed, too new, or none at all."""


class DivergedError(PodiumError, ArithmeticError):
    """Training left the numbers: the objective became NaN or infinite."""


class ContractError(PodiumError, AssertionError):
    """A part of your own that does not keep the contract of its kind (`podium.testing`)."""


class NotConvergedWarning(UserWarning):
    """A ranker stopped before its optimiser was done; the ranker is marked ``converged_ = False``."""


class SlowWarning(UserWarning):
    """What is asked for takes long, and something else would not."""


class ScalingWarning(UserWarning):
    """A ranker that was trained on features scaled by query meets others."""


class UnknownClassWarning(UserWarning):
    """A class of users that a ranker does not know, or knows too badly, is served as all users are."""


class NothingLearnedWarning(UserWarning):
    """Feedback that changed nothing of a ranker, for it names no class of users."""


class PluginWarning(UserWarning):
    """A plug-in of an installed package that cannot be used, and is left out."""


class TruncationWarning(UserWarning):
    """A file was read, and what it says of itself does not fit: it may be cut off."""


class MissingExtraError(PodiumError, ImportError):
    """An optional dependency is not installed."""


class BackendError(PodiumError, ImportError):
    """PODIUM_BACKEND asks for kernels that are not there."""


def require(module: str, extra: str | None, purpose: str) -> ModuleType:
    """Import an optional dependency, or say which extra (or package) brings it.

    Examples
    --------
    >>> require("json", "arrow", "reading JSON").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        install = package if extra is None else f"'podium-ltr[{extra}]'"
        raise MissingExtraError(
            f"{purpose} needs {package}, which is not installed; install it with: pip install {install}"
        ) from error
