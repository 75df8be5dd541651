"""ONNX: float32 graphs from `features` [rows, features] to `score` [rows, 1]."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from podium.errors import require
from podium.exchange.exporters.engine_limits import (
    check_expressible,
    float32_divisor,
    shifts_and_divisors,
    to_float32_list,
    tree_for_at_most,
)
from podium.exchange.exporters.exported_model import ExportedModel
from podium.exchange.portable_model import PortableModel, SumOfForms, WeightedSum
from podium.exchange.trees import Forest, Tree
from podium.rankers.mlp import Network

OPSET, TREES_OPSET, IR = 13, 3, 8
"""Old versions, which all current runtimes support."""
_ACTIVATIONS = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid"}


def export_onnx(model: PortableModel, name: str) -> ExportedModel:
    """Export a model for onnxruntime, Vespa, and other programs that evaluate ONNX."""
    library = require("onnx", "export", "exporting to ONNX")
    form, names = model.form, model.names
    graph = _Graph(library.helper)
    if isinstance(form, SumOfForms):
        kind, ends = "sum", []
        for term in form.terms:
            graph.last = "features"
            _add_form(graph, term, names)
            ends.append(graph.last)
        graph.add_sum(ends)
    else:
        kind = _add_form(graph, form, names)
    content = graph.serialise(library, model, name)
    return ExportedModel("onnx", kind, name, names, content)


def _add_form(graph: _Graph, form: WeightedSum | Forest | Network, names: tuple[str, ...]) -> str:
    """Add the nodes of a form, from the features to its scores; return its kind."""
    if isinstance(form, WeightedSum):
        _add_linear(graph, form)
        return "linear"
    if isinstance(form, Forest):
        check_expressible(form, names, max_depth=None)
        graph.append(_tree_ensemble(graph.helper, form))
        return "trees"
    _add_network(graph, form)
    return "network"


class _Graph:
    """Chains of nodes: each node takes the output `last`, the features at the start of a chain."""

    def __init__(self, helper: Any) -> None:
        self.helper = helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.last = "features"

    def add(self, kind: str, *constants: Any, **attributes: Any) -> None:
        """Add a node on the output of the last one; constants are its further inputs."""
        names = []
        for values in constants:
            array = np.array(values, dtype=np.float32)
            names.append(f"c{len(self.constants)}")
            tensor = self.helper.make_tensor(names[-1], 1, array.shape, array.ravel().tolist())
            self.constants.append(tensor)
        self.append(self.helper.make_node(kind, [self.last, *names], [""], **attributes))

    def add_sum(self, outputs: list[str]) -> None:
        """Add a node that sums the outputs of other nodes."""
        self.append(self.helper.make_node("Sum", outputs, [""]))

    def append(self, node: Any) -> None:
        """Add a node and name its output."""
        self.nodes.append(node)
        self.last = node.output[0] = f"h{len(self.nodes)}"

    def serialise(self, library: Any, model: PortableModel, name: str) -> bytes:
        """Return the content of the file."""
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
        file = helper.make_model(graph, opset_imports=opsets, ir_version=IR, producer_name="podium")
        scaled = {} if model.scaled is None else {"scaled_by_query": model.scaled}
        about = {"features": json.dumps(list(model.names)), "ranker": model.ranker, **scaled}
        helper.set_model_props(file, about)
        library.checker.check_model(file)
        return bytes(file.SerializeToString(deterministic=True))


def _add_linear(graph: _Graph, form: WeightedSum) -> None:
    if any(form.normalizers):
        scales = shifts_and_divisors(form)
        _add_scaling(graph, np.array([a for a, _ in scales]), np.array([b for _, b in scales]))
    graph.add("MatMul", np.array(to_float32_list(form.weights, "a weight"))[:, None])


def _add_scaling(graph: _Graph, shift: Any, scale: Any) -> None:
    graph.add("Sub", to_float32_list(shift, "a mean"))
    graph.add("Div", [float32_divisor(value, "a scale") for value in scale.tolist()])


def _add_network(graph: _Graph, form: Network) -> None:
    _add_scaling(graph, form.mean, form.scale)
    last = len(form.weights) - 1
    for i, (W, b) in enumerate(zip(form.weights, form.biases, strict=True)):
        matrix = np.array([to_float32_list(row, "a weight") for row in W])
        graph.add("Gemm", matrix, to_float32_list(b, "a bias"))
        if i != last:
            graph.add(_ACTIVATIONS[form.activation])


def _tree_ensemble(helper: Any, form: Forest) -> Any:
    """Return all trees as one ONNX node of columns; in each tree, nodes come before leaves."""
    columns: dict[str, list[Any]] = {}

    def add_row(**row: Any) -> None:
        for key, value in row.items():
            columns.setdefault(key, []).append(value)

    for number, tree in enumerate(form.trees):
        _add_tree(add_row, number, *tree_for_at_most(tree))
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


def _add_tree(add_row: Any, number: int, tree: Tree, edges: list[float]) -> None:
    nodes, nan_goes_left = len(tree.feature), tree.nan_goes_left

    def place(child: int) -> int:
        return child if child >= 0 else nodes + ~child

    for at in range(nodes):
        add_row(
            nodes_treeids=number,
            nodes_nodeids=at,
            nodes_featureids=int(tree.feature[at]),
            nodes_modes="BRANCH_LEQ",
            nodes_values=edges[at],
            nodes_truenodeids=place(int(tree.left[at])),
            nodes_falsenodeids=place(int(tree.right[at])),
            nodes_missing_value_tracks_true=int(nan_goes_left[at]),
            nodes_hitrates=1.0,
        )
    for leaf, value in enumerate(to_float32_list(tree.value, "a leaf")):
        add_row(
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
