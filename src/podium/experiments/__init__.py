"""Experiments: comparisons of rankers over folds, reports, checkpoints of long runs, figures, the demo."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(
    __name__, __file__
)  # the names stand in __init__.pyi
