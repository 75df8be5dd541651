"""``podium serve``: models and rules over HTTP."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import typer

from podium.apps.cli.inputs.postrank_inputs import read_classes
from podium.apps.cli.options.serve import ServeOptions
from podium.apps.cli.outputs.printing import print_json
from podium.apps.cli.servers.listening_port import listen_or_fail
from podium.apps.cli.servers.web_access import access_settings
from podium.apps.serving.app import make_service
from podium.apps.serving.server import run_server
from podium.apps.serving.settings import ServingSettings
from podium.apps.serving.workers import run_workers
from podium.errors import UsageError


def run_serve(options: ServeOptions) -> None:
    """Serve models and rules over HTTP."""
    if options.durability is not None and options.events is None:
        raise UsageError(
            "expected --durability together with --events, got no --events: without a log there is "
            "nothing to sync; give --events FILE, or leave --durability out"
        )
    logging.basicConfig(format="podium serve: %(message)s", level=logging.WARNING)
    settings = ServingSettings(
        models=tuple(options.models or ()), rules=_path_text(options.rules),
        docs=_path_text(options.docs), decimal=options.decimal, thousands=options.thousands,
        samples=_path_text(options.samples),
        events=_path_text(options.events), max_log=options.max_log * 10**6,
        durability=options.durability or "event", token=_read_token(options.token_file),
        max_body=options.max_body * 10**6, seconds=options.seconds,
        reload_seconds=options.reload_seconds, drain_seconds=options.drain_seconds,
        access=access_settings(options),
        experiment=_path_text(options.experiment), swap=options.swap,
        editors=_path_text(options.editors), classes=read_classes(options.classes),
    )  # fmt: skip
    service = make_service(settings)  # also for workers: an error in a file is reported once
    for warning in service.files.state.warnings:
        logging.warning("warning: %s", warning)
    sock = listen_or_fail(options.host, options.port)
    host = f"[{options.host}]" if ":" in options.host else options.host
    url = f"http://{host}:{sock.getsockname()[1]}"

    def ready() -> None:
        workers = f" with {options.workers} workers" if options.workers > 1 else ""
        if options.json:
            print_json({"url": url, "workers": options.workers})
        else:
            typer.echo(f"serving on {url}{workers}")
        sys.stdout.flush()

    if options.workers == 1:
        run_server(service, sock, ready)
        return
    del service  # workers have their own
    run_workers(settings, options.workers, sock, ready)


def _path_text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _read_token(path: Path | None) -> str | None:
    return None if path is None else path.read_bytes().decode("ascii", "replace").strip()
