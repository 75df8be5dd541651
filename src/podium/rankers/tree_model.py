"""Tree models: sums of regression trees, scored by a kernel and explained by LightGBM."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from podium import kernels
from podium.errors import ModelFileError, UsageError
from podium.optim import is_forked_child, openmp_after_fork
from podium.rankers.lightgbm_checks import check_trees
from podium.rankers.models import Model, Part, count, feature_rows
from podium.rankers.tree_arrays import TreeArrays, tree_arrays
from podium.typing import Floats

PARALLEL_VALUES = 4_000_000
"""The number of feature values above which more than one thread is faster."""


def lightgbm() -> Any:
    """Return LightGBM; if a system library is missing, raise an error that names it."""
    try:
        import lightgbm
    except OSError as error:
        raise UsageError(
            f"LightGBM cannot be loaded ({error}); install the system package libgomp1"
        ) from error
    if is_forked_child():
        # LightGBM remembers the number of threads of the parent's last call and would wait for
        # them. Any data set with another number changes that.
        lightgbm.Dataset(np.zeros((1, 1)), params={"num_threads": 1, "verbosity": -1}).construct()
    return lightgbm


@dataclass(frozen=True, eq=False)
class Trees(Model):
    """A sum of regression trees, as LightGBM's text (the trees alone)."""

    kind = "trees"
    text: str
    width: int

    @cached_property
    def arrays(self) -> TreeArrays:
        """The trees as the kernel walks them."""
        return tree_arrays(self.text)

    @cached_property
    def booster(self) -> Any:
        """The booster of LightGBM, which explains scores."""
        library = lightgbm()
        try:
            with openmp_after_fork():
                return library.Booster(model_str=self.text)
        except library.basic.LightGBMError as error:
            raise ModelFileError(
                f"LightGBM cannot read the trees of the model ({error})"
            ) from error

    @property
    def n_features(self) -> int:
        """The number of features of a row."""
        return self.width

    def predict(self, X: NDArray[Any]) -> Floats:
        """Return the sum of the trees' leaves: LightGBM's raw scores, to the bit."""
        return kernels.predict_trees(feature_rows(X, self.width), *self.arrays)

    def contributions(self, X: NDArray[Any]) -> Floats:
        """Return the Shapley value of each feature (LightGBM's TreeSHAP)."""
        with openmp_after_fork():
            shap = self.booster.predict(X, num_threads=thread_count(X.size), pred_contrib=True)
        return np.asarray(shap, dtype=np.float64)[:, : self.width]

    def importance(self) -> Floats:
        """Return the gain of all splits on each feature."""
        return np.asarray(self.booster.feature_importance("gain"), dtype=np.float64)

    def parts(self) -> dict[str, Part]:
        """Return LightGBM's text."""
        return {"trees": self.text, "width": np.array([self.width])}

    @classmethod
    def from_parts(cls, parts: dict[str, Part]) -> Self:
        """Build the model from LightGBM's text; check its trees first."""
        text, width = parts.get("trees"), count(parts, "width")
        if not isinstance(text, str):
            raise ModelFileError("the model file lacks the text of its trees")
        check_trees(text, width)
        return cls(text, width)


def thread_count(n_values: int) -> int:
    """Return LightGBM's number of threads: 0 (all cores) for large data, else 1, which is faster."""
    return 0 if n_values > PARALLEL_VALUES and not is_forked_child() else 1
