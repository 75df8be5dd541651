"""Checks of LightGBM's text format of trees. LightGBM itself checks nothing when it reads it."""

from __future__ import annotations

import math
import re

from podium.errors import ModelFileError

END_OF_TREES = "end of trees\n"
MAX_TREE_LEVELS = 4096
"""The maximum number of levels of a tree: LightGBM's contributions recurse once per level."""

_OBJECTIVES = (None, "lambdarank", "rank_xendcg")
_WHOLE = re.compile(r"-?[0-9]{1,9}")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]{1,3})?")
_THRESHOLD = re.compile(rf"{_NUMBER.pattern}|inf")
"""LightGBM splits by x <= inf to separate missing values from all others."""
_STATISTIC = re.compile(rf"{_NUMBER.pattern}|-?(nan|inf)")

_HEADER_FIELDS = {
    "version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective",
    "feature_names", "monotone_constraints", "feature_infos", "tree_sizes",
}  # fmt: skip
"""The fields that LightGBM accepts; it refuses others only when it reads the trees to explain scores."""

# Statistics of the training on nodes and leaves. LightGBM ends the process if one is unreadable.
_NODE_STATISTICS = ("split_gain", "internal_value", "internal_weight", "internal_count")
_LEAF_STATISTICS = ("leaf_weight", "leaf_count")


def trees_alone(text: str) -> str:
    """Return LightGBM's text without the settings that follow the trees."""
    return text.partition(END_OF_TREES)[0] + END_OF_TREES


def check_trees(text: str, n_features: int) -> None:
    """Raise if a tree has a node that points at a feature, node or leaf that does not exist.

    Examples
    --------
    >>> check_trees("tree\\nversion=v4\\nmax_feature_idx=0\\n\\nend of trees\\n", 2)
    Traceback (most recent call last):
    podium.errors.ModelFileError: the LightGBM model is damaged: expected 2 features, got max_feature_idx=0
    """
    body, end, rest = text.partition(END_OF_TREES)
    if not (body.startswith("tree\nversion=v") and end and not rest):
        raise ModelFileError(
            "this is not a complete LightGBM model; expected the text that "
            "LightGBM's save_model writes"
        )
    if not re.fullmatch(r"[\n -~]*", text):
        raise ModelFileError(
            "the LightGBM model has characters outside ASCII; expected the "
            "plain text that save_model writes"
        )
    head, *blocks = body.split("\nTree=")
    try:
        _check_header(_fields(head.removeprefix("tree\n")), blocks, n_features)
    except (KeyError, ValueError) as error:
        raise ModelFileError(f"the LightGBM model is damaged: {error}") from None
    for number, block in enumerate(blocks):
        try:
            _check_tree(_fields(block.partition("\n")[2]), n_features)
        except (KeyError, ValueError) as error:
            raise ModelFileError(
                f"tree {number} of the LightGBM model is damaged: {error}"
            ) from None


def _fields(block: str) -> dict[str, str]:
    """Return the lines name=value; a name that occurs twice is an error."""
    pairs = [line.partition("=") for line in block.rstrip("\n").split("\n")]
    fields = {name: value for name, _, value in pairs}
    if len(fields) != len(pairs) or not all(equals for _, equals, _ in pairs):
        raise ValueError("expected lines of the form name=value, each name once")
    return fields


def _check_header(header: dict[str, str], blocks: list[str], n_features: int) -> None:
    if header.get("max_feature_idx") != str(n_features - 1):
        raise ValueError(
            f"expected {n_features} features, got max_feature_idx={header.get('max_feature_idx')}"
        )
    if unknown := sorted(header.keys() - _HEADER_FIELDS):
        raise ValueError(f"unknown field {unknown[0]!r:.40}")
    if any("=" in value for value in header.values()):
        raise ValueError("expected one sign = per line")
    _whole(header, "label_index", 1)
    if "monotone_constraints" in header:
        _whole(header, "monotone_constraints", n_features)
    if any(header[name] != "1" for name in ("num_class", "num_tree_per_iteration")):
        raise ValueError("expected one score per row")
    if any(len(header[name].split()) != n_features for name in ("feature_names", "feature_infos")):
        raise ValueError("expected one name per feature")
    if header.get("objective") not in _OBJECTIVES:
        raise ValueError(f"unknown objective {header.get('objective')!r:.40}")
    sizes = header["tree_sizes"].split()
    if len(sizes) != len(blocks) or not blocks:
        raise ValueError(f"expected {len(sizes)} trees (1 or more), got {len(blocks)}")
    # LightGBM jumps from tree to tree by these sizes, in bytes; the line break before the next
    # tree belongs to the one before it.
    for number, (size, block) in enumerate(zip(sizes, blocks, strict=True), start=1):
        length = len("Tree=") + len(block) + (number < len(blocks))
        if size != str(length):
            raise ValueError(f"expected a tree of {size} bytes, got {length}")


def _check_tree(tree: dict[str, str], n_features: int) -> None:
    if [tree[name] for name in ("num_cat", "is_linear")] != ["0", "0"]:
        raise ValueError("expected numeric splits and constant leaves")
    (leaves,) = _whole(tree, "num_leaves", 1)
    nodes = leaves - 1
    if nodes < 1:
        raise ValueError("expected 2 leaves or more")
    _words(tree["leaf_value"], _NUMBER, leaves, "leaf_value")
    _words(tree["threshold"], _THRESHOLD, nodes, "threshold")
    _words(tree["shrinkage"], _NUMBER, 1, "shrinkage")
    for names, n in ((_NODE_STATISTICS, nodes), (_LEAF_STATISTICS, leaves)):
        for name in names:
            _words(tree[name], _STATISTIC, n, name)
    for node, feature in enumerate(_whole(tree, "split_feature", nodes)):
        if not 0 <= feature < n_features:
            raise ValueError(
                f"expected features 0 to {n_features - 1}, got {feature} at node {node}"
            )
    if any(kind & 1 or kind < 0 for kind in _whole(tree, "decision_type", nodes)):
        raise ValueError("expected splits on numbers, got one on categories")
    left, right = _whole(tree, "left_child", nodes), _whole(tree, "right_child", nodes)
    # Every leaf and every node except the root has one parent, and parents come first: no cycles.
    if sorted(left + right) != [*range(-leaves, 0), *range(1, nodes)]:
        raise ValueError("expected one parent for each node and leaf")
    depth = [1] * nodes
    for node, children in enumerate(zip(left, right, strict=True)):
        for child in children:
            if 0 <= child <= node:
                raise ValueError(f"the tree has a cycle at node {node}")
            if child > 0:
                depth[child] = depth[node] + 1
    if max(depth) > MAX_TREE_LEVELS:
        raise ValueError(f"expected at most {MAX_TREE_LEVELS} levels, got {max(depth)}")


def _whole(tree: dict[str, str], name: str, n: int) -> list[int]:
    return [int(word) for word in _words(tree[name], _WHOLE, n, name)]


def _words(text: str, form: re.Pattern[str], n: int, name: str) -> list[str]:
    words = text.split(" ")
    if len(words) != n or not all(map(form.fullmatch, words)):
        raise ValueError(name)
    if form in (_NUMBER, _THRESHOLD) and any(_overflows(word) for word in words):
        raise ValueError(name)
    return words


def _overflows(word: str) -> bool:
    return word != "inf" and math.isinf(float(word))
