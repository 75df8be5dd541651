"""Merged trees: the trees of several models as one sum of trees, in LightGBM's text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from podium.rankers.lightgbm_checks import END_OF_TREES
from podium.rankers.tree_model import Trees


@dataclass(frozen=True, eq=False)
class WeightedTrees:
    """A tree model and what becomes of it in a sum.

    Parameters
    ----------
    model
        The trees.
    factor
        The factor of every leaf.
    columns
        Feature j of the trees is feature columns[j] of the sum; None: feature j.
    share
        The sum of the gains of all splits; None keeps the gains.
    """

    model: Trees
    factor: float
    columns: Sequence[int] | None = None
    share: float | None = None


def merge_trees(terms: Sequence[WeightedTrees], width: int) -> Trees:
    """Return sum_m factor_m s_m(x) as one tree model over `width` features.

    The trees keep their order, and the kernel scores them in one pass.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.data import make_synthetic
    >>> from podium.rankers import LambdaMART
    >>> data = make_synthetic(n_queries=30, n_features=3, seed=0)
    >>> model = LambdaMART(trees=3, threads=1).fit(data).model_
    >>> merged = merge_trees([WeightedTrees(model, 0.5), WeightedTrees(model, 1.5)], 3)
    >>> bool(np.allclose(merged.predict(data.X), 2 * model.predict(data.X)))
    True
    """
    trees = [tree for term in terms for tree in _rewrite(term)]
    return Trees(join_trees(trees, width), width)


def join_trees(trees: Sequence[str], width: int, names: Sequence[str] | None = None) -> str:
    """Return LightGBM's text of trees; each tree is a text of lines name=value.

    Features are called Column_0, ... if they have no `names`.

    Examples
    --------
    >>> join_trees(["num_leaves=2", "num_leaves=3"], 1).splitlines()[-9:]
    ['Tree=0', 'num_leaves=2', '', '', 'Tree=1', 'num_leaves=3', '', '', 'end of trees']
    """
    blocks = [f"Tree={i}\n{tree}\n\n\n" for i, tree in enumerate(trees)]
    header = {
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": width - 1,
        "feature_names": " ".join(names or (f"Column_{j}" for j in range(width))),
        "feature_infos": " ".join("none" for _ in range(width)),
        "tree_sizes": " ".join(str(len(block)) for block in blocks),
    }
    head = "".join(f"{name}={value}\n" for name, value in header.items())
    return f"tree\n{head}\n{''.join(blocks)}{END_OF_TREES}"


def _rewrite(term: WeightedTrees) -> list[str]:
    """Return the lines of each tree, with the leaves, gains and features of the sum."""
    body = term.model.text.removesuffix(END_OF_TREES)
    trees = [block.partition("\n")[2].strip("\n") for block in body.split("\nTree=")[1:]]
    gain_factor = 1.0
    if term.share is not None and (total := _total_gain(trees)) > 0:
        gain_factor = term.share / total
    columns = range(term.model.width) if term.columns is None else term.columns
    rewritten: dict[str, Callable[[str], str]] = {
        "leaf_value": lambda word: repr(float(word) * term.factor),
        "internal_value": lambda word: repr(float(word) * term.factor),
        "shrinkage": lambda word: repr(float(word) * term.factor),
        "split_gain": lambda word: repr(float(word) * gain_factor),
        "split_feature": lambda word: str(columns[int(word)]),
    }
    return [
        "\n".join(_rewrite_line(line, rewritten) for line in tree.split("\n")) for tree in trees
    ]


def _rewrite_line(line: str, rewritten: dict[str, Callable[[str], str]]) -> str:
    name, _, words = line.partition("=")
    if name not in rewritten:
        return line
    return f"{name}={' '.join(map(rewritten[name], words.split(' ')))}"


def _total_gain(trees: Sequence[str]) -> float:
    """Return the sum of the gains of all splits, as LightGBM counts importance."""
    rows = (line for tree in trees for line in tree.split("\n") if line.startswith("split_gain="))
    gains = (float(word) for row in rows for word in row.partition("=")[2].split(" "))
    return sum(gain for gain in gains if gain > 0)
