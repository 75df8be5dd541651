"""The demo's corpus: the standard library as documents, everyday queries, and judgments."""

from podium.experiments.stdlib.document import Document
from podium.experiments.stdlib.library import documents
