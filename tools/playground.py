"""The playground's own sample: queries of the demo, the best documents of each by its model.

podium demo --out demo && python -m tools.playground demo
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

QUERIES, DOCUMENTS = 12, 20


def lists(folder: Path) -> Iterator[dict[str, Any]]:
    """Queries with what the model finds best, by its scores; features are left out."""
    import numpy as np

    import podium

    model = podium.load(folder / "model.podium")
    names = list(model.feature_names_in_)
    with (folder / "samples.jsonl").open() as file:
        for line in list(file)[:QUERIES]:
            sample = json.loads(line)
            documents = sample["documents"]
            X = [[doc["features"][name] for name in names] for doc in documents]
            scores = model.predict(np.array(X))
            best = sorted(range(len(X)), key=lambda row: -scores[row])[:DOCUMENTS]
            yield sample | {
                "documents": [
                    {"id": documents[row]["id"], "score": round(float(scores[row]), 4)}
                    | {"fields": documents[row]["fields"]}
                    for row in best
                ]
            }


def main() -> None:
    """Write src/podium/apps/serving/demo.jsonl."""
    from podium.apps.serving.samples import DEMO

    DEMO.write_text("".join(json.dumps(one) + "\n" for one in lists(Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
