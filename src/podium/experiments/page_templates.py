"""Templates of HTML pages: one page without network, with one script that its policy names by hash."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from podium.errors import require

FOLDER = Path(__file__).parent
SCRIPT = "report_page.js"


def render_template(template: str, what: str, **values: Any) -> str:
    """Return a page as HTML.

    Parameters
    ----------
    template
        A file of this folder.
    what
        What is written, for the error if jinja2 is missing.
    values
        What the template needs; it also has `script` and `script_digest`.
    """
    jinja2 = require("jinja2", "report", f"writing {what}")
    markup = require("markupsafe", "report", f"writing {what}")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters["safe_svg"] = lambda drawing: markup.Markup(drawing.svg)
    script = (FOLDER / SCRIPT).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text: str = environment.get_template(template).render(
        script=markup.Markup(script), script_digest=digest, **values
    )
    return text
