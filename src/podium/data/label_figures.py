"""Figures of labelled data: documents by label, a feature by label, labels by score."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from podium.counted_nouns import count_text
from podium.data.categories import Category
from podium.errors import DataError, UsageError
from podium.figure_style import BLUE, MUTED, plain_label, tidy_axes
from podium.typing import Floats, Ints

MAX_LABEL_GROUPS = 10
"""More different labels than this are drawn in groups of about the same size."""
MAX_WORDS_DRAWN = 12
"""More different words of a category than this are drawn as one bar."""
Z_95 = 1.959964
"""Standard errors on each side of a mean in a 95% interval."""


def label_groups(labels: Floats) -> tuple[Ints, list[str]]:
    """Return the number of each label's group, and the names of the groups, the lowest first.

    Examples
    --------
    >>> numbers, names = label_groups(np.array([2.0, 0.0, 2.0]))
    >>> numbers.tolist(), names
    ([1, 0, 1], ['0', '2'])
    """
    values, numbers = np.unique(labels, return_inverse=True)
    if len(values) <= MAX_LABEL_GROUPS:
        return numbers.reshape(-1).astype(np.int64), [f"{value:g}" for value in values]
    edges = np.unique(np.quantile(labels, np.linspace(0, 1, MAX_LABEL_GROUPS + 1)))
    bins = np.clip(np.searchsorted(edges, labels, side="right") - 1, 0, len(edges) - 2)
    return bins.astype(np.int64), [f"{a:.3g}–{b:.3g}" for a, b in pairwise(edges)]


def draw_labels(ax: Any, labels: Floats, n_queries: int) -> None:
    """Draw the number of documents with each label."""
    numbers, names = label_groups(labels)
    counts = np.bincount(numbers, minlength=len(names))
    bars = ax.bar(range(len(names)), counts, color=BLUE, width=0.7)
    shares = [f"{count:,}\n{count / len(labels):.1%}" for count in counts.tolist()]
    ax.bar_label(bars, shares, fontsize="small", padding=2)
    _name_groups(ax, names)
    ax.set_ylabel("documents")
    title = f"{count_text(len(labels), 'document')} of {count_text(n_queries, 'query')}"
    ax.set_title(title, fontsize="medium")
    ax.margins(y=0.18)


def draw_feature(ax: Any, values: Floats, labels: Floats, name: str) -> None:
    """Draw the distribution of a feature for each label: median, quartiles, 5% to 95%.

    Missing values are left out.
    """
    has_value = ~np.isnan(values)
    if not has_value.any():
        raise DataError(f"expected values of the feature {name!r}, got missing ones only")
    numbers, names = label_groups(labels)
    for x in range(len(names)):
        own = values[has_value & (numbers == x)]
        if len(own) == 0:
            continue
        low, first, median, third, high = np.quantile(own, [0.05, 0.25, 0.5, 0.75, 0.95])
        ax.plot([x, x], [low, high], color=MUTED, linewidth=1.2)
        ax.plot([x, x], [first, third], color=BLUE, linewidth=9, solid_capstyle="butt")
        ax.plot([x - 0.22, x + 0.22], [median, median], color="black", linewidth=1.6)
    _name_groups(ax, names)
    ax.set_ylabel(plain_label(name, 40))
    ax.set_title("median, quartiles, 5% to 95% of documents", fontsize="medium")


def draw_category(ax: Any, codes: Floats, labels: Floats, name: str, category: Category) -> None:
    """Draw how many documents have each word of a category, in bars that are divided by label."""
    numbers, names = label_groups(labels)
    rows_of_word = _rows_by_word(codes, category)
    bottom = np.zeros(len(rows_of_word))
    for group, label in enumerate(names):
        counts = np.array(
            [int((numbers[rows] == group).sum()) for rows in rows_of_word.values()], dtype=float
        )
        strength = 0.25 + 0.75 * (group + 1) / len(names)
        ax.bar(
            range(len(counts)),
            counts,
            bottom=bottom,
            color=BLUE,
            alpha=strength,
            label=label,
            width=0.7,
        )
        bottom += counts
    tidy_axes(ax)
    words = [plain_label(word, 20) for word in rows_of_word]
    is_long = max(map(len, words)) > 6 and len(words) > 5
    ax.set_xticks(range(len(words)), words, rotation=30 if is_long else 0)
    ax.set_xlabel(plain_label(name, 40))
    ax.set_ylabel("documents")
    # Above the bars: beside them it would lie outside of a figure that the caller made.
    ax.set_ylim(0, 1.25 * max(bottom.max(), 1.0))
    ax.legend(
        title="label", fontsize="small", frameon=False, loc="upper center",
        ncols=min(len(names), 8),
    )  # fmt: skip


def _rows_by_word(codes: Floats, category: Category) -> dict[str, Ints]:
    """Return the rows of each word: in its order, or the most frequent first; then others and missing."""
    n_words = len(category.words)
    counts = np.bincount(codes[codes >= 0].astype(np.int64), minlength=n_words)
    order = np.arange(n_words) if category.is_ordered else np.argsort(-counts, kind="stable")
    first, rest = order[:MAX_WORDS_DRAWN], order[MAX_WORDS_DRAWN:]
    rows = {category.words[code]: np.flatnonzero(codes == code) for code in first.tolist()}
    if len(rest):
        rows[f"{len(rest):,} others"] = np.flatnonzero(np.isin(codes, rest))
    if np.isnan(codes).any():
        rows["(missing)"] = np.flatnonzero(np.isnan(codes))
    return rows


def draw_calibration(ax: Any, scores: Floats, labels: Floats, bins: int) -> None:
    """Draw the mean label of documents with about the same score, with 95% intervals."""
    if bins < 2:
        raise UsageError(f"expected 2 bins or more, got {bins!r}")
    order = np.argsort(scores, kind="stable")
    # Cut between different scores only: the order of equal ones says nothing.
    changes = np.append(np.flatnonzero(np.diff(scores[order])) + 1, len(order))
    even_cuts = np.linspace(0, len(order), min(bins, len(order)) + 1)[1:-1]
    cuts = np.unique(changes[np.searchsorted(changes, even_cuts)])
    parts = [part for part in np.split(order, cuts) if len(part)]
    x = [float(scores[part].mean()) for part in parts]
    mean = np.array([labels[part].mean() for part in parts])
    error = np.array(
        [Z_95 * labels[part].std(ddof=len(part) > 1) / len(part) ** 0.5 for part in parts]
    )
    ax.fill_between(x, mean - error, mean + error, color=BLUE, alpha=0.18, linewidth=0)
    ax.plot(x, mean, "o-", color=BLUE, markersize=4)
    ax.axhline(float(labels.mean()), color=MUTED, linestyle="--", linewidth=1)
    ax.annotate(
        "mean of all documents", (0.01, float(labels.mean())), ha="left", va="bottom",
        xycoords=("axes fraction", "data"), fontsize="small", color="#666666",
    )  # fmt: skip
    tidy_axes(ax)
    ax.set_xlabel(f"score (mean of each of {len(parts)} parts of the documents)")
    ax.set_ylabel("mean label (95% interval)")


def _name_groups(ax: Any, names: list[str]) -> None:
    tidy_axes(ax)
    ax.set_xticks(range(len(names)), names)
    if max(map(len, names)) > 6 and len(names) > 5:
        ax.tick_params(axis="x", labelsize="x-small", rotation=30)
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.set_xlabel("label")
