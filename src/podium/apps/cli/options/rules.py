"""Options of ``podium rules``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from podium.apps.cli.options import Json, file_argument, file_option
from podium.apps.cli.options.postrank import Docs, DocsDecimal, DocsThousands, Queries, Today


@dataclass(frozen=True)
class RulesListOptions:
    """List the kinds of rules and the keys of each.

    Example: podium rules list
    """

    json: Json = False


@dataclass(frozen=True)
class RulesSchemaOptions:
    """Print the JSON Schema of rule files, for editors; --json changes nothing.

    Example: podium rules schema > rules.schema.json
    """

    json: Json = False


@dataclass(frozen=True)
class RulesCheckOptions:
    """Find errors in a rule file before it is served.

    Example: podium rules check rules.yaml --run bm25.run --queries queries.tsv --docs docs.jsonl

    Errors (exit code 1) are a wrong form, documents or fields that --docs does not have, and hard
    rules with which `podium serve` does not start. Such rules name documents by id, and contradict
    each other on every list that has these documents.

    Warnings (exit code 0) are rules that never act, rules that contradict each other, the same rule
    twice, pinned documents that another rule hides, and fields that a rule compares with another
    type: in_stock == "false", if --docs has true and false. Hard rules are also a warning if one of
    them gives way: its priority is the lowest, or they clash only on a list of --run.
    """

    rules: Annotated[Path, file_argument("RULES", "Such as rules.yaml.")]
    run: Annotated[Path | None, file_option("A TREC run: the lists the rules are for.")] = None
    queries: Queries = None
    docs: Docs = None
    decimal: DocsDecimal = "."
    thousands: DocsThousands = ""
    today: Today = None
    json: Json = False
