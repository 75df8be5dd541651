"""Podium: top-k learning to rank. Who gets on the podium, and in which order.

Examples
--------
>>> import podium
>>> data = podium.make_synthetic(n_queries=50, seed=0)
>>> podium.evaluate(data, data.truth(data.X), "NDCG@10")["NDCG@10"].per_query.shape
(50,)
"""

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(
    __name__, __file__
)  # the names stand in __init__.pyi


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("podium-ltr")
    try:
        return _load(name)
    except AttributeError:
        if name.startswith("_"):
            raise
        raise AttributeError(f"podium has no {name!r}{_near_name(name)}", name=name) from None


def _near_name(name: str) -> str:
    """Return the nearest public name as a question, whatever its capitals; empty if none is near."""
    import difflib

    by_plain = {public.lower(): public for public in __all__}
    near = difflib.get_close_matches(name.lower().replace("_", ""), by_plain, 1)
    return f"; did you mean podium.{by_plain[near[0]]}?" if near else ""
