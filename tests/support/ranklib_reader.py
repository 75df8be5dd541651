"""RankLib's models by RankLib's own rules, over an XML parser: nothing of podium reads them here."""

import re
from xml.etree import ElementTree

import numpy as np


def ranklib_scores(text, rows):
    """The scores of a model file: the mean of its ensembles, or a linear regression.

    RankLib keeps features in float32, takes 0 for one that a document lacks, and goes left where
    x <= threshold. A regression has its constant under 0.
    """
    x = np.nan_to_num(rows.astype(np.float32), nan=0.0, posinf=np.inf, neginf=-np.inf)
    bags = re.findall(r"<ensemble>.*?</ensemble>", text, re.DOTALL)
    if not bags:
        return _regression_scores(text, x)
    parsed = [ElementTree.fromstring(bag).findall("tree") for bag in bags]
    return np.array([np.mean([_score(trees, row) for trees in parsed]) for row in x])


def _score(trees, row):
    weights = [float(np.float32(tree.get("weight"))) for tree in trees]
    values = [_leaf(tree.find("split"), row) for tree in trees]
    return sum(weight * value for weight, value in zip(weights, values, strict=True))


def _leaf(split, row):
    while split.find("output") is None:
        feature = int(split.find("feature").text) - 1
        threshold = np.float32(split.find("threshold").text.replace("Infinity", "inf"))
        left, right = split.findall("split")
        split = left if row[feature] <= threshold else right
    return float(np.float32(split.find("output").text))


def _regression_scores(text, x):
    (line,) = (line for line in text.splitlines() if line and not line.startswith("##"))
    weights = {int(j): float(value) for j, value in (pair.split(":") for pair in line.split())}
    return weights[0] + sum(w * x[:, j - 1].astype(float) for j, w in weights.items() if j)
