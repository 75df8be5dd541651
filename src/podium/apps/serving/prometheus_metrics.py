"""Figures for Prometheus: of this process, or summed over all of them."""

from __future__ import annotations

import os
import struct
from functools import cache
from typing import Any

from podium.errors import require

require("prometheus_client", "web", "the ranking service")

from prometheus_client import (  # noqa: E402 - after the check
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector  # noqa: E402

CONTENT_TYPE = CONTENT_TYPE_LATEST
SHARED_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Names the folder where processes put their figures, so that each can add them up."""
SECONDS_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class ServingMetrics:
    """Counters of requests, seconds, documents, events and reloads."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        requests = Counter(
            "podium_requests", "Requests by path and status.", ["path", "status"], registry=registry
        )
        seconds = Histogram(
            "podium_request_seconds", "From the headers to the answer, before it is sent.", ["path"],
            buckets=SECONDS_BUCKETS, registry=registry,
        )  # fmt: skip
        documents = Counter("podium_documents", "Documents ranked.", ["path"], registry=registry)
        self._reloads = Counter(
            "podium_reloads", "Files read again.", ["source", "outcome"], registry=registry
        )
        self.events = Counter("podium_events", "Events kept.", registry=registry)
        self._degraded_lists = Counter(
            "podium_degraded_lists",
            "Lists in which a rule gave way or was left out.",
            ["path"],
            registry=registry,
        )
        self.n_degraded_lists = 0
        """The lists of this process in which a rule gave way or was left out."""
        self._degraded = Gauge(
            "podium_degraded", "1 if a file cannot be read and its last good contents are still served.",
            registry=registry, multiprocess_mode="livemax",
        )  # fmt: skip
        # Looking up a child by its labels takes longer than counting.
        self._requests: Any = cache(lambda path, status: requests.labels(path, str(status)))
        self._seconds: Any = cache(seconds.labels)
        self._documents: Any = cache(documents.labels)

    def count_request(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests(path, status).inc()
        self._seconds(path).observe(seconds)

    def count_list(self, path: str, n_documents: int, is_degraded: bool | None) -> None:
        """Count a list, its documents, and whether a rule gave way in it or was left out."""
        self._documents(path).inc(n_documents)
        if is_degraded:
            self._degraded_lists.labels(path).inc()
            self.n_degraded_lists += 1

    def count_reload(self, source: str, is_valid: bool) -> None:
        """Count a file that was read again."""
        self._reloads.labels(source, "taken" if is_valid else "refused").inc()

    def set_degraded(self, is_degraded: bool) -> None:
        """Set whether the last good contents of a file are still served."""
        self._degraded.set(int(is_degraded))

    def page(self) -> bytes:
        """Return all figures as Prometheus reads them."""
        if not os.environ.get(SHARED_FOLDER_VARIABLE):
            return generate_latest(self._registry)
        all_processes = CollectorRegistry()
        MultiProcessCollector(all_processes)  # type: ignore[no-untyped-call]
        try:
            return generate_latest(all_processes)
        except struct.error:  # a starting worker has created its file, but not filled it yet
            return generate_latest(all_processes)
