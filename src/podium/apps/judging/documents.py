"""Documents as they are shown: sanitised HTML, text as HTML, or an image of this server."""

from __future__ import annotations

import html
import re
from functools import partial
from typing import Any

import nh3

from podium.apps.judging.images import ImageAddress, image_address
from podium.apps.judging.marking import mark
from podium.labelling.pools import PoolDocument

_TAG_NAMES = """
a abbr article aside b bdi bdo blockquote br caption cite code col colgroup dd del details dfn div dl dt em
figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark ol p pre q rp rt ruby s samp
section small span strong sub summary sup table tbody td tfoot th thead time tr u ul var wbr
"""
_TAGS = set(_TAG_NAMES.split())
# Neither class, id nor style: a document has no say in how the page around it looks or works.
_ATTRIBUTES = {
    "*": {"lang", "dir", "title"},
    "a": {"href"},
    "img": {"src", "alt", "width", "height"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
}
_GONE = {
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
_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n\s*")
_TAG = re.compile(r'<(?:"[^"]*"|[^">])*>')


def shown(
    document: PoolDocument, words: tuple[str, ...] = (), images: ImageAddress | None = None
) -> dict[str, Any]:
    """A document for the page: id, title, title_html, and html or image.

    Parameters
    ----------
    document
        Of a pool.
    words
        Of the query, which are marked.
    images
        Where an image of the document is on this server, if there are any.

    Examples
    --------
    >>> shown(PoolDocument("d1", "Sort <lists>", title="R&D"), ("sort",))
    {'id': 'd1', 'title': 'R&D', 'title_html': 'R&amp;D', 'html': '<p><mark>Sort</mark> &lt;lists&gt;</p>'}
    """
    title = mark(html.escape(document.title, quote=False), words)
    told: dict[str, Any] = {"id": document.id, "title": document.title, "title_html": title}
    if document.kind == "image":
        address = None if images is None else images(document.content)
        if address is not None:
            return told | {"image": address}
        return told | {"html": "<p>(This image cannot be shown.)</p>"}
    markup = document.content if document.kind == "html" else text_html(document.content)
    plain = sanitised(markup, None if images is None else image_address)
    return told | {"html": sanitised(mark(plain, words), images)}


def sanitised(markup: str, images: ImageAddress | None = None) -> str:
    """HTML without anything that could run, load from elsewhere, or look like the page itself.

    Examples
    --------
    >>> sanitised('<p onclick="x()">a<script>x()</script><b style="top: 0">b</b></p>')
    '<p>a<b>b</b></p>'
    """
    return nh3.clean(
        markup,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        clean_content_tags=_GONE,
        attribute_filter=partial(_attribute, images),
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


def _attribute(images: ImageAddress | None, tag: str, name: str, value: str) -> str | None:
    """The value of an attribute, or None if it goes."""
    if name == "src":
        return None if images is None else images(value)
    if name == "href":
        return value if value.lower().startswith(("http://", "https://", "mailto:")) else None
    return value


def text_html(text: str) -> str:
    """Text as paragraphs; single line ends stay.

    Examples
    --------
    >>> text_html("a < b\\nc\\n\\nd")
    '<p>a &lt; b<br>c</p><p>d</p>'
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    paragraphs = _PARAGRAPHS.split(lines) if lines else []
    return "".join(
        f"<p>{html.escape(part, quote=False).replace(chr(10), '<br>')}</p>" for part in paragraphs
    )


def characters(told: dict[str, Any]) -> int:
    """How much there is to read in a document as it is shown; a picture is worth 150 of them."""
    if "image" in told:
        return 150
    return len(told["title"]) + len(_TAG.sub("", told["html"]))
