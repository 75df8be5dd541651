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
    return _load(name)
