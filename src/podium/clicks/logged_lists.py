"""Lists, labels and traffic of each query of a log, for studies of what users saw and clicked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from podium.clicks.click_sessions import ClickSessions
from podium.data import Groups, Qrels, Run, Strings
from podium.errors import UsageError
from podium.metrics.gain_and_discount import discounts


class LoggedLists(NamedTuple):
    """The queries of a log, by their texts.

    `run` has the documents of each query by their mean position, before the swaps of the service if
    the log says. `judgments` has the probability of a click on each document that is looked at,
    clicks / sum of e(position), at most 1. `searches` is the number of sessions of each query.
    """

    run: Run
    judgments: Qrels
    searches: dict[str, float]

    @classmethod
    def of(cls, sessions: ClickSessions, examination: Sequence[float] | None = None) -> LoggedLists:
        """Return the lists of sessions.

        Parameters
        ----------
        sessions
            The sessions of a log.
        examination
            The probability e that users look at each position; positions beyond have the last one. The
            default is 1 / log2(position + 1).

        Examples
        --------
        >>> from podium.clicks import ClickSessions
        >>> sessions = ClickSessions.from_lists(["tea"] * 2, [["a", "b"], ["a", "b"]], [["a"], ["a", "b"]])
        >>> logged = LoggedLists.of(sessions, examination=[1.0, 0.5])
        >>> list(logged.run.docids), logged.judgments.values.tolist(), logged.searches
        (['a', 'b'], [1.0, 1.0], {'tea': 2.0})
        """
        sessions.require_sessions()
        looks = (
            discounts("log2", sessions.depth) if examination is None else np.asarray(examination)
        )
        if not len(looks):
            raise UsageError("expected the probability of a look at each position, got none")
        looks = np.pad(looks, (0, max(0, sessions.depth - len(looks))), mode="edge")
        pairs, number = sessions.pairs
        n = len(pairs)
        n_looks = np.bincount(number, looks[sessions.positions - 1], n)
        clicks = np.bincount(number, sessions.clicked, n)
        rates = np.minimum(clicks / np.maximum(n_looks, 1e-12), 1.0)
        positions = sessions.positions
        if sessions.base_positions is not None:
            positions = np.where(sessions.base_positions > 0, sessions.base_positions, positions)
        place = np.bincount(number, positions, n) / np.bincount(number, minlength=n)
        order = np.lexsort((place, pairs.query_codes))
        queries, sizes = np.unique(pairs.query_codes, return_counts=True)
        names = [pairs.queries[code] for code in queries.tolist()]
        qids, groups = np.array(names, dtype=object), Groups.from_sizes(sizes)
        docids = Strings.of(pairs.docs[code] for code in pairs.doc_codes[order].tolist())
        counts = np.bincount(sessions.query.codes, minlength=len(pairs.queries))[queries]
        return cls(
            Run(qids, groups, docids, -place[order]),
            Qrels(qids, groups, docids, rates[order]),
            dict(zip(names, counts.astype(float).tolist(), strict=True)),
        )
