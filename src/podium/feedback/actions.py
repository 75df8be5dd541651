"""Actions: the names of clicks, bookmarks, views and other kinds of events in logs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from podium.errors import UnknownNameError

KINDS = (
    "impression", "hit", "click", "bookmark", "download", "share", "back", "view", "exit", "search",
)  # fmt: skip
"""The kinds of events. ``hit`` is a document that a query record lists; ``search`` is not about a
document and is ignored. At equal times, click and view come before exit, unless the document is
already open: then it is closed and opened again."""

KIND_CODES = MappingProxyType({kind: code for code, kind in enumerate(KINDS)})

ACTIONS = {
    "impression": "impression",
    "click": "click",
    "item_click": "click",
    "item_clicked": "click",
    "product_click": "click",
    "bookmark": "bookmark",
    "favorite": "bookmark",
    "favourite": "bookmark",
    "save": "bookmark",
    "add_to_wishlist": "bookmark",
    "download": "download",
    "share": "share",
    "view": "view",
    "watch": "view",
    "item_view": "view",
    "page_exit": "exit",
    "page_close": "exit",
    "item_close": "exit",
    "back": "back",
    "serp_return": "back",
    "search": "search",
    "on_search": "search",
    "view_search_results": "search",
}
"""Action names -> kinds. UBI allows any name: pass your own table, such as ``{**ACTIONS,
"add_to_cart": "bookmark"}``. Events with other names are counted but not used."""


def kind_codes(actions: Mapping[str, str]) -> dict[str, int]:
    """Return a table of actions with kinds as numbers; raise for an unknown kind.

    Examples
    --------
    >>> kind_codes({"like": "bookmark"})
    {'like': 3}
    """
    for kind in actions.values():
        if kind not in KIND_CODES or kind == "hit":
            raise UnknownNameError("kind of action", str(kind), [k for k in KINDS if k != "hit"])
    return {str(name): KIND_CODES[kind] for name, kind in actions.items()}
