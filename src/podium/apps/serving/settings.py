"""Settings of the ranking service."""

from __future__ import annotations

import os
from dataclasses import dataclass

from podium.apps.http.settings import AccessSettings
from podium.apps.serving.event_log import Durability
from podium.errors import UsageError
from podium.postranking.settings import DEFAULT_CLASSES, check_classes

MIB = 1 << 20
SERVICE_ACCESS = AccessSettings(client_requests=5_000.0)
"""One application usually sends all requests of a shop, so the limit is above one worker's rate."""


@dataclass(frozen=True)
class ServingSettings:
    """Settings of the ranking service: plain values, so that they travel to other processes as JSON.

    Parameters
    ----------
    models
        Model files: ``model.podium``, ``name=model.podium`` or ``name@version=model.podium``; the first
        one answers requests that name no model.
    rules, docs
        Files of rules and of documents' fields, as `podium postrank` reads them.
    decimal, thousands
        How numbers are written in a table of documents' fields.
    samples
        Queries for the playground, as `read_samples` reads them; without it, the demo's.
    events
        The NDJSON log that events are appended to.
    max_log
        Bytes after which the log is renamed and a new one is begun; 0: never.
    durability
        When events are synced to the disk: "event", before they are acknowledged; "batch", soon after;
        "off", when the system decides. See EventLog.
    token
        The token that requests must bring as ``Authorization: Bearer TOKEN``.
    max_body
        Bytes of a request.
    body_seconds, seconds
        How long a request may take to arrive, and to be answered.
    reload_seconds
        How often files are checked for changes; 0: only at SIGHUP.
    drain_seconds
        How long connections stay open after the signal to stop, for requests that are on their way.
    copies_folder
        A folder for copies of the last valid files, which a worker serves that starts while a file is broken.
    access
        Which hosts, proxies and clients may ask, and how often; see AccessSettings.
    experiment
        A file with an experiment, as `read_experiment_file` reads it.
    editors
        A file with the people who may save rules, as `read_editors` reads it; `rules` is then a folder.
    classes
        The classes of rules, the strongest first.
    swap
        The probability that two neighbours of a list are exchanged, so that propensities can be estimated.

    Examples
    --------
    >>> ServingSettings(("a.podium",)).max_body
    16777216
    """

    models: tuple[str, ...]
    rules: str | None = None
    docs: str | None = None
    decimal: str = "."
    thousands: str = ""
    samples: str | None = None
    events: str | None = None
    max_log: int = 0
    durability: Durability = "event"
    token: str | None = None
    max_body: int = 16 * MIB
    body_seconds: float = 20.0
    seconds: float = 10.0
    reload_seconds: float = 1.0
    drain_seconds: float = 1.0
    copies_folder: str | None = None
    access: AccessSettings = SERVICE_ACCESS
    experiment: str | None = None
    swap: float = 0.0
    editors: str | None = None
    classes: tuple[str, ...] = DEFAULT_CLASSES

    def __post_init__(self) -> None:
        for name in ("max_body", "body_seconds", "seconds"):
            if not getattr(self, name) > 0:
                raise UsageError(f"expected {name} above 0, got {getattr(self, name)}")
        for name in ("max_log", "reload_seconds", "drain_seconds"):
            if not getattr(self, name) >= 0:
                raise UsageError(f"expected {name} of 0 or more, got {getattr(self, name)}")
        if not 0 <= self.swap <= 0.5:
            raise UsageError(f"expected a probability of a swap from 0 to 0.5, got {self.swap}")
        if self.events is None and (self.experiment is not None or self.swap):
            option = "--swap" if self.experiment is None else "--experiment"
            raise UsageError(
                f"expected --events together with {option}, got no --events: without a log nothing can be "
                "learned from the lists; give --events FILE"
            )
        object.__setattr__(self, "classes", check_classes(self.classes))
        self._check_editing()
        if self.token is not None and not (self.token.isascii() and self.token.isprintable()):
            raise UsageError("expected a token of printable ASCII characters, got other characters")
        if self.token is not None and len(self.token) < 16:
            raise UsageError(
                f"expected a token of 16 characters or more, got {len(self.token)}; "
                "`openssl rand -hex 32` makes one"
            )

    def _check_editing(self) -> None:
        if self.editors is not None and (self.rules is None or os.path.isfile(self.rules)):
            got = "no --rules" if self.rules is None else f"the file {self.rules}"
            raise UsageError(
                f"expected --rules FOLDER together with --editors, got {got}; every save is a new file in "
                "the folder, and rules.yaml in it is what is served before the first save"
            )
