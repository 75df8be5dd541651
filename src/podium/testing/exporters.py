"""The contract of an exporter: it writes a weighted sum, trees or a network for another program."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from podium.errors import CannotExpressError
from podium.exchange import ExportedModel
from podium.exchange.portable_model import PortableModel, make_portable
from podium.rankers import MLP, LambdaMART, ListNet, RankSVM
from podium.testing.contract import Contract, small_data
from podium.typing import Floats

Emulator = Callable[[ExportedModel, NDArray[np.float64]], Floats]


def check_exporter(
    exporter: Callable[[PortableModel, str], ExportedModel], emulate: Emulator | None = None
) -> None:
    """Check an exporter on each form of model.

    Parameters
    ----------
    exporter
        Takes a portable model and its name; raises a `CannotExpressError` for a form that the other
        program lacks.
    emulate
        Takes an export and rows of features, and returns the scores that the other program gives.

    Examples
    --------
    >>> from podium.exchange import EXPORTERS, emulate
    >>> check_exporter(EXPORTERS["json"], emulate)
    """
    contract = Contract(getattr(exporter, "__name__", "exporter"))
    data = small_data()
    trees = LambdaMART(trees=4, leaves=4, min_leaf=2, threads=1)
    expressed = 0
    for ranker in (RankSVM(), trees, ListNet(scorer=MLP(hidden=(3,)))):
        fitted = ranker.fit(data)
        form = make_portable(fitted)
        try:
            exported = exporter(form, "checked")
        except CannotExpressError:
            continue
        expressed += 1
        _check_export(contract, exported, form)
        again = exporter(form, "checked").content
        contract.require(again == exported.content, "the same model must give the same bytes")
        if emulate is not None:
            X = np.asarray(data.X, dtype=np.float32).astype(np.float64)
            expected = fitted.predict(data.with_features(X))
            tolerance = 1e-4 * max(1.0, float(np.abs(expected).max()))
            clause = f"the scores of {ranker.name} must be those of the model"
            contract.require_equal(emulate(exported, X), expected, clause, tolerance)
    contract.require(expressed > 0, "the exporter must support at least one form of model")


def _check_export(contract: Contract, exported: ExportedModel, form: PortableModel) -> None:
    contract.require(
        isinstance(exported, ExportedModel), "expected a podium.exchange.ExportedModel"
    )
    contract.require(exported.name == "checked", "the export must keep the model's name")
    contract.require(exported.features == form.names, "the export must name the model's features")
    contract.require(bool(exported.content), "the export must have content")
