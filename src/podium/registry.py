"""Every ranker by name, and model files back into rankers: the one place that knows them all."""

from __future__ import annotations

from collections import ChainMap
from typing import Any

from podium import ensemble, multitask, rankers
from podium.data.files import Path_
from podium.errors import UnknownNameError
from podium.plugins import Registry, subclasses_of
from podium.rankers import model_files
from podium.rankers.imported import Imported
from podium.rankers.models import Model
from podium.rankers.ranker import Ranker

_OWN = {**rankers.RANKERS, **ensemble.RANKERS, **multitask.RANKERS}
RANKERS: Registry[type[Ranker]] = Registry(
    "podium.rankers", _OWN, subclasses_of(Ranker), reserved=(Imported.name,)
)
"""Every ranker by name."""
MODELS: Registry[type[Model]] = Registry(
    "podium.models",
    {**model_files.MODELS, **ensemble.MODELS, **multitask.MODELS},
    subclasses_of(Model, "kind"),
)
"""Every kind of model, as model files name them."""
_IN_FILES = ChainMap[str, type[Ranker]]({Imported.name: Imported}, RANKERS)  # type: ignore[arg-type]
"""Imported models are in files, too, but nothing that is trained."""


def make_ranker(name: str, **parameters: Any) -> Ranker:
    """A ranker by name.

    Examples
    --------
    >>> make_ranker("ranksvm", C=0.1)
    RankSVM(C=0.1)
    """
    if name not in RANKERS:
        raise UnknownNameError("ranker", name, RANKERS)
    known = RANKERS[name]().get_params(deep=False)
    for parameter in parameters:
        if parameter not in known:
            raise RANKERS[name].unknown_parameter(parameter)
    return RANKERS[name](**parameters)


def load(path: Path_) -> Ranker:
    """Read a fitted ranker from a ``.podium`` file; nothing in the file is run.

    Examples
    --------
    >>> import tempfile
    >>> from podium.data import make_synthetic
    >>> data = make_synthetic(n_queries=20, seed=0)
    >>> ranker = make_ranker("ranksvm").fit(data)
    >>> path = f"{tempfile.mkdtemp()}/model.podium"
    >>> ranker.save(path)
    >>> bool((load(path).predict(data) == ranker.predict(data)).all())
    True
    """
    return model_files.load(path, _IN_FILES, MODELS)
