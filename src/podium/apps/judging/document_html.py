"""Documents on screen: sanitised HTML, text as HTML, or an image of this server."""

from __future__ import annotations

import html
import re
from functools import partial
from typing import Any

import nh3

from podium.apps.judging.highlighting import highlight
from podium.apps.judging.images import ImageAddress, image_address
from podium.labelling.pools import PoolDocument

IMAGE_CHARACTERS = 150
"""The number of characters that an image counts as for the reading time."""

_TAG_NAMES = """
a abbr article aside b bdi bdo blockquote br caption cite code col colgroup dd del details dfn div dl dt em
figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark ol p pre q rp rt ruby s samp
section small span strong sub summary sup table tbody td tfoot th thead time tr u ul var wbr
"""
_TAGS = set(_TAG_NAMES.split())
# Neither class, id nor style: a document cannot change how the page around it looks or works.
_ATTRIBUTES = {
    "*": {"lang", "dir", "title"},
    "a": {"href"},
    "img": {"src", "alt", "width", "height"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
}
_REMOVED_TAGS = {
    "script",
    "style",
    "template",
    "noscript",
    "title",
    "head",
    "iframe",
    "object",
    "svg",
    "math",
}
_PARAGRAPH_BREAK = re.compile(r"\n[^\S\n]*\n\s*")
_TAG = re.compile(r'<(?:"[^"]*"|[^">])*>')


def document_view(
    document: PoolDocument, words: tuple[str, ...] = (), images: ImageAddress | None = None
) -> dict[str, Any]:
    """Return a document for the page: id, title, title_html, and html or image.

    Parameters
    ----------
    document
        A document of a pool.
    words
        Words of the query to highlight.
    images
        Returns the address of an image on this server; None if there are no images.

    Examples
    --------
    >>> document_view(PoolDocument("d1", "Sort <lists>", title="R&D"), ("sort",))
    {'id': 'd1', 'title': 'R&D', 'title_html': 'R&amp;D', 'html': '<p><mark>Sort</mark> &lt;lists&gt;</p>'}
    """
    title = highlight(html.escape(document.title, quote=False), words)
    view: dict[str, Any] = {"id": document.id, "title": document.title, "title_html": title}
    if document.kind == "image":
        address = None if images is None else images(document.content)
        if address is not None:
            return view | {"image": address}
        return view | {"html": "<p>(This image cannot be shown.)</p>"}
    markup = document.content if document.kind == "html" else text_to_html(document.content)
    plain = sanitise(markup, None if images is None else image_address)
    return view | {"html": sanitise(highlight(plain, words), images)}


def sanitise(markup: str, images: ImageAddress | None = None) -> str:
    """Return HTML without scripts, foreign images, styles and anything that looks like the page itself.

    Examples
    --------
    >>> sanitise('<p onclick="x()">a<script>x()</script><b style="top: 0">b</b></p>')
    '<p>a<b>b</b></p>'
    """
    return nh3.clean(
        markup,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        clean_content_tags=_REMOVED_TAGS,
        attribute_filter=partial(_filter_attribute, images),
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


def _filter_attribute(images: ImageAddress | None, tag: str, name: str, value: str) -> str | None:
    """Return the value of an attribute, or None if the attribute is removed."""
    if name == "src":
        return None if images is None else images(value)
    if name == "href":
        return value if value.lower().startswith(("http://", "https://", "mailto:")) else None
    return value


def text_to_html(text: str) -> str:
    """Return text as HTML paragraphs; single line ends become <br>.

    Examples
    --------
    >>> text_to_html("a < b\\nc\\n\\nd")
    '<p>a &lt; b<br>c</p><p>d</p>'
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    paragraphs = _PARAGRAPH_BREAK.split(lines) if lines else []
    return "".join(
        f"<p>{html.escape(part, quote=False).replace(chr(10), '<br>')}</p>" for part in paragraphs
    )


def reading_length(view: dict[str, Any]) -> int:
    """Return how many characters there are to read in a document; an image counts as 150."""
    if "image" in view:
        return IMAGE_CHARACTERS
    return len(view["title"]) + len(_TAG.sub("", view["html"]))
