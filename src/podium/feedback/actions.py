"""What an action in a log means: the eight factors of CFBRS, and the names logs have for them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from podium.errors import UnknownNameError

FACTORS = (
    "clicks", "bookmarks", "dwell", "downloads", "shares", "ignored", "back", "closed",
)  # fmt: skip
"""mu_1..mu_8 of Definition 4: five positive, three negative; dwell in seconds."""

N_POSITIVE = 5

KINDS = (
    "impression", "hit", "click", "bookmark", "download", "share", "back", "view", "exit", "search",
)  # fmt: skip
"""What an event can be. ``hit`` is a document that a query record lists as found; ``search`` is known
and says nothing of a document. At equal times, what opens a document (click, view) comes before what
closes it (exit), unless it is open already: then it is closed and opened again."""

KIND = MappingProxyType({kind: code for code, kind in enumerate(KINDS)})

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
"""Action names -> kinds. UBI allows any name: give your own table, such as
``{**ACTIONS, "add_to_cart": "bookmark"}``. Names that are not in it are counted and left aside."""


def kind_codes(actions: Mapping[str, str]) -> dict[str, int]:
    """A table of actions with kinds as numbers; an unknown kind is an error.

    Examples
    --------
    >>> kind_codes({"like": "bookmark"})
    {'like': 3}
    """
    for kind in actions.values():
        if kind not in KIND or kind == "hit":
            raise UnknownNameError("kind of action", str(kind), [k for k in KINDS if k != "hit"])
    return {str(name): KIND[kind] for name, kind in actions.items()}
