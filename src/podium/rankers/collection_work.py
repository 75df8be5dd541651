"""Work of a fitted ranker on the blocks of a collection: here, or part by part on the cluster in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from podium.data import Collection, RankingData
from podium.data.collections.collection_parts import CollectionPart, collection_parts
from podium.data.text_files import Progress
from podium.task_runner import current_runner

Ranker_ = TypeVar("Ranker_")
Result = TypeVar("Result")


def rankers_from_disk(base: type) -> str:
    """Return the names of all rankers below a class that read rows from disk, for advice."""
    names, classes = set(), [base]
    while classes:
        cls = classes.pop()
        classes += cls.__subclasses__()
        is_own = cls.__module__.partition(".")[0] == "podium"
        if is_own and getattr(cls, "fits_from_disk", None) is True and "name" in vars(cls):
            names.add(str(vars(cls)["name"]))
    *others, last = sorted(names)
    return f"{', '.join(others)} and {last}"


def map_collection(
    work: Callable[[Ranker_, RankingData], Result],
    ranker: Ranker_,
    collection: Collection,
    progress: Progress | None = None,
) -> Iterator[Result]:
    """Yield work(ranker, block) for each block of a collection, in order.

    On a cluster, the ranker goes to each worker once, and each worker reads its parts itself. `progress` is
    called with the number of bytes of the parts that are done.
    """
    runner = current_runner()
    if runner is None:
        for block in collection.blocks(progress=progress):
            yield work(ranker, block)
        return
    parts = collection_parts(collection)
    sent = runner.share(ranker)
    answers = runner.run((_work_on_part, (work, sent, part), {}) for part in parts)
    for part, part_answers in zip(parts, answers, strict=True):
        if progress is not None:
            progress(part.record.n_bytes)
        yield from part_answers


def _work_on_part(
    work: Callable[[Ranker_, RankingData], Result], ranker: Ranker_, part: CollectionPart
) -> list[Result]:
    """Return the answers for the blocks of one part, on a worker."""
    return [work(ranker, block) for block in part.blocks()]
