"""Recent requests of a worker, one per query, on which changed rules are tried before they are saved."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from podium.apps.serving.body_types import (
    ListedDocument,
    PostrankRequest,
    RankDocument,
    RankRequest,
)
from podium.apps.serving.field_sizes import has_small_fields

MAX_QUERIES = 100
MAX_DOCUMENTS = 300
"""Documents of a request that is remembered; longer lists are left out."""
MAX_QUERY_LENGTH = 200
MAX_VALUES = 20_000
"""Features of a request that is remembered, and values and characters of its fields."""


class RecentRequests:
    """The last requests that the service's rules were applied to, the newest per query."""

    def __init__(self) -> None:
        self._requests: OrderedDict[str, RankRequest | PostrankRequest] = OrderedDict()
        self._lock = Lock()

    def add(self, request: RankRequest | PostrankRequest) -> None:
        """Remember a request, if its rules are those of the service and its list is short."""
        if request.query is None or isinstance(request.rules, list) or request.rules is False:
            return
        if len(request.query) > MAX_QUERY_LENGTH or not _is_short(request.documents or ()):
            return
        with self._lock:
            self._requests[request.query] = request
            self._requests.move_to_end(request.query)
            if len(self._requests) > MAX_QUERIES:
                self._requests.popitem(last=False)

    def newest(self) -> list[RankRequest | PostrankRequest]:
        """Return the requests, the newest first."""
        with self._lock:
            return [*self._requests.values()][::-1]


def _is_short(documents: Sequence[str | ListedDocument | RankDocument]) -> bool:
    """Return whether a list is short enough to be remembered."""
    if not documents or len(documents) > MAX_DOCUMENTS:
        return False
    ranked = [document for document in documents if isinstance(document, RankDocument)]
    n_features = sum(len(document.features) for document in ranked)
    has_ids = all(document.id is not None for document in ranked)
    return has_ids and n_features <= MAX_VALUES and has_small_fields(documents)
