"""Input files, read with a progress bar: the one place where commands read ranking data."""

from __future__ import annotations

import difflib
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from podium.apps.cli.error_reports import warnings_in_one_line
from podium.apps.cli.inputs.data_folders import data_files_of, folder_advice
from podium.apps.cli.inputs.table_columns import columns_of, guesses_text, is_doubtful_label
from podium.apps.cli.options import MissingChoice
from podium.apps.cli.options.tables import TableOptions
from podium.apps.cli.outputs.printing import print_notes, stderr_console
from podium.data import (
    Collection,
    Columns,
    Fold,
    Qrels,
    RankingData,
    detect_format,
    open_collection,
    read_data,
    read_judgments,
)
from podium.data.categories import Category
from podium.data.collections.manifest import is_collection
from podium.data.duplicate_documents import (
    KEEP_FIRST_ON_COMMAND_LINE,
    settle_repeats,
)
from podium.data.free_memory import read_all_rows
from podium.data.large_labels import large_labels_advice
from podium.data.parquet_reader import is_podium_parquet
from podium.data.tables import is_table
from podium.data.text_files import COMPRESSIONS
from podium.errors import DataError, DuplicateDocumentWarning, UnknownNameError, UsageError
from podium.experiments.folds import fold_files, read_folder, read_folds
from podium.rankers import Ranker
from podium.rankers.collection_work import rankers_from_disk
from podium.typing import Matrix

IMPUTE_ADVICE = (
    "--impute median fills it in; lambdamart, catboost and auto take missing values as they are"
)
"""What to do about a missing value in the data of a ranker that learns."""


@contextmanager
def reading_bar(paths: Sequence[Path], total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar for reading files, once it has taken half a second.

    `total` is the number of bytes, if the size of the files does not tell it.
    """
    started = time.monotonic()
    if total is None and all(path.suffix not in COMPRESSIONS for path in paths):
        total = sum(path.stat().st_size for path in paths)
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    console = stderr_console()
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("reading", total=total)

    def advance(n_bytes: int) -> None:
        bar.advance(task, n_bytes)
        if console.is_terminal and not bar.live.is_started and time.monotonic() - started > 0.5:
            bar.start()

    try:
        yield advance
    finally:
        if bar.live.is_started:
            bar.stop()


class InputFiles:
    """Files of ranking data as one command reads them: with its options about columns.

    Parameters
    ----------
    missing
        What a missing value is: an error, or a value that is kept.
    options
        The options about the columns of tables.
    is_quiet
        Whether notes about guessed columns are left out, as with --json.
    learns
        Whether a ranker learns from the data: a doubtful guess of the label is an error then.
    ranker
        The one ranker that learns: it may read the rows of a collection from disk.
    maps_rows
        Whether the rows of a collection stay on disk, for work that needs them one block at a time.
    """

    def __init__(
        self,
        missing: MissingChoice,
        options: TableOptions | None = None,
        *,
        is_quiet: bool = False,
        learns: bool = False,
        ranker: Ranker | None = None,
        maps_rows: bool = False,
    ) -> None:
        self.ranker, self.maps_rows = ranker, maps_rows
        self.missing, self.is_quiet, self.learns = missing, is_quiet, learns
        self.named_columns = None if options is None else columns_of(options)
        self.resolved_columns: Columns | None = None
        self._query_option = (options or TableOptions).query_option
        self._scale = getattr(options, "scale", None)
        self._notes: set[str] = set()
        in_file = "keep" if self.named_columns is None else self.named_columns.repeated
        self.repeated = (options or TableOptions).repeated or in_file

    def read(
        self,
        paths: Sequence[Path],
        *,
        labelled: bool = True,
        features: Sequence[str] | None = None,
        categories: Mapping[str, Category] | None = None,
    ) -> RankingData:
        """Read several files as one set of ranking data, with a progress bar.

        `features` are those of the training data: they are picked by name from data that has names.
        `categories` are those of them that are words.
        """
        if any(path.is_dir() for path in paths):
            data = self._read_collection(paths)
            return pick_features(data, features)
        columns = self.named_columns
        if features is not None and all(is_table(path) for path in paths):
            columns = self._with_features(paths, features, categories or {})
        try:
            with self._reading(paths) as progress:
                data = read_data(
                    paths, missing=self.missing, labelled=labelled, columns=columns,
                    tell_columns=self.note_columns, progress=progress,
                )  # fmt: skip
        except UnknownNameError as error:
            if features is None or not {*error.name.split(", ")} <= {*features}:
                raise
            raise _lacking_features(error, paths) from None
        data = self._check_documents(data)
        return pick_features(data, features)

    def read_validation(self, paths: Sequence[Path], train: RankingData) -> RankingData:
        """Read validation data with the features of the training data; warn of queries in both."""
        valid = self.read(paths, features=train.feature_names, categories=train.categories)
        n_shared = len({*_query_contents(train)} & {*_query_contents(valid)})
        if n_shared:
            print_notes(
                [f"{n_shared:,} of {valid.n_queries:,} queries of --valid are training queries, too: the "
                 "validation metric is too good, and stopping by it does not work; hold other queries out "
                 "(podium data split)"],
                kind="warning",
            )  # fmt: skip
        return valid

    def _read_collection(self, paths: Sequence[Path]) -> RankingData:
        """Read the folder of a collection into memory, unless the ranker reads its rows from disk."""
        collection = self.open_collection(paths)
        with reading_bar(paths, collection.n_bytes) as progress:
            if self.maps_rows and self.repeated == "keep" and not _has_words(collection):
                data = collection.mapped(progress=progress)
            elif self.ranker is None or self.repeated != "keep":
                data = read_all_rows(
                    collection, "this command", rankers_from_disk(Ranker), progress=progress
                )
            else:
                data = self.ranker.open_rows(collection, progress)
            return self._check_documents(data)

    def blocks(
        self,
        paths: Sequence[Path],
        *,
        features: Sequence[str] | None = None,
        with_features: bool = True,
    ) -> Iterator[RankingData]:
        """Yield the documents of a collection block by block, with a progress bar."""
        collection = self.open_collection(paths)
        with reading_bar(paths, collection.n_bytes) as progress:
            for block in collection.blocks(with_features=with_features, progress=progress):
                yield pick_features(settle_repeats(block, self.repeated), features)

    def open_collection(self, paths: Sequence[Path]) -> Collection:
        """Open the folder of a collection; raise if there are other inputs, or options about columns."""
        folder = next(path for path in paths if path.is_dir())
        if not is_collection(folder):
            if not data_files_of(folder):
                raise UsageError(
                    f"expected files of ranking data, got the folder {folder}, which has none (.csv, "
                    ".parquet, .txt, ...)"
                )
            raise UsageError(
                f"expected files, or the folder of a collection; {folder_advice(folder)}"
            )
        collection = open_collection(folder)
        if len(paths) > 1:
            raise UsageError(
                f"expected one collection, got {folder} and other inputs; partition them into one "
                "collection: podium data partition IN... -o DIR"
            )
        if self.named_columns is not None:
            raise UsageError(
                f"the parts of {folder} say what their columns are; leave out the options about columns"
            )
        return collection

    def read_folds(self, folder: Path) -> list[Fold]:
        """Read the folds of a folder, with a progress bar."""
        with self._reading(fold_paths(folder)) as progress:
            folds = read_folds(
                folder, missing=self.missing, columns=self.named_columns,
                tell_columns=self.note_columns, progress=progress,
            )  # fmt: skip
        return [Fold(*map(self._check_documents, fold)) for fold in folds]

    def read_folder(self, folder: Path) -> RankingData:
        """Read all queries of a folder of folds as one data set, with a progress bar."""
        with self._reading(fold_paths(folder)) as progress:
            data = read_folder(
                folder, missing=self.missing, columns=self.named_columns,
                tell_columns=self.note_columns, progress=progress,
            )  # fmt: skip
        return self._check_documents(data)

    @contextmanager
    def _reading(self, paths: Sequence[Path]) -> Iterator[Callable[[int], None]]:
        with reading_bar(paths) as progress, self.warnings(), self.advice_on_missing():
            yield progress

    @contextmanager
    def warnings(self) -> Iterator[None]:
        """Print warnings of reading; repeated documents are left to `settle_repeats`, unless they stay."""
        with warnings_in_one_line(KEEP_FIRST_ON_COMMAND_LINE):
            if self.repeated != "keep":
                warnings.simplefilter("ignore", DuplicateDocumentWarning)
            yield

    def _check_documents(self, data: RankingData) -> RankingData:
        """Note large labels; return the data with repeated documents settled."""
        advice = large_labels_advice(data.y, data.topk)
        if advice is not None:
            self._note_once(advice)
        if data.scaled is not None and self._scale not in (None, "none"):
            self._note_once(
                f"the features are scaled by query already ({data.scaled}); --scale {self._scale} scales "
                "them again"
            )
        return self.settle_repeats(data)

    def settle_repeats(self, data: RankingData) -> RankingData:
        """Return the data without repeated documents, if --repeated says so; raise if it says error."""
        unique = settle_repeats(data, self.repeated)
        if len(unique) < len(data) and not self.is_quiet:
            repeats = len(data) - len(unique)
            print_notes([f"{repeats:,} of {len(data):,} rows repeat a document and are left out"])
        return unique

    @contextmanager
    def advice_on_missing(self) -> Iterator[None]:
        """Advise to fill missing values in, if a ranker is to learn: most rankers do not take them."""
        try:
            yield
        except DataError as error:
            if self.learns and error.command_line_advice.startswith("--missing nan"):
                error.advise(python=error.python_advice, command_line=IMPUTE_ADVICE)
            raise

    def read_judgments(self, path: Path) -> RankingData | Qrels:
        """Read labels to evaluate scores with: ranking data or TREC qrels."""
        if path.is_dir():
            return self._read_collection([path])
        with reading_bar([path]) as progress, self.warnings():
            judgments = read_judgments(
                path, missing=self.missing, columns=self.named_columns,
                tell_columns=self.note_columns, progress=progress,
            )  # fmt: skip
        return judgments if isinstance(judgments, Qrels) else self._check_documents(judgments)

    def _with_features(
        self, paths: Sequence[Path], features: Sequence[str], categories: Mapping[str, Category]
    ) -> Columns | None:
        """Columns with the features of a model; podium's own Parquet files know theirs."""
        columns = self.named_columns
        if columns is None and any(_is_own_parquet(path) for path in paths):
            return None
        columns = columns or Columns()
        if not columns.categories:
            forms = {name: category.form for name, category in categories.items()}
            columns = replace(columns, categories=forms)
        return columns if columns.features else replace(columns, features=tuple(features))

    def note_columns(self, path: str, columns: Columns) -> None:
        """Print what the columns of a table were taken as, once; raise if the label is in doubt."""
        self.resolved_columns = columns
        if self.learns and is_doubtful_label(columns):
            raise UsageError(
                f"{path}: expected a column named label, grade or relevance, got only {columns.label}, "
                f"which may be a feature; give --label {columns.label} if it is the label, or name the "
                "column of labels with --label COLUMN"
            )
        note = guesses_text(path, columns, self._query_option)
        if note is not None:
            self._note_once(note)

    def _note_once(self, note: str) -> None:
        if note not in self._notes and not self.is_quiet:
            self._notes.add(note)
            print_notes([note])


def _has_words(collection: Collection) -> bool:
    """Whether a collection has categories, whose words become numbers in memory."""
    return bool(collection.manifest.layout.categories)


def _query_contents(data: RankingData) -> list[tuple[str, int]]:
    """Return the id of each query with a number that the features of its documents decide."""
    sums = np.add.reduceat(data.feature_hashes(), data.groups.offsets[:-1])
    return list(zip(data.qids.tolist(), sums.tolist(), strict=True))


def fold_paths(folder: Path) -> list[Path]:
    """Return all files of a folder of folds."""
    parts = fold_files(folder)
    return [path for part in parts for path in (part if isinstance(part, tuple) else (part,))]


def _lacking_features(error: UnknownNameError, paths: Sequence[Path]) -> UsageError:
    """Return the error for a table without features of the training data."""
    lacking = error.name.split(", ")
    near = [difflib.get_close_matches(name, error.choices, 1) for name in lacking]
    renamed = [f"{names[0]} for {name}" for name, names in zip(lacking, near, strict=True) if names]
    hint = f"; is it {', '.join(renamed)}? Rename the column" if renamed else ""
    files = ", ".join(map(str, paths))
    return UsageError(
        f"{files}: the model needs feature{'s' * (len(lacking) > 1)} {', '.join(lacking)}; the table "
        f"has {', '.join(error.choices[:20])}{', ...' * (len(error.choices) > 20)}{hint}"
    )


def _is_own_parquet(path: Path) -> bool:
    return detect_format(path) == "parquet" and is_podium_parquet(path)


def pick_features(data: RankingData, features: Sequence[str] | None) -> RankingData:
    """Return the data with these features in this order, if it has their names."""
    names = data.feature_names
    if (
        features is None
        or names is None
        or tuple(names) == tuple(features)
        or not set(features) <= set(names)
    ):
        return data
    places = {name: j for j, name in enumerate(names)}
    X = cast(Matrix, np.take(data.X, [places[name] for name in features], axis=1))
    return replace(data, X=X, feature_names=tuple(features))
