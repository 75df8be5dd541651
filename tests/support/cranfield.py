"""The Cranfield collection as documents, queries and judgments."""

import lzma
import re

import numpy as np

from podium.data import Groups, Qrels, Strings
from podium.features import Document

FIELDS = {"T": "title", "A": "author", "B": "source", "W": "body"}


def _entries(path):
    """(number, fields by letter) of each entry."""
    text = lzma.decompress(path.read_bytes()).decode()
    for entry in re.split(r"^\.I ", text, flags=re.MULTILINE)[1:]:
        number, *parts = re.split(r"^\.([TABW])\n", entry, flags=re.MULTILINE)
        yield int(number), dict(zip(parts[::2], parts[1::2], strict=True))


def documents(folder):
    """The 1,400 abstracts; a body begins with its title, which is taken off."""
    for number, parts in _entries(folder / "cran.all.1400.xz"):
        fields = {name: " ".join(parts.get(k, "").split()) for k, name in FIELDS.items()}
        fields["body"] = fields["body"].removeprefix(fields["title"]).strip()
        yield Document(str(number), fields)


def queries(folder):
    """The 225 queries; judgments count them in their order."""
    entries = _entries(folder / "cran.qry.xz")
    return {str(place): parts["W"] for place, (_, parts) in enumerate(entries, start=1)}


def judgments(folder, unexplained=4):
    """Labels 4 (a complete answer, code 1) to 1 (of minimum interest, code 4).

    Every query has one document with the code -1, which the readme does not explain. It lists relevant
    documents only, and BM25 puts these first more often than those with code 1: so they get
    `unexplained`, the best label.
    """
    text = lzma.decompress((folder / "cranqrel.xz").read_bytes()).decode()
    labels = {}
    for line in text.splitlines():
        qid, docid, code = line.split()
        label = 5 - int(code) if int(code) > 0 else unexplained
        labels[qid, docid] = max(label, labels.get((qid, docid), 0))
    qids = np.array(list(dict.fromkeys(qid for qid, _ in labels)), dtype=object)
    sizes = [sum(q == qid for q, _ in labels) for qid in qids]
    return Qrels(
        qids,
        Groups.from_sizes(sizes),
        Strings.of(docid for _, docid in labels),
        np.array(list(labels.values()), dtype=np.float64),
    )
