"""Parameters of rankers as JSON, for model files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from podium import losses
from podium.aggregation import AGGREGATORS, Aggregator, make_aggregator
from podium.errors import UsageError
from podium.losses import LOSSES, Loss
from podium.rankers.mlp import MLP
from podium.rankers.parameters import check_parameters
from podium.rankers.ranking_estimator import RankingEstimator
from podium.rankers.transformer_steps import (
    is_transformer,
    transformer_from_json,
    transformer_to_json,
)


def to_json(value: Any, name: str = "parameter") -> Any:
    """Return a parameter as JSON: a number, text, list, MLP, loss, aggregator, transformer or ranker."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {"mapping": {str(k): to_json(v, name) for k, v in value.items()}}
    if isinstance(value, list | tuple | np.ndarray):
        return [to_json(v, name) for v in value]
    if isinstance(value, MLP):
        return {"mlp": _fields(value)}
    if isinstance(value, Loss):
        return {"loss": value.spec()} if _is_registered(value) else value.name
    if isinstance(value, Aggregator) and AGGREGATORS.get(value.name) is type(value):
        return {"aggregator": value.name, "parameters": _fields(value)}
    if is_transformer(value):
        plain = transformer_to_json(value, name)
        return plain | {"parameters": {k: to_json(v, k) for k, v in plain["parameters"].items()}}
    if isinstance(value, RankingEstimator):
        return {"ranker": value.name, "parameters": parameters_to_json(value)}
    raise UsageError(
        f"a model file cannot hold {name}={value!r}; expected a number, text, "
        "list, MLP, loss, aggregator, transformer or ranker"
    )


def _is_registered(loss: Loss) -> bool:
    """Whether a loss and its parts are registered. Other losses are code: files keep only their names."""
    if LOSSES.get(loss.name) is not type(loss) or not dataclasses.is_dataclass(loss):
        return False
    parts = (getattr(loss, f.name) for f in dataclasses.fields(loss))
    return all(_is_registered(part) for part in parts if isinstance(part, Loss))


def _fields(value: Any) -> dict[str, Any]:
    return {f.name: to_json(getattr(value, f.name), f.name) for f in dataclasses.fields(value)}


def parameters_to_json(ranker: RankingEstimator) -> dict[str, Any]:
    """Return the parameters of a ranker as JSON, without those that change only the speed."""
    parameters = ranker.get_params(deep=False).items()
    return {n: to_json(v, n) for n, v in parameters if n not in ranker.machine_parameters}


def from_json(value: Any, rankers: Mapping[str, type[RankingEstimator]]) -> Any:
    """Return a parameter from JSON; `rankers` has the classes by name."""
    if isinstance(value, list):
        return tuple(from_json(v, rankers) for v in value)
    if not isinstance(value, dict):
        return value

    def fields_of(name: str) -> dict[str, Any]:
        return {k: from_json(v, rankers) for k, v in value[name].items()}

    if "mapping" in value:
        return fields_of("mapping")
    if "mlp" in value:
        scorer = MLP(**fields_of("mlp"))
        scorer.check()
        return scorer
    if "aggregator" in value:
        return make_aggregator(value["aggregator"], **fields_of("parameters"))
    if "transformer" in value:
        return transformer_from_json(value["transformer"], fields_of("parameters"))
    if "ranker" in value:
        ranker = rankers[value["ranker"]](**fields_of("parameters"))
        check_parameters(ranker, ranker.name)
        return ranker
    return losses.make(value["loss"])
