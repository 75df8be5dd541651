"""The server of the judging web app, and the personal links that it prints."""

from __future__ import annotations

import gc
import math
import signal
import socket
import sys
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import typer

from podium.apps.cli.inputs.judging_plan import ADMIN
from podium.apps.cli.inputs.judgment_store import store_name
from podium.apps.cli.options.judge_demo import JudgeDemoOptions
from podium.apps.cli.options.judge_serve import JudgeServeOptions
from podium.apps.cli.outputs.printing import print_json, print_notes, printable
from podium.apps.cli.servers.listening_port import listen_or_fail
from podium.apps.cli.servers.store_lock import lock_store
from podium.apps.http.connections import uvicorn_config
from podium.apps.http.draining import ClosingConnections, DrainingServer
from podium.apps.judging import JudgingSettings, Links, make_app
from podium.apps.judging.secret_files import secret_of
from podium.errors import UsageError
from podium.labelling.store import Store, StoreMember

ASSESSOR = "assessor"
"""The name of the assessor if the command line names none."""
STORE_TIMEOUT_SECONDS = 2.0
"""How long a write waits for the store. It is short: pages try again, and a waiting thread blocks others."""


DRAIN_SECONDS = 1.0
"""How long connections stay open at the end, for judgments that are on their way."""


def add_admin(store: Store) -> None:
    """Add the admin to the members of a store that has none."""
    roles = {member.id: member.role for member in store.members()}
    if "admin" in roles.values():
        return
    if ADMIN in roles:
        raise UsageError(f"expected assessors with other names than {ADMIN!r}, got one")
    store.add_members([StoreMember(ADMIN, role="admin")])


def serve_store(
    store: Store, name: str, settings: JudgingSettings, options: JudgeServeOptions | JudgeDemoOptions, *,
    lifetime: timedelta, secret_file: Path | None = None, notes: Sequence[str] = (),
    opens_browser: bool = False,
) -> None:  # fmt: skip
    """Listen, print the links, and serve until stopped."""
    secret = secret_of(name, secret_file)
    links = Links(secret)
    app = ClosingConnections(make_app(store, secret=secret, settings=settings))
    with (
        listen_or_fail(options.host, options.port) as listener,
        _serve_alone(name, settings, listener) as base_url,
    ):
        first_link = print_links(
            store, links, base_url, lifetime, options.json, store_name(name), notes, serves=True
        )
        if opens_browser and first_link:
            webbrowser.open(first_link)
        seconds = math.ceil(DRAIN_SECONDS + settings.body_seconds)
        config = uvicorn_config(app, access=settings.access, timeout_graceful_shutdown=seconds)
        # Without this, the collector would walk over all modules again and again while people wait: a
        # tenth of a second each time. The objects that exist now stay anyway.
        gc.collect()
        gc.freeze()
        with _exit_on_sigterm():
            DrainingServer(config, DRAIN_SECONDS, on_drain=app.drain).run(sockets=[listener])


@contextmanager
def _serve_alone(store: str, settings: JudgingSettings, listener: socket.socket) -> Iterator[str]:
    """Lock the store while it is served; yield where browsers find the server."""
    base_url = settings.base_url or _address(listener)
    with lock_store(store, base_url):
        yield base_url


@contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the command as an exception does, so that temporary files are removed."""
    previous = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def print_links(
    store: Store, links: Links, base_url: str, lifetime: timedelta, json: bool, store_text: str,
    notes: Sequence[str] = (), *, serves: bool = False,
) -> str | None:  # fmt: skip
    """Print the link of each member on a line of its own; return the first assessor's."""
    members = [member for member in store.members() if not member.is_machine]
    urls = {m.id: links.url(base_url, m.id, m.role, lifetime, m.generation) for m in members}
    if json:
        rows = [{"member": m.id, "role": m.role, "link": urls[m.id]} for m in members]
        print_json({"url": base_url, "store": store_text, "links": rows, "notes": list(notes)})
    else:
        # Not a table: a link that is broken over two lines cannot be copied.
        names = {
            m.id: m.id if m.role == "assessor" or m.id == ADMIN else f"{m.id} (admin)"
            for m in members
        }
        width = max(map(len, names.values()))
        typer.echo(printable(f"Judging: {store_text}, personal links"))
        for member in members:
            typer.echo(printable(f"{names[member.id]:<{width}}  {urls[member.id]}"))
        if serves:
            typer.echo(f"Serving at {base_url}: open a link in a browser. Ctrl-C stops the server.")
        print_notes(notes)
    sys.stdout.flush()
    return next((urls[m.id] for m in members if m.role == "assessor"), None)
