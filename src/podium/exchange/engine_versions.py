"""Engine versions: what each version of a search engine does with a feature that a document lacks.

Sources: o19s/elasticsearch-learning-to-rank issue 481; opensearch-learning-to-rank-base pull requests
206 (August 2025) and 379 (July 2026); Solr 9.2's `isNullSameAsZero`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Self

from podium.errors import CannotExpressError, UsageError
from podium.exchange.exporters.engine_limits import missing_note
from podium.exchange.portable_model import PortableModel
from podium.rankers.forest import Forest

MissingBranch = Literal["zero", "right", "node"]
"""A feature that a document lacks is 0; is NaN and goes right at every split; goes where the split says."""

BRANCHES: dict[str, tuple[tuple[tuple[int, ...], MissingBranch], ...]] = {
    "elasticsearch": (((), "zero"),),
    "opensearch": (((), "zero"), ((3, 2), "right"), ((3, 8), "node")),
    "solr": (((), "zero"), ((9, 2), "node")),
    "vespa": (((), "node"),),
}
"""Engine -> the first version of each behaviour, oldest first."""

VERSION_ADVICE = {
    "solr": """set "defaultValue": "NaN" in every feature""",
    "vespa": "a feature that a document lacks must be NaN, not 0",
}
"""What users of trees that were trained on missing values must do, where the engine can be right."""

_BEHAVIOUR: dict[MissingBranch, str] = {
    "zero": "takes 0 for a feature that a document lacks, but the model was trained on missing values",
    "right": "sends a document that lacks a feature to the right at every split",
}


@dataclass(frozen=True)
class EngineVersion:
    """A version of an engine, such as opensearch 3.5.

    Examples
    --------
    >>> EngineVersion.parse("opensearch@3.5").branch
    'right'
    >>> print(EngineVersion.parse("opensearch@3.10.1"), EngineVersion.parse("opensearch@3.10.1").branch)
    opensearch 3.10.1 node
    """

    engine: str
    number: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ENGINE@VERSION."""
        engine, _, number = text.partition("@")
        if engine not in BRANCHES:
            raise UsageError(
                f"{engine} has no versions that podium knows, got {text!r}; expected {engine} alone, or "
                f"a version of {', '.join(BRANCHES)}, as in opensearch@3.5"
            )
        if not re.fullmatch(r"\d{1,4}(\.\d{1,4}){0,3}", number):
            example = ".".join(map(str, BRANCHES[engine][-1][0] or (8,)))
            raise UsageError(f"expected a version such as {engine}@{example}, got {text!r:.60}")
        return cls(engine, tuple(map(int, number.split("."))))

    def __str__(self) -> str:
        return f"{self.engine} {'.'.join(map(str, self.number))}"

    @property
    def branch(self) -> MissingBranch:
        """What happens to a feature that a document lacks."""
        return [branch for first, branch in BRANCHES[self.engine] if first <= self.number][-1]

    def check(self, model: PortableModel, complete_features: bool) -> None:
        """Raise if documents that lack a feature would get wrong scores.

        Parameters
        ----------
        model
            The model to export.
        complete_features
            Whether every document has every feature in the engine, so that nothing is missing.
        """
        form = model.form
        if not isinstance(form, Forest) or not self._is_wrong(form):
            return
        if self.engine == "solr":
            raise CannotExpressError(
                f"{self} refuses trees that were trained on missing values; "
                f"nearest: {self._first_right()}, or a ranker behind --impute"
            )
        if complete_features:
            return
        others = [first for first in (self._first_right(),) if first]
        raise CannotExpressError(
            f"{self} {_BEHAVIOUR[self.branch]}, which gives a wrong score; "
            f"nearest: {', '.join([*others, 'a linear ranker'])}, or define features that have a value "
            "for every document"
        ).advise(
            python="then export with complete_features=True",
            command_line="then add --complete-features",
        )

    def notes(self, model: PortableModel) -> tuple[str, ...]:
        """Return the notes for users of this version."""
        form = model.form
        if not isinstance(form, Forest):
            return ()
        if self._is_wrong(form):
            return (
                f"every document must have a value for every feature: {self} {_BEHAVIOUR[self.branch]}",
            )
        if self.engine in VERSION_ADVICE:
            return missing_note(form, VERSION_ADVICE[self.engine])
        return ()

    def _is_wrong(self, form: Forest) -> bool:
        """Whether trees score documents that lack a feature otherwise than podium."""
        has_splits = any(len(tree.feature) for tree in form.trees)
        return {
            "zero": form.has_missing_side, "right": has_splits, "node": False,
        }[self.branch]  # fmt: skip

    def _first_right(self) -> str:
        """Return the first version that sends missing values where the split says, if there is one."""
        for first, branch in BRANCHES[self.engine]:
            if branch == "node":
                return f"{self.engine}@{'.'.join(map(str, first))}"
        return ""
