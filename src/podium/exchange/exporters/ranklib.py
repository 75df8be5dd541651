"""RankLib's text: a linear regression, or trees between <ensemble> tags.

RankLib knows features by their numbers from 1 on, compares in float32, and takes 0 for a feature that
a document lacks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from podium.errors import CannotExpressError, UsageError
from podium.exchange.exporters.engine_limits import (
    check_expressible,
    missing_note,
    shifts_and_divisors,
    single_form,
    to_float32,
    tree_for_at_most,
)
from podium.exchange.exporters.exported_model import ExportedModel
from podium.exchange.portable_model import PortableModel, WeightedSum
from podium.rankers.forest import Forest, Tree

MISSING_ADVICE = (
    "RankLib takes 0 for a feature that a document lacks, which gives a wrong score; "
    "write a value for every feature"
)


def export_ranklib(model: PortableModel, name: str) -> ExportedModel:
    """Export a model as ``-load`` reads it."""
    form, names = single_form(model, "RankLib"), model.names
    for feature in names:
        if not feature.isprintable():
            raise UsageError(
                f"{feature!r} is not a name of a feature in RankLib's comments, which are one line each"
            ).advise(
                python="rename it with feature_names", command_line="rename it with --feature-names"
            )
    if isinstance(form, WeightedSum):
        kind, body = "Linear Regression", [_weights(form)]
        notes: tuple[str, ...] = ()
    elif isinstance(form, Forest):
        check_expressible(form, names)
        kind, body = "LambdaMART", _trees(form)
        notes = missing_note(form, MISSING_ADVICE)
    else:
        raise CannotExpressError(
            f"RankLib reads weighted sums and trees from podium, but {model.ranker} is a network; "
            "nearest: export it to onnx"
        )
    comments = [f"## Feature {j} = {feature}" for j, feature in enumerate(names, start=1)]
    content = "\n".join([f"## {kind}", *comments, *body]) + "\n"
    return ExportedModel("ranklib", kind, name, names, content, notes)


def _weights(form: WeightedSum) -> str:
    """Return w / b for each feature (x - a) / b after the constant - sum of w a / b, as 0:constant."""
    shift, divisor = np.array(shifts_and_divisors(form)).reshape(-1, 2).T
    weights = form.weights / divisor
    values = [-float(weights @ shift), *weights.tolist()]
    return " ".join(f"{j}:{value!r}" for j, value in enumerate(values))


def _trees(form: Forest) -> list[str]:
    trees = [line for i, tree in enumerate(form.trees, start=1) for line in _tree(i, tree)]
    return ["", "<ensemble>", *trees, "</ensemble>"]


def _tree(number: int, tree: Tree) -> Iterator[str]:
    """Yield the lines of a tree; every node is a <split> with two others in it, or an <output>."""
    tree, edges = tree_for_at_most(tree)

    def lines(at: int, position: str, indent: str) -> Iterator[str]:
        yield f"{indent}<split{position}>"
        inner = indent + "\t"
        if at < 0:
            yield f"{inner}<output> {to_float32(tree.value[~at], 'a leaf')!r} </output>"
        else:
            yield f"{inner}<feature> {int(tree.feature[at]) + 1} </feature>"
            yield f"{inner}<threshold> {edges[at]!r} </threshold>"
            yield from lines(int(tree.left[at]), ' pos="left"', inner)
            yield from lines(int(tree.right[at]), ' pos="right"', inner)
        yield f"{indent}</split>"

    yield f'\t<tree id="{number}" weight="1.0">'
    yield from lines(0 if len(tree.feature) else ~0, "", "\t\t")
    yield "\t</tree>"
