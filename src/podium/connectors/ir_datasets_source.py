"""ir_datasets: queries, documents, judgments, runs and pools of its datasets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from podium.connectors.document_columns import qrels_of, run_of
from podium.data import Qrels, Run
from podium.errors import DataError, UsageError, require
from podium.features import Document
from podium.labelling import Pool, PoolDocument, PoolQuery

if TYPE_CHECKING:
    import ir_datasets
else:
    ir_datasets = require("ir_datasets", "ir-datasets", "a dataset of ir_datasets")


class DatasetSource:
    """The parts of a dataset of ir_datasets, as podium takes them.

    ir_datasets downloads what is read the first time, from where the dataset's owner keeps it.

    Parameters
    ----------
    dataset
        A name such as "vaswani", or a dataset of ``ir_datasets.load`` or ``ir_datasets.create_dataset``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> for name, text in {
    ...     "docs": "a\\tLift of wings.\\nb\\tHeat in slabs.\\n",
    ...     "queries": "1\\twings\\n", "qrels": "1 0 a 2\\n",
    ... }.items():
    ...     _ = (folder / name).write_text(text)
    >>> source = DatasetSource(
    ...     ir_datasets.create_dataset(folder / "docs", folder / "queries", folder / "qrels")
    ... )
    >>> source.queries(), source.qrels(), [document.id for document in source.documents()]
    ({'1': 'wings'}, Qrels(1 query, 1 document), ['a', 'b'])
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = ir_datasets.load(dataset) if isinstance(dataset, str) else dataset

    def __repr__(self) -> str:
        return f"DatasetSource({self._name!r})"

    @property
    def _name(self) -> str:
        name = getattr(self.dataset, "dataset_id", None)
        return str(name() if callable(name) else name or "a dataset")

    def queries(self) -> dict[str, str]:
        """Return the text of each query by its id: its title, if it has several fields."""
        self._require("queries")
        return {query.query_id: query.default_text() for query in self.dataset.queries_iter()}

    def qrels(self) -> Qrels:
        """Return the judgments."""
        self._require("qrels")
        rows = ((q.query_id, q.doc_id, q.relevance) for q in self.dataset.qrels_iter())
        return qrels_of(rows, f"the qrels of {self._name}")

    def run(self) -> Run:
        """Return the run that the dataset gives to re-rank."""
        self._require("scoreddocs")
        rows = ((d.query_id, d.doc_id, d.score) for d in self.dataset.scoreddocs_iter())
        return run_of(rows, f"the scored documents of {self._name}")

    def documents(self) -> Iterator[Document]:
        """Yield all documents with their fields of text, for ``Index.build``."""
        self._require("docs")
        for document in self.dataset.docs_iter():
            yield Document(document.doc_id, _text_fields(document))

    def pool(self, run: Run | Qrels | None = None, k: int | None = None) -> Pool:
        """Return a pool for assessors: queries with the texts of their documents.

        Parameters
        ----------
        run
            The documents of each query: a run, or qrels, which are judged again. None: the dataset's own run.
        k
            The number of documents per query, the best of the run; None: all.
        """
        self._require("docs")
        self._require("queries")
        lists = self.run() if run is None else run
        queries = {query.query_id: query for query in self.dataset.queries_iter()}
        if unknown := [qid for qid in lists.qids.tolist() if qid not in queries]:
            raise DataError(f"{self._name} has no query {unknown[0]!r:.80}, which the run names")
        chosen = _best(lists, k)
        store = self.dataset.docs_store()
        docids = [docid for own in chosen.values() for docid, _ in own]
        documents = store.get_many(docids)
        if lacking := [docid for docid in docids if docid not in documents]:
            raise DataError(f"{self._name} has no document {lacking[0]!r:.80}, which the run names")
        return Pool(tuple(_pool_query(queries[qid], own, documents) for qid, own in chosen.items()))

    def _require(self, part: str) -> None:
        if not getattr(self.dataset, f"has_{part}")():
            raise UsageError(
                f"{self._name} has no {part}; expected a dataset with them, such as one of its subsets"
            )


def _best(lists: Run | Qrels, k: int | None) -> dict[str, list[tuple[str, float]]]:
    """Return the documents and scores of each query, best first."""
    if k is not None and k < 1:
        raise UsageError(f"expected k of 1 or more, got {k}")
    docids, values = list(lists.docids), lists.values.tolist()
    order = lists.groups.order(lists.values).tolist()
    ranked = [(docids[row], values[row]) for row in order]
    slices = zip(lists.qids.tolist(), lists.groups.slices(), strict=True)
    return {qid: ranked[rows][:k] for qid, rows in slices}


def _pool_query(
    query: Any, chosen: list[tuple[str, float]], documents: Mapping[str, Any]
) -> PoolQuery:
    pool_documents = tuple(_pool_document(documents[docid], score) for docid, score in chosen)
    description = getattr(query, "description", "") or ""
    return PoolQuery(query.query_id, query.default_text(), description, pool_documents)


def _pool_document(document: Any, score: float) -> PoolDocument:
    fields = _text_fields(document)
    title = fields.pop("title", "")
    return PoolDocument(document.doc_id, "\n".join(fields.values()), title=title, score=score)


def _text_fields(document: Any) -> dict[str, str]:
    values = document._asdict()
    return {name: v for name, v in values.items() if isinstance(v, str) and name != "doc_id"}
