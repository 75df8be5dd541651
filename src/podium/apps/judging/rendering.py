"""Pages from templates; values are always escaped, never markup."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from starlette.responses import HTMLResponse

from podium.counted_nouns import count_text

HERE = Path(__file__).parent


def day_time(milliseconds: int) -> str:
    """Return a time as people read it, in UTC.

    Examples
    --------
    >>> day_time(1_700_000_000_000)
    '2023-11-14 22:13'
    """
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "at an unknown time"


class Pages:
    """The templates, with the values that all of them use."""

    def __init__(self, title: str) -> None:
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals |= {"title": title, "csrf": "", "role": ""}
        self._templates.filters |= {
            "segment": lambda text: quote(text, safe=""),
            "count": count_text,
            "day_time": day_time,
        }

    def page(
        self,
        template: str,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        **values: Any,
    ) -> HTMLResponse:
        """Return the page of a template with these values."""
        text = self._templates.get_template(template).render(values)
        # A comment may contain half of a surrogate pair, which UTF-8 cannot encode.
        return HTMLResponse(text.encode("utf-8", "replace"), status, headers)
