"""The registry of all rankers and models by name, and the reader of model files."""

from __future__ import annotations

from collections import ChainMap
from typing import Any

from podium import ensemble, multitask, rankers
from podium.errors import UnknownNameError
from podium.plugins import Registry, subclasses_of
from podium.rankers import model_files
from podium.rankers.imported_ranker import ImportedRanker
from podium.rankers.models import Model
from podium.rankers.prepared import Prepared
from podium.rankers.ranker import Ranker
from podium.typing import Path_

_RANKERS_IN_FILES_ONLY: dict[str, type[Ranker]] = {
    ranker.name: ranker for ranker in (ImportedRanker, Prepared, ensemble.Bagged)
}
"""Imported, prepared and bagged rankers have no name to train by, but files have them."""
_OWN_RANKERS = {**rankers.RANKERS, **ensemble.RANKERS, **multitask.RANKERS}
RANKERS: Registry[type[Ranker]] = Registry(
    "podium.rankers",
    _OWN_RANKERS,
    subclasses_of(Ranker),
    reserved=tuple(_RANKERS_IN_FILES_ONLY),
)
"""Every ranker by name."""
MODELS: Registry[type[Model]] = Registry(
    "podium.models",
    {**rankers.MODELS, **ensemble.MODELS, **multitask.MODELS},
    subclasses_of(Model, "kind"),
)
"""Every model by the kind that model files name."""


def compared_rankers(*, with_extras: bool = False) -> list[str]:
    """Return the rankers that "all" means in a comparison.

    Rankers that search over others are left out, and without `with_extras` those that need an extra.

    Examples
    --------
    >>> names = compared_rankers()
    >>> "lambdamart" in names, "auto" in names, "catboost" in names
    (True, False, False)
    """
    return [
        name
        for name, ranker in RANKERS.items()
        if not ranker.is_search and (with_extras or ranker.extra is None)
    ]


RANKERS_IN_FILES = ChainMap[str, type[Ranker]](
    _RANKERS_IN_FILES_ONLY,
    RANKERS,  # type: ignore[arg-type]
)
"""Every ranker that a model file may name."""


_WORDS_BY_RANKER = {
    "lambdamart": "xgboost xgb lightgbm lgbm lambdarank gbdt gbm gbrt mart trees tree "
                  "random-forest forest rf boosting gradient-boosting",
    "catboost": "yetirank",
    "ranksvm": "svmrank svm-rank svm",
    "rankboost": "boost adaboost stumps",
    "regression": "linear ridge ols linear-regression pointwise",
    "ordinal": "logistic logistic-regression classification",
    "ranknet with scorer=mlp": "neural nn mlp dnn neural-network",
    "ranknet or ranksvm": "pairwise",
    "listnet or listmle": "listwise softmax",
    "toprank": "ensemble stacking voting",
}  # fmt: skip
FAMILIAR_NAMES = {word: name for name, words in _WORDS_BY_RANKER.items() for word in words.split()}
"""Names that people know from other tools, and the ranker here."""


def unknown_ranker(name: str) -> UnknownNameError:
    """Return the error for a name that is no ranker."""
    suggestion = FAMILIAR_NAMES.get(name.lower().replace("_", "-"), "")
    return UnknownNameError("ranker", name, RANKERS, suggestion=suggestion)


def make_ranker(name: str, **parameters: Any) -> Ranker:
    """Make a ranker by name.

    Examples
    --------
    >>> make_ranker("ranksvm", C=0.1)
    RankSVM(C=0.1)
    """
    if name not in RANKERS:
        raise unknown_ranker(name)
    own_parameters = RANKERS[name]().get_params(deep=False)
    for parameter in parameters:
        if parameter not in own_parameters:
            raise RANKERS[name].unknown_parameter(parameter)
    return RANKERS[name](**parameters)


def load(path: Path_) -> Ranker:
    """Read a fitted ranker from a ``.podium`` file; the file is data and runs no code.

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
    return model_files.load(path, RANKERS_IN_FILES, MODELS)
