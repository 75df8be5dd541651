"""Rankers with the preparation that a command line names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from podium.apps.cli.options import MissingChoice
from podium.apps.cli.options.preparation import PreparationOptions
from podium.data import RankingData
from podium.data.categories import Category
from podium.errors import DataError, UsageError
from podium.rankers import Prepared, Ranker, innermost_ranker
from podium.rankers.importance import feature_names_of
from podium.rankers.imported_ranker import ImportedRanker
from podium.rankers.preparation import Bounds
from podium.rankers.prepared_model import PreparedModel


def prepare_ranker(ranker: Ranker, options: PreparationOptions) -> Ranker:
    """Return the ranker with the preparation of the options; without any, the ranker itself."""
    log1p = tuple(name.strip() for name in (options.log1p or "").split(",") if name.strip())
    clip = parse_clip(options.clip)
    steps = (options.impute or "none") != "none", (options.scale or "none") != "none"
    if not any((*steps, options.indicators, log1p, clip)):
        return ranker
    prepared = Prepared(
        ranker, impute=options.impute or "none", indicators=options.indicators,
        scale=options.scale or "none", log1p=log1p, clip=clip or None,
    )  # fmt: skip
    prepared.check_settings()
    return prepared


def encode_categories(ranker: Ranker, data: RankingData) -> Ranker:
    """Return a ranker whose model makes numbers of the data's categories, if it has any.

    Raises if the data has missing values, which neither the ranker takes nor its preparation fills in.
    """
    if not ranker.accepts_missing and data.has_missing_values():
        raise DataError(
            f"the features have missing values (NaN), which {innermost_ranker(ranker).name} does not take; "
            "train with --impute median, or use lambdamart, which takes missing values"
        )
    if not data.categories or isinstance(ranker, Prepared | ImportedRanker):
        return ranker
    return Prepared(ranker, impute="none", scale="none")


def categories_of(ranker: Ranker) -> dict[str, Category]:
    """Return the features of a model that are words."""
    model = ranker.model_
    names = feature_names_of(ranker)
    return model.categories(names) if isinstance(model, PreparedModel) else {}


def unseen_words(ranker: Ranker, data: RankingData) -> list[str]:
    """Return a note for each category with words that the model was not trained on."""
    notes, trained = [], categories_of(ranker)
    for column, category in data.category_columns():
        name = data.names()[column]
        if name not in trained:
            continue
        is_new = np.array([word not in trained[name].words for word in category.words])
        places = data.X[:, column]
        is_word = places >= 0  # a missing value is NaN
        n_rows = int(is_new[places[is_word].astype(np.intp)].sum())
        if n_rows:
            example = category.words[int(np.argmax(is_new))]
            notes.append(
                f"{name}: {n_rows:,} of {len(data):,} documents have a word that was not in the training "
                f"data, such as {example!r:.80}"
            )
    return notes


def parse_clip(texts: Sequence[str] | None) -> dict[str, Bounds]:
    """Return the bounds by feature.

    Examples
    --------
    >>> parse_clip(["price=0:100", "age=:5.5"])
    {'price': (0.0, 100.0), 'age': (None, 5.5)}
    """
    clip: dict[str, Bounds] = {}
    for text in texts or ():
        name, equals, bounds = text.rpartition("=")
        low, colon, high = bounds.partition(":")
        try:
            values = _bound(low), _bound(high)
        except ValueError:
            values = None, None
        if not (name and equals and colon) or values == (None, None):
            raise UsageError(
                f"expected --clip NAME=LOW:HIGH, as in price=0:100, price=0: or price=:100, got "
                f"{text!r}"
            )
        if name in clip:
            raise UsageError(f"expected --clip {name} once, got it twice")
        clip[name] = values
    return clip


def _bound(text: str) -> float | None:
    return float(text) if text.strip() else None


def missing_for(missing: MissingChoice | None, *rankers: Ranker) -> MissingChoice:
    """Return what NULL means in data of these rankers: without --missing, a value that all may take."""
    takes = bool(rankers) and all(ranker.accepts_missing for ranker in rankers)
    return missing or ("nan" if takes else "error")


def with_scaling(data: RankingData, scaled: str | None) -> RankingData:
    """Return the data as if it were scaled so (--ignore-scaling)."""
    return data if data.scaled == scaled else replace(data, scaled=scaled)
