"""Options of ``podium postrank``."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import ClusterOption, Force, Json, file_argument, file_option

RunFile = Annotated[Path, file_argument("RUN", "A TREC run.")]
Queries = Annotated[
    Path | None,
    file_option(
        "The texts of queries: one qid<TAB>text per line, JSON lines, or a table (.csv, .tsv, .parquet), "
        "with qid, query_id or search_id, and text, query or query_text."
    ),
]
Docs = Annotated[
    Path | None,
    file_option(
        "The fields of documents, with an id each: JSON lines (.jsonl), or a table (.csv, .tsv, "
        ".parquet)."
    ),
]
DocsDecimal = Annotated[
    str,
    typer.Option("--decimal", metavar="CHARACTER", help="The decimal mark in tables of --docs."),
]
DocsThousands = Annotated[
    str,
    typer.Option(
        "--thousands", metavar="CHARACTER", help="The mark between thousands in tables of --docs."
    ),
]
Today = Annotated[
    datetime | None,
    typer.Option(formats=["%Y-%m-%d"], help="The day for rules with dates; today by default."),
]

USUAL_CLASSES = "legal,stock,campaign"
"""Those of `podium.postranking.settings`, which would import NumPy for a help text."""
RuleClasses = Annotated[
    str,
    typer.Option(
        "--classes",
        help="The classes of rules, the strongest first: if hard rules conflict, the weaker class gives "
        "way before priorities count.",
    ),
]
ContextPairs = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="NAME=VALUE",
        help="What all requests carry, for rules with a condition, such as device=mobile; repeat it. "
        "time=2026-11-19T08:00:00+01:00 is their time.",
    ),
]


@dataclass(frozen=True)
class PostrankOptions:
    """Apply rules to the lists of a run.

    Example: podium postrank bm25.run --rules rules.yaml --docs docs.jsonl -o new.run

    Rules are YAML. podium rules list shows the kinds of rules, podium rules check finds errors in a
    file, and podium rules schema describes the format. Without --queries, rules for some queries
    are compared with query ids.

    The scores of the result are places counted from the end of each list: they keep the new order.
    With --explain Q1 the command shows one query instead: where its documents came from, where they
    went, and why.
    """

    run: RunFile
    rules: Annotated[Path, file_option("The rules, such as rules.yaml.")]
    queries: Queries = None
    docs: Docs = None
    decimal: DocsDecimal = "."
    thousands: DocsThousands = ""
    base: Annotated[
        str,
        typer.Option(
            help="How pairs of the original order count: uniform, or margin (by the run's scores)."
        ),
    ] = "uniform"
    prior: Annotated[
        float,
        typer.Option(
            help="The prior that keeps scores finite, multiplied by the length of the list."
        ),
    ] = 0.1
    pairs: Annotated[
        str,
        typer.Option(
            help="How ranks in rules count: without their document, or printed, as in the paper."
        ),
    ] = "without"
    scale: Annotated[
        str, typer.Option(help="Whether a weight counts for the rule, or for each pair.")
    ] = "rule"
    method: Annotated[
        str,
        typer.Option(
            help="How soft rules act: bradley-terry, paper, radical, moderate, conservative or "
            "proportional. mmr and xquad make lists diverse, and take hard rules only."
        ),
    ] = "bradley-terry"
    field: Annotated[
        str | None,
        typer.Option(help="For mmr and xquad: the field of --docs by which documents differ."),
    ] = None
    trade_off: Annotated[
        float | None, typer.Option(help="For mmr and xquad: lambda; 0.5 by default.", min=0, max=1)
    ] = None
    today: Today = None
    context: ContextPairs = None
    conflicts: Annotated[
        str,
        typer.Option(
            help="If hard rules contradict each other: error, or yield. The weaker class gives "
            "way, then the lower priority, then a pin to a hide, then the rule whose name sorts last."
        ),
    ] = "error"
    classes: RuleClasses = USUAL_CLASSES
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The run to write; stdout by default.")
    ] = None
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="QUERY", help="Explain one query instead, named by its id or its text."
        ),
    ] = None
    force: Force = False
    cluster: ClusterOption = None
    json: Json = False
