"""Run as a program: loads, describes and asks forged models, within a limit of memory.

Prints what came of them: {"refused": n, "working": n, "wrong": [...]}.
"""

import contextlib
import json
import random
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import podium
from podium.data import RankingData
from podium.errors import PodiumError
from tests.support.forging import forgeries, read, write

MEMORY = 300 << 20
"""More than this beyond what the program takes is no answer to a file of some kilobytes."""
SECONDS = 10.0


def ask(path: Path) -> None:
    """All that is done with a model file."""
    ranker = podium.load(path)
    X = np.linspace(-1, 1, 6 * ranker.n_features_in_).reshape(6, -1)
    rows = RankingData.from_arrays(
        X, [0, 1, 2, 0, 1, 2], qid=[1, 1, 1, 1, 1, 1],
        feature_names=getattr(ranker, "feature_names_in_", None), scaled=ranker.trained_.scaled,
    )  # fmt: skip
    repr(ranker)
    repr(ranker.history_)
    for answer in (lambda: ranker.predict(rows), lambda: ranker.model_.importance(),
                   lambda: ranker.model_.contributions(X), lambda: ranker.save(path)):  # fmt: skip
        with contextlib.suppress(PodiumError):
            answer()


def outcome(path: Path) -> str:
    try:
        start = time.monotonic()
        ask(path)
        if time.monotonic() - start > SECONDS:
            return f"took {time.monotonic() - start:.0f} s"
        return "working"
    except PodiumError as error:
        return "refused" if len(str(error)) < 5000 else "an error of many words"
    except BaseException as error:
        return f"{type(error).__name__}: {error!s:.200}"


def main(share: float, *paths: str) -> None:
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    draw, seen, wrong = random.Random(0), {"refused": 0, "working": 0}, []
    with tempfile.TemporaryDirectory() as folder:
        forged = Path(folder) / "forged.podium"
        for path in paths:  # all libraries are loaded before memory is counted
            write(forged, read(path))
            ask(forged)  # raises if the model does not work; loading libraries may take long
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        for path in paths:
            for what, files in forgeries(read(path)):
                if draw.random() > share:
                    continue
                write(forged, files)
                came = outcome(forged)
                if came in seen:
                    seen[came] += 1
                else:
                    wrong.append(f"{Path(path).name} {what}: {came}")
    print(json.dumps({**seen, "wrong": wrong}))


if __name__ == "__main__":
    main(float(sys.argv[1]), *sys.argv[2:])
