"""Documents that a query has twice: a warning with their number and an example."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np

from podium.data.ranking_data import RankingData
from podium.errors import DuplicateDocumentWarning


def warn_of_duplicates(data: RankingData, path: str | None = None) -> None:
    """Warn if a query has a document twice; names the first such pair."""
    if data.docid_column is None:
        return
    docids = data.docid_column
    # One number per pair of query and document; equal numbers are looked at again below.
    keys = docids.hash() ^ (data.groups.codes.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    in_order = np.sort(keys)
    repeated_keys = np.unique(in_order[1:][in_order[1:] == in_order[:-1]])
    if not len(repeated_keys):
        return
    rows = np.flatnonzero(np.isin(keys, repeated_keys)).tolist()
    pairs = [(data.groups.codes[row], docids[row]) for row in rows if docids[row]]
    repeats = Counter(pairs)
    n_repeats = sum(repeats.values()) - len(repeats)
    if n_repeats:
        (code, docid), _ = repeats.most_common(1)[0]
        place = "" if path is None else f"{path}: "
        verb = "row repeats" if n_repeats == 1 else "rows repeat"
        warnings.warn(
            f"{place}{n_repeats} {verb} a document of a query, for example document "
            f"{docid!r} of query {data.qids[code]!r}; each counts as a document of its own",
            DuplicateDocumentWarning,
            stacklevel=3,
        )
