"""Pages from templates; whatever stands in the data is text there, never markup."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from starlette.responses import HTMLResponse

HERE = Path(__file__).parent


class Pages:
    """The templates, and what all of them know."""

    def __init__(self, title: str) -> None:
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals |= {"title": title, "csrf": "", "role": ""}
        self._templates.filters |= {"segment": lambda text: quote(text, safe=""), "many": many}

    def page(
        self,
        template: str,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        **values: Any,
    ) -> HTMLResponse:
        """A template with these values in it."""
        text = self._templates.get_template(template).render(values)
        # Half of a surrogate pair in a comment is no reason to fail.
        return HTMLResponse(text.encode("utf-8", "replace"), status, headers)


def many(n: float, what: str) -> str:
    """A number and its noun.

    Examples
    --------
    >>> many(1, "judgment"), many(1200, "judgment"), many(2, "query")
    ('1 judgment', '1,200 judgments', '2 queries')
    """
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{n:,.0f} {what if round(n) == 1 else plural}"
