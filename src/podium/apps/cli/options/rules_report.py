"""Options of ``podium rules report``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import Json, data_argument, file_option
from podium.apps.cli.options.postrank import (
    USUAL_CLASSES,
    ContextPairs,
    Docs,
    DocsDecimal,
    DocsThousands,
    Queries,
    RuleClasses,
    Today,
)


@dataclass(frozen=True)
class RulesReportOptions:
    """Say what each rule costs: documents moved, quality, clicks and money lost or gained.

    Example: podium rules report rules.yaml --run bm25.run --judged qrels.txt --docs docs.jsonl --value price

    Each rule is taken away while the others stay. A figure is its mean with the rule minus its mean
    without, over the judged lists on which the rule acts, with a 95% interval. Without --judged the
    report only says which documents move.

    Expected clicks: users look at a place with the probability of --examination, and click by the
    document's label, as in ERR. --value is a field of --docs, such as the price or the margin: money
    per search. Documents without a judgment count as not clicked, so judge what rules bring in.

    With --log, queries are the texts of the log. A document's probability of a click is its clicks
    divided by how often users looked at its positions. Rules that were on while the log was
    written have already moved its lists, so log some lists without rules, or name a --run.

    The report ends with rules that never act, rules that work against each other, and rules that
    name what --docs does not have.
    """

    rules: Annotated[
        Path, data_argument("RULES", "Such as rules.yaml, or a folder of versions: the newest one.")
    ]
    run: Annotated[
        Path | None,
        file_option("A TREC run: the lists before the rules; those of --log by default."),
    ] = None
    log: Annotated[
        Path | None,
        file_option(
            "An event log: its lists, clicks and traffic take the place of the other files."
        ),
    ] = None
    judged: Annotated[
        Path | None,
        file_option("Labels of documents: TREC qrels, or ranking data with document ids."),
    ] = None
    queries: Queries = None
    docs: Docs = None
    decimal: DocsDecimal = "."
    thousands: DocsThousands = ""
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="The metric; NDCG at -k by default.")
    ] = None
    k: Annotated[int, typer.Option("-k", min=1, help="The number of first places that count.")] = 10
    value: Annotated[
        str | None, typer.Option(metavar="FIELD", help="The field of --docs with money.")
    ] = None
    examination: Annotated[
        Path | None,
        file_option(
            "Probabilities of a look at each place: the JSON of podium clicks propensity --json. "
            "The default is 1 / log2(place + 1)."
        ),
    ] = None
    traffic: Annotated[
        Path | None,
        file_option("How often each query is searched: qid<TAB>number; means are weighted by it."),
    ] = None
    context: ContextPairs = None
    classes: RuleClasses = USUAL_CLASSES
    today: Today = None
    json: Json = False
