"""Run as a program: reads files with random damage, within a limit of memory.

Prints what came of them, for each file: {"name": {"refused": n, "read": n, "wrong": [...]}}.
"""

import json
import random
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import podium
from podium.errors import PodiumError
from podium.features import Index
from podium.feedback import load_feedback

MEMORY = 1 << 30


def use_data(path: Path) -> None:
    data = podium.read_parquet(path)
    data.docids, data.qids.tolist(), data.to_frame("pyarrow")


def use_table(path: Path) -> None:
    podium.read_parquet(path, query="qid", features=["f1", "f2"])


def use_scores(path: Path) -> None:
    podium.data.read_scores(path)


def use_index(path: Path) -> None:
    index = Index.load(path)
    index.search("wing lift"), list(index.docids)


def use_feedback(path: Path) -> None:
    repr(load_feedback(path))


def use_model(path: Path) -> None:
    repr(podium.load(path))


READERS: dict[str, tuple[Callable[[Path], None], ...]] = {
    ".parquet": (use_data, use_table, use_scores),
    ".npy": (use_scores,),
    ".index": (use_index,),
    ".npz": (use_feedback,),
    ".podium": (use_model,),
}


def damage(data: bytes, draw: random.Random) -> bytes:
    """Some bytes of a file changed, cut out, doubled, or its end cut off."""
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 3))):
        at, size = draw.randrange(max(1, len(changed) - 1)), draw.choice((1, 2, 4, 8, 40))
        kind = draw.randrange(8)
        if kind <= 2 and len(changed) > at:
            changed[at] ^= 1 << draw.randrange(8)
        elif kind == 3:
            changed[at : at + size] = bytes([draw.choice((0, 255, 0x7F, 0x80))]) * size
        elif kind == 4:
            changed[at : at + size] = draw.randbytes(size)
        elif kind == 5:
            del changed[at : at + size]
        elif kind == 6:
            changed[at:at] = changed[at : at + size]
        else:
            del changed[max(at, 1) :]
    return bytes(changed)


def outcome(read: Callable[[Path], None], path: Path) -> str:
    try:
        read(path)
        return "read"
    except PodiumError:
        return "refused"
    except BaseException as error:
        return f"{type(error).__name__}: {error!s:.200}"


def main(count: int, *paths: str) -> None:
    warnings.simplefilter("ignore")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:  # all libraries are loaded before memory is counted
            assert all(outcome(read, Path(path)) == "read" for read in READERS[Path(path).suffix])
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        for path in paths:
            data, draw = Path(path).read_bytes(), random.Random(0)
            damaged = Path(folder) / f"damaged{Path(path).suffix}"
            came: dict[str, int] = {"refused": 0, "read": 0}
            wrong = []
            for number in range(count):
                damaged.write_bytes(damage(data, draw))
                for read in READERS[damaged.suffix]:
                    word = outcome(read, damaged)
                    if word in came:
                        came[word] += 1
                    else:
                        wrong.append(f"{number} {read.__name__}: {word}")
            results[Path(path).name] = {**came, "wrong": wrong}
    print(json.dumps(results))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
