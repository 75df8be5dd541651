"""``podium serve``: models and rules over HTTP."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from podium.apps.cli import http_options
from podium.apps.cli.console import Json, fail, print_json, reports_errors

EXAMPLE = """Example: podium serve shop.podium news=news-7.podium --rules rules.yaml --events events.ndjson

The page at / is the playground: pick a query, change rules, watch the list move, copy rules.yaml.

POST /v1/rank, /v1/rank/batch, /v1/postrank, /v1/postrank/batch and /v1/events; GET /v1/models, /healthz,
/metrics and /openapi.json, which has all of them. A request names a model as NAME or NAME@VERSION; the first
serves those that name none. A version that is not given is the beginning of the file's SHA-256.

Files that change are read again, also at SIGHUP; one that is not valid changes nothing, and /healthz says
degraded and why. SIGTERM ends the service once all requests are answered."""


@reports_errors
def serve(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL...]",
            help="Model files: PATH, NAME=PATH or NAME@VERSION=PATH; none: rules alone.",
        ),
    ] = None,
    rules: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Rules, such as rules.yaml.")
    ] = None,
    docs: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="The fields of documents, with an id each: JSON lines (.jsonl), or a table (.csv, .tsv).",
        ),
    ] = None,
    samples: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="Queries for the playground: JSON lines, as podium rank reads them; the demo's without it.",
        ),
    ] = None,
    events: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="The NDJSON log that events are appended to."),
    ] = None,
    max_log: Annotated[
        int, typer.Option(min=0, help="MB after which the log is renamed and a new one begun; 0: never.")
    ] = 0,
    durability: Annotated[
        Literal["event", "batch", "off"],
        typer.Option(
            help="When events are synced to the disk: event, before the answer; batch, within 100 ms or "
            "1,000 events; off, when the system does."
        ),
    ] = "event",
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Processes that serve.")] = 1,
    token_file: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, envvar="PODIUM_TOKEN_FILE",
            help="A file with the token that requests must bring (Authorization: Bearer TOKEN).",
        ),
    ] = None,
    max_body: Annotated[int, typer.Option(min=1, help="MB of a request.")] = 16,
    seconds: Annotated[float, typer.Option(min=0.001, help="How long an answer may take.")] = 10.0,
    reload_seconds: Annotated[
        float, typer.Option(min=0, help="How often files are looked at; 0: only at SIGHUP.")
    ] = 1.0,
    drain_seconds: Annotated[
        float,
        typer.Option(min=0, help="How long idle connections stay open after the signal to stop."),
    ] = 1.0,
    allowed_host: http_options.AllowedHost = None,
    trusted_proxy: http_options.TrustedProxy = None,
    client_connections: http_options.ClientConnections = 2_000,
    client_requests: http_options.ClientRequests = 5_000.0,
    wrong_tries: http_options.WrongTries = 30,
    json: Json = False,
) -> None:  # fmt: skip
    """Serve models and rules over HTTP."""
    import logging

    from podium.apps.serving.app import make_service
    from podium.apps.serving.draining import listen, run_server
    from podium.apps.serving.settings import ServingSettings
    from podium.apps.serving.workers import run_workers

    logging.basicConfig(format="podium serve: %(message)s", level=logging.WARNING)
    access = http_options.access_settings(
        allowed_host, trusted_proxy, client_connections, client_requests, wrong_tries
    )
    settings = ServingSettings(
        models=tuple(models or ()), rules=_text(rules), docs=_text(docs), samples=_text(samples),
        events=_text(events), max_log=max_log * 10**6, durability=durability,
        token=_token(token_file), max_body=max_body * 10**6, seconds=seconds,
        reload_seconds=reload_seconds, drain_seconds=drain_seconds, access=access,
    )  # fmt: skip
    service = make_service(settings)  # also for workers: what is wrong with a file is told once
    if service.shelf.state.warning:
        logging.warning("%s", service.shelf.state.warning)
    try:
        sock = listen(host, port)
    except OSError as error:
        fail(f"cannot listen on {host} port {port}: {error.strerror or error}", 1)
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{sock.getsockname()[1]}"

    def ready() -> None:
        crew = f" with {workers} workers" if workers > 1 else ""
        if json:
            print_json({"url": url, "workers": workers})
        else:
            typer.echo(f"serving on {url}{crew}")
        sys.stdout.flush()

    if workers == 1:
        run_server(service, sock, ready)
        return
    del service  # workers have their own
    run_workers(settings, workers, sock, ready)


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _token(path: Path | None) -> str | None:
    return None if path is None else path.read_bytes().decode("ascii", "replace").strip()
