"""The error tree: every message says what was expected, what was there instead, and where.

PodiumError
├── DataError (ValueError)            the data is wrong; with file and line if it came from a file
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
│   ├── ScalingError                  features scaled otherwise than in training
│   ├── GainOverflowError             2^label does not fit a double
│   └── EventError                    an event of a judging session that cannot be accepted
│       ├── ReusedIdError             an event id that stands for another event already
│       └── NotAskedError             a judgment for a question that was not asked
├── UsageError (ValueError)           the request is wrong: a name, a parameter, a combination
│   ├── UnknownNameError              no such metric, rule, ... (with the nearest names)
│   ├── ConversionError               no exact way from one convention to the other
│   ├── CannotExpressError            an engine that has no form for a model
│   ├── ConflictError                 hard rules that cannot hold together
│   └── WorkLimitError                a request that needs more steps than it may take
├── StoreError (RuntimeError)         a store that cannot be opened, or did not keep data
├── UndecidedError (RuntimeError)     a search reached its limit and knows no answer
├── DeadlineError (TimeoutError)      a call that ended because its time was over
├── ModelFileError (ValueError)       a model file that cannot be read
├── DivergedError (ArithmeticError)   training left the numbers
├── ContractError (AssertionError)    a ranker, loss, ... of your own breaks its contract
├── MissingExtraError (ImportError)   an optional dependency is not installed
└── BackendError (ImportError)        PODIUM_BACKEND names kernels that are not installed
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import Any, Literal, Self


class PodiumError(Exception):
    """The base of all errors that podium raises on purpose.

    Examples
    --------
    >>> error = UsageError("expected a column for the query").advise(
    ...     python="name it with query='...'", command_line="name it with --query COLUMN"
    ... )
    >>> str(error)
    "expected a column for the query; name it with query='...'"
    >>> error.on_command_line()
    'expected a column for the query; name it with --query COLUMN'
    """

    python_advice = command_line_advice = ""

    def advise(self, *, python: str, command_line: str) -> Self:
        """Add what to do, in the words of Python and of the command line; return the error."""
        self.python_advice, self.command_line_advice = python, command_line
        return self

    def keep_advice(self, other: PodiumError) -> Self:
        """Take over the advice of another error; return the error."""
        return self.advise(python=other.python_advice, command_line=other.command_line_advice)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled in memory (for joblib) by message and fields: constructors differ."""
        return _remake_error, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        return "; ".join(filter(None, [super().__str__(), self.python_advice]))

    def on_command_line(self) -> str:
        """Return the message with the advice for the command line."""
        return "; ".join(filter(None, [super().__str__(), self.command_line_advice]))


def _remake_error(
    kind: type[PodiumError], args: tuple[Any, ...], fields: dict[str, Any]
) -> PodiumError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class DataError(PodiumError, ValueError):
    """The data is wrong; names the file, the line and the column if there are any."""

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        line: int | None = None,
        column: str | None = None,
    ) -> None:
        self.path, self.line, self.column = path, line, column
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        place += "" if column is None else f"column {column!r}: "
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
    """The data has no documents."""


class TruncatedFileError(DataError):
    """A compressed file that ends before its data does."""


class CorruptFileError(DataError):
    """A file that is not what its name says."""


class LengthMismatchError(DataError):
    """Arrays that should be equally long are not."""


class MemoryLimitError(DataError):
    """A dense matrix would be larger than the stated limit."""


class MissingTruthError(DataError):
    """A top-k measure needs top-k truth, and the data has none."""


class MissingDocidsError(DataError):
    """Document ids are needed and the data has none."""


class ScalingError(DataError):
    """The features are scaled by query in another way than those a ranker was trained on."""


class GainOverflowError(DataError):
    """2^label does not fit a double."""


class EventError(DataError):
    """An event of a judging session that cannot be accepted: malformed, or of no session."""


class ReusedIdError(EventError):
    """An event id that stands for another event already."""


class NotAskedError(EventError):
    """A judgment for a question that was not asked, or an undo of what was not judged."""


class WithdrawnTaskError(EventError):
    """An event of a task that the admin took away from its assessor."""


class UsageError(PodiumError, ValueError):
    """The request is wrong: a name, a parameter, a combination."""


class UnknownNameError(UsageError):
    """No such name; the message suggests the nearest names, and with `holder` lists all of them.

    Examples
    --------
    >>> print(UnknownNameError("column", "grad", ["qid", "grade"], holder="the table"))
    unknown column 'grad'; did you mean grade? The table has qid, grade
    """

    def __init__(
        self, kind: str, name: str, names: Iterable[str], instead: str = "", suggestion: str = "",
        *, path: str | None = None, holder: str = "",
    ) -> None:  # fmt: skip
        self.name = name
        in_order = list(names)
        choices = sorted(in_order)
        self.choices = tuple(choices)
        lowered = {choice.lower(): choice for choice in choices}
        near = [] if ", " in name else difflib.get_close_matches(name[:80].lower(), lowered, 3, 0.4)
        suggestion = suggestion or " or ".join(lowered[match] for match in near)
        listed = ", ".join(choices[:20]) + (", ..." if len(choices) > 20 else "")
        hint = f"did you mean {suggestion}?" if suggestion else f"known: {listed}"
        if holder:
            owned = f"{holder} has {', '.join(in_order[:20])}{', ...' * (len(in_order) > 20)}"
            hint = f"{hint} {owned[0].upper()}{owned[1:]}" if suggestion else owned
        place = "" if path is None else f"{path}: "
        super().__init__(f"{place}unknown {kind} {name!r:.200}; {instead and f'{instead}; '}{hint}")


class ConversionError(UsageError):
    """The conversion between two conventions is not exact."""


class CannotExpressError(UsageError):
    """An engine has no form for a model; the message says why, and what is nearest."""


class ConflictError(UsageError):
    """Hard rules that cannot hold together; `rules` is a minimal set of them."""

    def __init__(self, message: str, rules: Iterable[object] = ()) -> None:
        self.rules = tuple(rules)
        super().__init__(message)


StoreReason = Literal["full", "locked", "failed"]
"""Why a store failed: its disk is full, another program locks it, or another reason."""


class ChangeConflictError(UsageError):
    """A change by an admin that does not fit what the store has by now."""


class StoreError(PodiumError, RuntimeError):
    """A store cannot be opened, or did not keep data; programs read `reason`."""

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
    """A part of your own breaks the contract of its kind (`podium.testing`)."""


class NotConvergedWarning(UserWarning):
    """A ranker stopped before its optimiser was done; the ranker is marked ``converged_ = False``."""


class SlowWarning(UserWarning):
    """A setting is slow, and another one would be fast."""


class UnknownClassWarning(UserWarning):
    """A class of users has no ranking of its own, or too little feedback; all users' ranking is used."""


class NothingLearnedWarning(UserWarning):
    """Feedback did not change a ranker, because it names no class of users."""


class PluginWarning(UserWarning):
    """A plug-in of an installed package cannot be used and is left out."""


class DuplicateDocumentWarning(UserWarning):
    """A query has a document twice: each row counts as a document of its own."""


class LeftOutColumnsWarning(UserWarning):
    """Columns of words are left out of the features, because nothing says what they are."""


class TruncationWarning(UserWarning):
    """A file was read, but has less data than it states: it may be cut off."""


class MissingExtraError(PodiumError, ImportError):
    """An optional dependency is not installed."""


class BackendError(PodiumError, ImportError):
    """PODIUM_BACKEND names kernels that are not installed."""


def require(module: str, extra: str | None, purpose: str) -> ModuleType:
    """Import an optional dependency; raise an error that names the extra or package if it is missing.

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
