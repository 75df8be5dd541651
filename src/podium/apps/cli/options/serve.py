"""Options of ``podium serve``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from podium.apps.cli.options import Json
from podium.apps.cli.options.postrank import (
    USUAL_CLASSES,
    DocsDecimal,
    DocsThousands,
    RuleClasses,
)
from podium.apps.cli.options.web_access import (
    AllowedHost,
    ClientConnections,
    ClientRequests,
    TrustedProxy,
    WrongTries,
)


@dataclass(frozen=True)
class ServeOptions:
    """Serve models and rules over HTTP.

    Example: podium serve shop.podium news=news-7.podium --rules rules.yaml --events events.ndjson

    The page at / is the playground: pick a query, change rules, watch the list move, copy
    rules.yaml.

    Programs use POST /v1/rank, /v1/rank/batch, /v1/postrank, /v1/postrank/batch and /v1/events, and
    GET /v1/models, /healthz, /metrics and /openapi.json, which describes all of them.

    A request names a model as NAME or NAME@VERSION. Without a name, the first model answers;
    without a version, the last one of that name. A model file that is given without a version gets
    the beginning of its SHA-256 as version.

    The service reads changed files again, and all files at SIGHUP. An invalid file changes nothing,
    and /healthz reports degraded and the reason. SIGTERM ends the service once all requests are
    answered.
    """

    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL...]",
            help="Model files: PATH, NAME=PATH or NAME@VERSION=PATH. Without a model, only rules "
            "are served.",
        ),
    ] = None
    rules: Annotated[
        Path | None,
        typer.Option(
            help="Rules, such as rules.yaml, or a folder of versions: the newest one is served."
        ),
    ] = None
    editors: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="People who may save rules from the page, such as editors.yaml; podium rules editor writes "
            "it. --rules is then a folder.",
        ),
    ] = None
    classes: RuleClasses = USUAL_CLASSES
    docs: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="The fields of documents, with an id each: JSON lines (.jsonl), or a table (.csv, .tsv, "
            ".parquet).",
        ),
    ] = None
    decimal: DocsDecimal = "."
    thousands: DocsThousands = ""
    samples: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="Queries for the playground: JSON lines, as podium rank reads them and podium predict -o "
            "samples.jsonl writes them; the demo's by default.",
        ),
    ] = None
    events: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="The NDJSON log that events are appended to."),
    ] = None
    max_log: Annotated[
        int,
        typer.Option(
            min=0,
            help="The size in MB at which the log is renamed and a new one begins; 0 means never.",
        ),
    ] = 0
    durability: Annotated[
        Literal["event", "batch", "off"] | None,
        typer.Option(
            help="When the events of --events are synced to the disk: event (the default), before the "
            "answer; batch, within 100 ms or 1,000 events; off, when the system does."
        ),
    ] = None
    experiment: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="An experiment, such as experiment.yaml: two of the models, interleaved or in an A/B test. "
            "Needs --events.",
        ),
    ] = None
    swap: Annotated[
        float,
        typer.Option(
            min=0,
            max=0.5,
            help="The probability that two neighbours of a list are exchanged, so that podium clicks can "
            "estimate propensities; 0.05 is usual. Needs --events.",
        ),
    ] = 0.0
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = (
        8000
    )
    workers: Annotated[int, typer.Option(min=1, max=256, help="How many processes serve.")] = 1
    token_file: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            envvar="PODIUM_TOKEN_FILE",
            help="A file with the token that requests must have (Authorization: Bearer TOKEN).",
        ),
    ] = None
    max_body: Annotated[int, typer.Option(min=1, help="The largest request in MB.")] = 16
    seconds: Annotated[
        float, typer.Option(min=0.001, help="How many seconds an answer may take.")
    ] = 10.0
    reload_seconds: Annotated[
        float,
        typer.Option(
            min=0, help="Check files for changes every so many seconds; 0 checks only at SIGHUP."
        ),
    ] = 1.0
    drain_seconds: Annotated[
        float,
        typer.Option(
            min=0, help="How many seconds idle connections stay open after the signal to stop."
        ),
    ] = 1.0
    allowed_host: AllowedHost = None
    trusted_proxy: TrustedProxy = None
    client_connections: ClientConnections = 2_000
    client_requests: ClientRequests = 5_000.0
    wrong_tries: WrongTries = 30
    json: Json = False
