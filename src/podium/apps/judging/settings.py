"""Settings of the judging web app."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from podium.apps.http.settings import AccessSettings
from podium.errors import UsageError


@dataclass(frozen=True)
class JudgingSettings:
    """Settings of the judging web app.

    Parameters
    ----------
    base_url
        The address of the server for browsers, such as ``https://judge.example.org``. Behind a proxy it
        tells which origin requests may come from, and whether cookies are for https only.
    images
        The folder of images: documents that are images, and images in HTML.
    link_days
        How long a personal link from the admin's page works.
    title
        The title of the pages.
    repeats
        The share of questions that are asked again later, with the sides swapped, to measure how
        consistent an assessor is.
    repeat_gap
        The least number of judgments between a question and its repetition.
    idle_seconds
        After how many seconds without a key or a movement the clock stops, for documents without text.
    characters_per_second
        How fast the slowest readers read: the clock waits longer by the time that reading the text takes.
    longest_idle_seconds
        The longest wait, for any length of text.
    busy_seconds
        How long a judgment waits for others before the server answers that it is busy.
    statistics_seconds
        How old the statistics on the admin's page may be.
    members_seconds
        How long an assessor whose link was renewed may go on judging.
    max_body, max_events
        The most bytes and the most events of a request.
    body_seconds
        How long a request's body may take to arrive.
    access
        Which hosts, proxies and clients may send requests, and how often; see AccessSettings.

    Examples
    --------
    >>> JudgingSettings().idle_after(3000)
    230.0
    """

    base_url: str | None = None
    images: Path | None = None
    link_days: float = 60.0
    title: str = "Podium"
    repeats: float = 0.05
    repeat_gap: int = 5
    idle_seconds: float = 30.0
    characters_per_second: float = 15.0
    longest_idle_seconds: float = 600.0
    busy_seconds: float = 3.0
    statistics_seconds: float = 5.0
    members_seconds: float = 5.0
    max_body: int = 1 << 20
    max_events: int = 200
    body_seconds: float = 20.0
    access: AccessSettings = field(default_factory=AccessSettings)

    def __post_init__(self) -> None:
        if self.base_url is not None:
            check_base_url(self.base_url)
        if self.images is not None and not Path(self.images).is_dir():
            raise UsageError(f"expected a folder of images, got {str(self.images)!r:.200}")
        if not 0 <= self.repeats <= 0.5:
            raise UsageError(f"expected a share of repeats from 0 to 0.5, got {self.repeats}")
        for name in (
            "repeat_gap", "idle_seconds", "characters_per_second", "longest_idle_seconds", "busy_seconds",
            "max_body", "max_events", "body_seconds", "link_days",
        ):  # fmt: skip
            if not getattr(self, name) > 0:
                raise UsageError(f"expected {name} above 0, got {getattr(self, name)}")

    @property
    def origin(self) -> str | None:
        """The scheme and host of base_url."""
        return None if self.base_url is None else self.base_url.rstrip("/").lower()

    @property
    def own_hosts(self) -> tuple[str, ...]:
        """The host of base_url, if there is one."""
        return () if self.base_url is None else (urlsplit(self.base_url).netloc,)

    @property
    def secure(self) -> bool:
        """Whether browsers use https."""
        return self.origin is not None and self.origin.startswith("https://")

    def idle_after(self, characters: int) -> float:
        """Return after how many seconds a reader of so many characters counts as idle."""
        seconds = self.idle_seconds + characters / self.characters_per_second
        return round(min(seconds, self.longest_idle_seconds), 1)


def check_base_url(url: str) -> None:
    """Raise if a URL is not a scheme and a host: the app is always at the root of its host."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    is_plain = not (parts.query or parts.fragment or parts.username) and parts.path in ("", "/")
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_plain:
        raise UsageError(
            f"expected a base URL such as https://judge.example.org, without a path, got {url!r:.200}"
        )
