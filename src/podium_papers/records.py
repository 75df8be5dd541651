"""Record of a paper's run: the results, the data and the settings, and the facts of the run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

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
        content = {
            name: getattr(self, name) for name in ("paper", "version", "quick", "seed", "own")
        }
        content["data"] = [asdict(facts) for facts in self.data]
        content["absent"] = [asdict(missing) for missing in self.absent]
        return json_lines({**content, "found": self.found.to_dict()})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the record that `to_json` wrote."""
        content = json.loads(text)
        content["data"] = tuple(DataFacts(**facts) for facts in content["data"])
        content["absent"] = tuple(MissingData(**missing) for missing in content["absent"])
        content["own"] = tuple(content["own"])
        return cls(**{**content, "found": PAPERS[content["paper"]].read(content["found"])})


@dataclass(frozen=True)
class RunFacts:
    """Facts of the run that made a record, and the times that the paper reports."""

    command: str
    date: str
    seconds: int
    times: Any = None
    note: str = ""
