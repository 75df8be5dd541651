"""ONNX: float32 graphs from `features` [rows, features] to `score` [rows, 1]."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from podium.errors import require
from podium.exchange.forest import Forest, Tree
from podium.exchange.portable import Portable, WeightedSum
from podium.exchange.targets.content import (
    Exported,
    asking_upto,
    check_forest,
    divisor,
    scale_terms,
    singles,
)
from podium.rankers.mlp import Network

OPSET, TREES_OPSET, IR = 13, 3, 8
"""Old enough for runtimes of many years."""
_ACTIVATIONS = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid"}


def onnx(model: Portable, name: str) -> Exported:
    """For onnxruntime, Vespa, and whatever else evaluates ONNX."""
    library = require("onnx", "export", "exporting to ONNX")
    form, names = model.form, model.names
    graph = _Graph(library.helper)
    if isinstance(form, WeightedSum):
        kind = "linear"
        _linear(graph, form)
    elif isinstance(form, Forest):
        kind = "trees"
        check_forest(form, names, deepest=None)
        graph.nodes.append(_ensemble(library.helper, form))
    else:
        kind = "network"
        _network(graph, form)
    content = graph.serialised(library, model, name)
    return Exported("onnx", kind, name, names, content)


class _Graph:
    """Nodes in a row, each taking what the one before gives."""

    def __init__(self, helper: Any) -> None:
        self.helper = helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, kind: str, *constants: Any, **attributes: Any) -> None:
        """A node on the last one's output; constants are its further inputs."""
        names = []
        for values in constants:
            array = np.array(values, dtype=np.float32)
            names.append(f"c{len(self.constants)}")
            made = self.helper.make_tensor(names[-1], 1, array.shape, array.ravel().tolist())
            self.constants.append(made)
        before = f"h{len(self.nodes)}" if self.nodes else "features"
        after = f"h{len(self.nodes) + 1}"
        self.nodes.append(self.helper.make_node(kind, [before, *names], [after], **attributes))

    def serialised(self, library: Any, model: Portable, name: str) -> bytes:
        """The whole as a file."""
        helper, width = self.helper, len(model.names)
        self.nodes[-1].output[0] = "score"
        graph = helper.make_graph(
            self.nodes,
            name,
            [helper.make_tensor_value_info("features", 1, ["rows", width])],
            [helper.make_tensor_value_info("score", 1, ["rows", 1])],
            self.constants,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", TREES_OPSET)]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=IR, producer_name="podium")
        scaled = {} if model.scaled is None else {"scaled_by_query": model.scaled}
        about = {"features": json.dumps(list(model.names)), "ranker": model.ranker, **scaled}
        helper.set_model_props(made, about)
        library.checker.check_model(made)
        return bytes(made.SerializeToString(deterministic=True))


def _linear(graph: _Graph, form: WeightedSum) -> None:
    if any(form.normalizers):
        scales = scale_terms(form)
        _scaling(graph, np.array([a for a, _ in scales]), np.array([b for _, b in scales]))
    graph.add("MatMul", np.array(singles(form.weights, "a weight"))[:, None])


def _scaling(graph: _Graph, shift: Any, scale: Any) -> None:
    graph.add("Sub", singles(shift, "a mean"))
    graph.add("Div", [divisor(value, "a scale") for value in scale.tolist()])


def _network(graph: _Graph, form: Network) -> None:
    _scaling(graph, form.mean, form.scale)
    last = len(form.weights) - 1
    for i, (W, b) in enumerate(zip(form.weights, form.biases, strict=True)):
        matrix = np.array([singles(row, "a weight") for row in W])
        graph.add("Gemm", matrix, singles(b, "a bias"))
        if i != last:
            graph.add(_ACTIVATIONS[form.activation])


def _ensemble(helper: Any, form: Forest) -> Any:
    """All trees as columns; nodes first and leaves behind them, numbered within each tree."""
    columns: dict[str, list[Any]] = {}

    def put(**row: Any) -> None:
        for key, value in row.items():
            columns.setdefault(key, []).append(value)

    for number, tree in enumerate(form.trees):
        _put_tree(put, number, *asking_upto(tree))
    return helper.make_node(
        "TreeEnsembleRegressor",
        ["features"],
        ["score"],
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function="SUM",
        post_transform="NONE",
        **columns,
    )


def _put_tree(put: Any, number: int, tree: Tree, edges: list[float]) -> None:
    nodes, nan_left = len(tree.feature), tree.nan_left

    def place(child: int) -> int:
        return child if child >= 0 else nodes + ~child

    for at in range(nodes):
        put(
            nodes_treeids=number,
            nodes_nodeids=at,
            nodes_featureids=int(tree.feature[at]),
            nodes_modes="BRANCH_LEQ",
            nodes_values=edges[at],
            nodes_truenodeids=place(int(tree.left[at])),
            nodes_falsenodeids=place(int(tree.right[at])),
            nodes_missing_value_tracks_true=int(nan_left[at]),
            nodes_hitrates=1.0,
        )
    for leaf, value in enumerate(singles(tree.value, "a leaf")):
        put(
            nodes_treeids=number,
            nodes_nodeids=nodes + leaf,
            nodes_featureids=0,
            nodes_modes="LEAF",
            nodes_values=0.0,
            nodes_truenodeids=0,
            nodes_falsenodeids=0,
            nodes_missing_value_tracks_true=0,
            nodes_hitrates=1.0,
            target_treeids=number,
            target_nodeids=nodes + leaf,
            target_ids=0,
            target_weights=value,
        )
