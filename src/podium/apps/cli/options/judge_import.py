"""Options of ``podium judge import``."""

from dataclasses import dataclass

from podium.apps.cli.options import Json
from podium.apps.cli.options.judge import PlanOptions


@dataclass(frozen=True)
class JudgeImportOptions(PlanOptions):
    """Put queries, documents, assessors and tasks into a store, which is created if it is missing.

    Example: podium judge import judgments.db --pool pool.jsonl --assessors ann,bob --design overlap

    A pool is JSONL or a table with queries and documents, or a TREC run (--run) beside documents
    and queries.

    With assessors (--assessors, or an --assign file with the columns assessor, query and tool)
    tasks are made. --design all gives all queries to all assessors. crossover (or paper) is the
    paper's design: everybody uses both tools, on different queries. overlap gives every query to
    --overlap assessors.

    Settings that you leave out (--top, --strategy ...) are those of the store's tasks. Importing
    again adds what is new and changes nothing else. Without --pool or --run, the store's own
    queries go to more assessors.
    """

    json: Json = False
