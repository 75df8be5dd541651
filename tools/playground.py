"""Sample of the playground: queries of the demo, with the best documents by its model.

podium demo --out demo && python -m tools.playground demo
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

N_QUERIES, N_DOCUMENTS = 12, 20


def sample_lists(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield queries with their best documents and scores by the model; features are left out."""
    import numpy as np

    import podium

    model = podium.load(folder / "model.podium")
    names = list(model.feature_names_in_)
    with (folder / "samples.jsonl").open() as file:
        for line in list(file)[:N_QUERIES]:
            sample = json.loads(line)
            documents = sample["documents"]
            X = [[doc["features"][name] for name in names] for doc in documents]
            scores = model.predict(np.array(X))
            best = sorted(range(len(X)), key=lambda row: -scores[row])[:N_DOCUMENTS]
            yield sample | {
                "documents": [
                    {"id": documents[row]["id"], "score": round(float(scores[row]), 4)}
                    | {"fields": documents[row]["fields"]}
                    for row in best
                ]
            }


def main() -> None:
    """Write src/podium/apps/serving/demo.jsonl."""

    from podium.apps.serving.samples import DEMO_SAMPLES

    DEMO_SAMPLES.write_text(
        "".join(json.dumps(sample) + "\n" for sample in sample_lists(Path(sys.argv[1])))
    )


if __name__ == "__main__":
    main()
