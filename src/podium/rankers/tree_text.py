"""LightGBM's text format: checked before LightGBM reads it, since it trusts what it reads."""

from __future__ import annotations

import math
import re

from podium.errors import ModelFileError

END = "end of trees\n"
DEEPEST = 4096
"""Levels a tree may have: LightGBM's contributions call themselves once a level."""

_OBJECTIVES = (None, "lambdarank", "rank_xendcg")
_WHOLE = re.compile(r"-?[0-9]{1,9}")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]{1,3})?")
_THRESHOLD = re.compile(rf"{_NUMBER.pattern}|inf")
"""LightGBM asks x <= inf to tell missing values from all others."""
_STATISTIC = re.compile(rf"{_NUMBER.pattern}|-?(nan|inf)")

# What the nodes and leaves of a tree say about its training. LightGBM ends the process where it
# cannot read one of them.
_OF_NODES = ("split_gain", "internal_value", "internal_weight", "internal_count")
_OF_LEAVES = ("leaf_weight", "leaf_count")


def trees_alone(text: str) -> str:
    """LightGBM's text without what follows the trees: settings, which say nothing about scores."""
    return text.partition(END)[0] + END


def check_trees(text: str, n_features: int) -> None:
    """Raise unless every tree's nodes point at features, nodes and leaves that exist.

    Examples
    --------
    >>> check_trees("tree\\nversion=v4\\nmax_feature_idx=0\\n\\nend of trees\\n", 2)
    Traceback (most recent call last):
    podium.errors.ModelFileError: expected a sound LightGBM model (2 features, got max_feature_idx=0)
    """
    body, end, rest = text.partition(END)
    if not (body.startswith("tree\nversion=v") and end and not rest):
        raise ModelFileError("expected a LightGBM model with all its trees, got something else")
    if not re.fullmatch(r"[\n -~]*", text):
        raise ModelFileError("expected plain text in a LightGBM model, got other characters")
    head, *blocks = body.split("\nTree=")
    try:
        _check_header(_fields(head.removeprefix("tree\n")), blocks, n_features)
    except (KeyError, ValueError) as error:
        raise ModelFileError(f"expected a sound LightGBM model ({error})") from None
    for number, block in enumerate(blocks):
        try:
            _check_tree(_fields(block.partition("\n")[2]), n_features)
        except (KeyError, ValueError) as error:
            raise ModelFileError(f"expected a sound tree {number} in the model ({error})") from None


def _fields(block: str) -> dict[str, str]:
    """Lines name=value, each name once: of two LightGBM might take the other one."""
    pairs = [line.partition("=") for line in block.rstrip("\n").split("\n")]
    fields = {name: value for name, _, value in pairs}
    if len(fields) != len(pairs) or not all(equals for _, equals, _ in pairs):
        raise ValueError("lines")
    return fields


def _check_header(header: dict[str, str], blocks: list[str], n_features: int) -> None:
    if header.get("max_feature_idx") != str(n_features - 1):
        raise ValueError(
            f"{n_features} features, got max_feature_idx={header.get('max_feature_idx')}"
        )
    if any(header[name] != "1" for name in ("num_class", "num_tree_per_iteration")):
        raise ValueError("one score a row")
    if any(len(header[name].split()) != n_features for name in ("feature_names", "feature_infos")):
        raise ValueError("one name a feature")
    if header.get("objective") not in _OBJECTIVES:
        raise ValueError("objective")
    sizes = header["tree_sizes"].split()
    if len(sizes) != len(blocks) or not blocks:
        raise ValueError(f"{len(sizes)} trees, one or more, got {len(blocks)}")
    # LightGBM jumps from tree to tree by these sizes, in bytes; the line break before the next
    # tree belongs to the one before it.
    for number, (size, block) in enumerate(zip(sizes, blocks, strict=True), start=1):
        length = len("Tree=") + len(block) + (number < len(blocks))
        if size != str(length):
            raise ValueError(f"a tree of {size} bytes, got {length}")


def _check_tree(tree: dict[str, str], n_features: int) -> None:
    if [tree[name] for name in ("num_cat", "is_linear")] != ["0", "0"]:
        raise ValueError("plain splits and leaves")
    (leaves,) = _whole(tree, "num_leaves", 1)
    nodes = leaves - 1
    if nodes < 1:
        raise ValueError("leaves")
    _words(tree["leaf_value"], _NUMBER, leaves, "leaf_value")
    _words(tree["threshold"], _THRESHOLD, nodes, "threshold")
    _words(tree["shrinkage"], _NUMBER, 1, "shrinkage")
    for names, n in ((_OF_NODES, nodes), (_OF_LEAVES, leaves)):
        for name in names:
            _words(tree[name], _STATISTIC, n, name)
    if not all(0 <= f < n_features for f in _whole(tree, "split_feature", nodes)):
        raise ValueError("features")
    if any(kind & 1 or kind < 0 for kind in _whole(tree, "decision_type", nodes)):
        raise ValueError("categories")
    left, right = _whole(tree, "left_child", nodes), _whole(tree, "right_child", nodes)
    # Every node but the root and every leaf has one parent, and parents come first: no circles.
    if sorted(left + right) != [*range(-leaves, 0), *range(1, nodes)]:
        raise ValueError("children")
    depth = [1] * nodes
    for node, children in enumerate(zip(left, right, strict=True)):
        for child in children:
            if 0 <= child <= node:
                raise ValueError("circles")
            if child > 0:
                depth[child] = depth[node] + 1
    if max(depth) > DEEPEST:
        raise ValueError(f"more than {DEEPEST} levels")


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
