"""RunEvidence: the judgments of a run, what they imply, and whether they contradict each other."""

from __future__ import annotations

from collections.abc import Iterable

from podium.labelling.implied_preferences import ImpliedPreferences
from podium.labelling.judgments import DocumentId, Judgment


class RunEvidence:
    """The judgments of a run, with sides and assessors.

    Parameters
    ----------
    documents
        All documents of the run, each once.

    Examples
    --------
    >>> evidence = RunEvidence("abc")
    >>> for text in ("a>b", "b>c", "c>a"):
    ...     evidence.add(Judgment(text[0], text[2], text[1]))
    >>> len(evidence.judgments), evidence.is_consistent
    (3, False)
    """

    def __init__(self, documents: Iterable[DocumentId]) -> None:
        self.implied_preferences = ImpliedPreferences(documents)
        self.judgments: list[Judgment] = []
        self.is_consistent = True
        """Whether no judgment contradicts what the ones before it imply."""

    def add(self, judgment: Judgment) -> None:
        """Add a judgment and everything that it implies."""
        if judgment.a != judgment.b and judgment.answer != "bad":
            implied = self.implied_preferences.answer(judgment.a, judgment.b)
            self.is_consistent &= implied in (None, judgment.answer)
        self.implied_preferences.add(judgment)
        self.judgments.append(judgment)
