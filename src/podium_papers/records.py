"""Record of a paper's run: the results, the data and the settings, and the facts of the run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import msgspec

from podium.experiments import DataFacts, MissingData
from podium_papers.json_values import json_lines
from podium_papers.registry import PAPERS


@dataclass(frozen=True)
class PaperRecord:
    """Results of a paper's experiments, and the data they ran on. The same seed gives the same bytes.

    `own` names the data sets that the paper itself uses. `found` is the result in the paper's own type.
    """

    paper: str
    version: str
    quick: bool
    seed: int
    data: tuple[DataFacts, ...]
    own: tuple[str, ...]
    absent: tuple[MissingData, ...]
    found: Any

    def to_json(self) -> str:
        """Return the text of the record's file."""
        content = asdict(replace(self, found=None))
        names = ("paper", "version", "quick", "seed", "own", "data", "absent")
        found = PAPERS[self.paper].pack(self.found)
        return json_lines({**{name: content[name] for name in names}, "found": found})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the record that `to_json` wrote."""
        content = json.loads(text)
        paper = PAPERS[content["paper"]]
        result: Any = msgspec.convert(paper.unpack(content["found"]), paper.result)
        return replace(msgspec.convert(content, cls), found=result)


@dataclass(frozen=True)
class RunFacts:
    """Facts of the run that made a record, and the times that the paper reports."""

    command: str
    date: str
    seconds: int
    times: Any = None
    note: str = ""
