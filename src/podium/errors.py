"""The error tree. Every message says what was expected, what podium got instead, and where.

PodiumError
├── DataError (ValueError)            the data is wrong; with file and line if it came from a file
│   ├── MalformedLineError            a line that cannot be read
│   ├── NonFiniteError                NaN or infinity in place of a finite number
│   ├── NegativeLabelError            a label below 0 in training data
│   ├── DuplicateFeatureError         a feature id that occurs twice on a line
│   ├── FeatureIdError                a feature id outside 1..n_features
│   ├── MissingValueError             NULL where missing values are not allowed
│   ├── EmptyDataError                data without documents
│   ├── TruncatedFileError            a compressed file that ends before its data does
│   ├── CorruptFileError              a file whose content does not fit its name
│   ├── LengthMismatchError           arrays that differ in length and should not
│   ├── MemoryLimitError              a dense matrix larger than the stated limit
│   ├── MissingTruthError             a top-k measure on data without top-k truth
│   ├── MissingDocidsError            data without the document ids that are needed
│   ├── ScalingError                  features scaled in another way than in training
│   ├── GainOverflowError             2^label does not fit a double
│   └── EventError                    an event of a judging session that cannot be accepted
│       ├── ReusedIdError             an event id that another event already has
│       └── NotAskedError             a judgment for a question that was not asked
├── UsageError (ValueError)           the request is wrong: a name, a parameter, a combination
│   ├── UnknownNameError              no such metric, rule, ... (with the nearest names)
│   ├── ConversionError               two conventions without an exact conversion
│   ├── CannotExpressError            an engine that cannot express a model
│   ├── ConflictError                 hard rules that contradict each other
│   └── WorkLimitError                a request that needs more steps than it may take
├── StoreError (RuntimeError)         a store that cannot be opened, or did not keep data
├── EndpointError (RuntimeError)      a server of models that does not answer as it should
├── UndecidedError (RuntimeError)     a search that reached its limit without an answer
├── ClusterError (RuntimeError)        a cluster that cannot be reached, or whose workers cannot do the work
├── DeadlineError (TimeoutError)      a call that exceeded its time limit
├── ModelFileError (ValueError)       a model file that cannot be read
├── DivergedError (ArithmeticError)   training reached NaN or infinity
├── ContractError (AssertionError)    a ranker, loss, ... of yours that breaks its contract
├── MissingExtraError (ImportError)   an optional dependency that is not installed
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
        """Add advice for Python and for the command line; return the error."""
        self.python_advice, self.command_line_advice = python, command_line
        return self

    def keep_advice(self, other: PodiumError) -> Self:
        """Copy the advice of another error; return the error."""
        return self.advise(python=other.python_advice, command_line=other.command_line_advice)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message and the fields (for joblib), because constructors differ."""
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
    """The data is wrong; the message names the file, the line and the column if they are known."""

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
    """NaN or infinity in place of a finite number."""


class NegativeLabelError(DataError):
    """A label below 0 in training data."""


class DuplicateFeatureError(DataError):
    """A feature id that occurs twice on a line."""


class FeatureIdError(DataError):
    """A feature id outside 1..n_features."""


class MissingValueError(DataError):
    """A NULL where missing values are not allowed."""


class EmptyDataError(DataError):
    """The data has no documents."""


class TruncatedFileError(DataError):
    """A compressed file that ends before its data does."""


class CorruptFileError(DataError):
    """A file whose content does not fit its name."""


class LengthMismatchError(DataError):
    """Arrays differ in length and should not."""


class MemoryLimitError(DataError):
    """A dense matrix would be larger than the stated limit."""


class MissingTruthError(DataError):
    """A top-k measure needs top-k truth, and the data has none."""


class MissingDocidsError(DataError):
    """Document ids are needed and the data has none."""


class ScalingError(DataError):
    """The features are scaled by query in another way than the training data of the ranker."""


class GainOverflowError(DataError):
    """2^label does not fit a double."""


class EventError(DataError):
    """An event that a judging session cannot accept: it is malformed, or belongs to no session."""


class ReusedIdError(EventError):
    """An event id that another event already has."""


class NotAskedError(EventError):
    """A judgment for a question that was not asked, or an undo without a judgment."""


class WithdrawnTaskError(EventError):
    """An event of a task that the admin took away from its assessor."""


class UsageError(PodiumError, ValueError):
    """The request is wrong: a name, a parameter, a combination."""


class UnknownNameError(UsageError):
    """The name is unknown; the message suggests the nearest names, and with `holder` lists all names.

    `suggestion` takes the place of the nearest names; None lists all names instead.

    Examples
    --------
    >>> print(UnknownNameError("column", "grad", ["qid", "grade"], holder="the table"))
    unknown column 'grad'; did you mean grade? The table has qid, grade
    """

    def __init__(
        self, kind: str, name: str, names: Iterable[str], instead: str = "",
        suggestion: str | None = "",
        *, path: str | None = None, holder: str = "",
    ) -> None:  # fmt: skip
        self.name = name
        in_order = list(names)
        choices = sorted(in_order)
        self.choices = tuple(choices)
        lowered = {choice.lower(): choice for choice in choices}
        if suggestion == "":
            suggestion = " or ".join(lowered[match] for match in _near_names(name, lowered))
        listed = ", ".join(choices[:20]) + (", ..." if len(choices) > 20 else "")
        hint = f"did you mean {suggestion}?" if suggestion else f"known: {listed}"
        if holder:
            owned = f"{holder} has {', '.join(in_order[:20])}{', ...' * (len(in_order) > 20)}"
            hint = f"{hint} {owned[0].upper()}{owned[1:]}" if suggestion else owned
        place = "" if path is None else f"{path}: "
        super().__init__(f"{place}unknown {kind} {name!r:.200}; {instead and f'{instead}; '}{hint}")


MIN_SIMILARITY = 0.55
"""The similarity (difflib's ratio) from which on a name is suggested for another."""


def _near_names(name: str, lowered: Iterable[str]) -> list[str]:
    """Return up to three names that are near to a name, the nearest first; only itself in other case."""
    names, key = list(lowered), name[:80].lower()
    if key in names or ", " in name:
        return [key] * (key in names)
    near = difflib.get_close_matches(key, names, 3, MIN_SIMILARITY)
    begins_alike = [
        other for other in names
        if min(len(other), len(key)) >= 3 and (other.startswith(key) or key.startswith(other))
    ]  # fmt: skip
    return list(dict.fromkeys([*near, *begins_alike]))[:3]


class ConversionError(UsageError):
    """The conversion between two conventions is not exact."""


class CannotExpressError(UsageError):
    """An engine cannot express a model; the message says why, and names the nearest model."""


class ConflictError(UsageError):
    """Hard rules contradict each other; `rules` is a minimal set of them."""

    def __init__(self, message: str, rules: Iterable[object] = ()) -> None:
        self.rules = tuple(rules)
        super().__init__(message)


StoreReason = Literal["full", "locked", "failed"]
"""The reason why a store failed: a full disk, a lock of another program, or anything else."""


class ChangeConflictError(UsageError):
    """A change by an admin that no longer fits the contents of the store."""


class StoreError(PodiumError, RuntimeError):
    """A store cannot be opened, or did not keep data; programs read `reason`."""

    def __init__(self, message: str, reason: StoreReason = "failed") -> None:
        self.reason = reason
        super().__init__(message)


class EndpointError(PodiumError, RuntimeError):
    """A server of models cannot be reached, refuses the key or the model, or sends no usable reply."""


class WorkLimitError(UsageError):
    """A request needs more steps than it may take."""


class ClusterError(PodiumError, RuntimeError):
    """A cluster cannot be reached, lost its scheduler, or has workers that cannot do the work."""


class DeadlineError(PodiumError, TimeoutError):
    """A call exceeded its time limit."""


class UndecidedError(PodiumError, RuntimeError):
    """A search reached its limit before it found an answer or proved that no answer exists."""


class ModelFileError(PodiumError, ValueError):
    """A model file is truncated, changed or too new, or it is not a model file."""


class DivergedError(PodiumError, ArithmeticError):
    """Training diverged: the objective became NaN or infinite."""


class ContractError(PodiumError, AssertionError):
    """A ranker, loss or other part of yours breaks its contract (`podium.testing`)."""


class NotConvergedWarning(UserWarning):
    """A ranker stopped before its optimiser converged; it has ``converged_ = False``."""


class RankerFailedWarning(UserWarning):
    """A ranker of a comparison failed in some folds; the others were compared."""


class MachineJudgedWarning(UserWarning):
    """Machines judged the test data, so a result tells what the machines like."""


class SlowWarning(UserWarning):
    """A setting is slow; another one would be faster."""


class SmallBudgetWarning(UserWarning):
    """The budget of a search was too small to measure a ranker on all queries."""


class UnknownClassWarning(UserWarning):
    """A class of users has no ranking, or too little feedback; the ranking of all users is used."""


class NothingLearnedWarning(UserWarning):
    """Feedback did not change a ranker, or no weights are better than 0."""


class PluginWarning(UserWarning):
    """A plug-in of an installed package cannot be used and is left out."""


class DuplicateDocumentWarning(UserWarning):
    """A query has a document twice: each row counts as a separate document."""


class KernelsWarning(UserWarning):
    """The native kernels are installed, but cannot be loaded; the slow ones in NumPy run."""


class LargeLabelsWarning(UserWarning):
    """Labels are so large that NDCG and ERR count little but the best grade."""


class LeftOutColumnsWarning(UserWarning):
    """Columns of words are left out of the features, because no option says what they mean."""


class TruncationWarning(UserWarning):
    """A file was read, but has less data than it states; it may be truncated."""


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
        install = package
        if extra is not None:
            install = f"'podium-ltr[{extra}]' (in podium's own folder: pip install '.[{extra}]')"
        raise MissingExtraError(
            f"{purpose} needs {package}, which is not installed; install it with: pip install {install}"
        ) from error
