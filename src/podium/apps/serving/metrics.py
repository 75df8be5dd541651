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

CONTENT_TYPE = CONTENT_TYPE_LATEST
SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""Where processes put their figures, for each of them to add them all up."""
BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class ServingMetrics:
    """What is counted: requests, seconds, documents, events, reloads."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        requests = Counter(
            "podium_requests", "Requests by path and status.", ["path", "status"], registry=registry
        )
        seconds = Histogram(
            "podium_request_seconds", "From the headers to the answer, before it is sent.", ["path"],
            buckets=BUCKETS, registry=registry,
        )  # fmt: skip
        documents = Counter("podium_documents", "Documents ranked.", ["path"], registry=registry)
        self._reloads = Counter(
            "podium_reloads", "Files read again.", ["source", "outcome"], registry=registry
        )
        self.events = Counter("podium_events", "Events kept.", registry=registry)
        self._degraded = Gauge(
            "podium_degraded", "1 where a file cannot be read and the one before serves on.",
            registry=registry, multiprocess_mode="livemax",
        )  # fmt: skip
        # Looking a child up by its labels takes longer than to count.
        self._requests: Any = cache(lambda path, status: requests.labels(path, str(status)))
        self._seconds: Any = cache(seconds.labels)
        self.documents: Any = cache(documents.labels)

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests(path, status).inc()
        self._seconds(path).observe(seconds)

    def reloaded(self, source: str, taken: bool) -> None:
        """Count a file that was read again."""
        self._reloads.labels(source, "taken" if taken else "refused").inc()

    def degraded(self, is_so: bool) -> None:
        """Say whether an old file serves on."""
        self._degraded.set(int(is_so))

    def page(self) -> bytes:
        """All figures as Prometheus reads them."""
        if not os.environ.get(SHARED):
            return generate_latest(self._registry)
        from prometheus_client.multiprocess import MultiProcessCollector

        everyone = CollectorRegistry()
        MultiProcessCollector(everyone)  # type: ignore[no-untyped-call]
        try:
            return generate_latest(everyone)
        except struct.error:  # a worker that begins has made its file, and not filled it yet
            return generate_latest(everyone)
