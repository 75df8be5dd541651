"""Options of ``podium rules``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from podium.apps.cli.options import Json, data_argument, file_option
from podium.apps.cli.options.postrank import (
    USUAL_CLASSES,
    Docs,
    DocsDecimal,
    DocsThousands,
    Queries,
    RuleClasses,
    Today,
)


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

    rules: Annotated[
        Path, data_argument("RULES", "Such as rules.yaml, or a folder of versions: the newest one.")
    ]
    run: Annotated[Path | None, file_option("A TREC run: the lists the rules are for.")] = None
    queries: Queries = None
    docs: Docs = None
    decimal: DocsDecimal = "."
    thousands: DocsThousands = ""
    today: Today = None
    classes: RuleClasses = USUAL_CLASSES
    json: Json = False


@dataclass(frozen=True)
class RulesEditorOptions:
    """Add a person who may save rules from the page.

    Example: podium rules editor editors.yaml "Ann Baker" --email ann@shop.example

    The token is printed once; the file has only its SHA-256. With --user, a reverse proxy signs the
    person in by this name, and there is no token.

    Start the service with podium serve --rules rules/ --editors editors.yaml. It reads a changed
    file within seconds; remove an entry to take the right away.
    """

    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", dir_okay=False, help="Such as editors.yaml; it may be new."),
    ]
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name in history and commits.")]
    email: Annotated[str, typer.Option(help="The address for commits.")] = ""
    user: Annotated[str, typer.Option(help="The user name that a reverse proxy sends.")] = ""
    json: Json = False
