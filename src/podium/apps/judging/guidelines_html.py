"""Guidelines on screen: Markdown as sanitised HTML."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt

from podium.apps.judging.document_html import sanitise
from podium.labelling.guidelines import Guidelines


@lru_cache(maxsize=32)
def markdown_to_html(text: str) -> str:
    """Return Markdown as HTML without scripts, styles and images; HTML in it is shown as text.

    Examples
    --------
    >>> markdown_to_html("Prefer *recent* pages. <script>x()</script>")
    '<p>Prefer <em>recent</em> pages. &lt;script&gt;x()&lt;/script&gt;</p>\\n'
    """
    markup = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return sanitise(markup)


def guidelines_view(guidelines: Guidelines) -> dict[str, Any]:
    """Return guidelines for a page: its version, HTML, and the definition of each grade."""
    return {
        "version": guidelines.version,
        # Tells one store from another in a browser that judges for both.
        "id": f"{guidelines.version}-{guidelines.created}",
        "is_empty": guidelines.is_empty,
        "html": markdown_to_html(guidelines.text),
        "text": guidelines.text,
        "grades": dict(guidelines.grades),
        "author": guidelines.author,
        "created": guidelines.created,
    }
