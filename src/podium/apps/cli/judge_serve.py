"""``podium judge serve|links|demo``: the judging web app."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.apps.cli import http_options
from podium.apps.cli import judge_options as options
from podium.apps.cli.console import Json, print_json, printable, reports_errors
from podium.apps.cli.judge_campaign import ADMIN, Campaign, Wanted, campaign
from podium.apps.cli.judge_lock import served_at, serving
from podium.apps.cli.judge_options import open_store, print_notes, store_name, the_store

if TYPE_CHECKING:
    import socket

    from podium.apps.judging import JudgingSettings, Links
    from podium.labelling.store import Store

SERVE = """Example: podium judge serve --store judgments.db --pool pool.jsonl --assessors ann,bob --top 10

Prints a personal link for every assessor and one for the admin, then serves until it is stopped. A link opens
a page with a button that signs in. Whoever has a link can sign in, so send each to its owner alone.

--pool, --assessors, --design, --assign and the settings are those of podium judge import, which may have been
done before: a store that has tasks needs none of these, podium judge serve --store judgments.db.

To be reached from other machines give --host 0.0.0.0 and, behind a proxy that does https, --base-url
https://judge.example.org. The secret that signs links is made once and kept beside the store; with another
one old links are void."""

LINKS = """Example: podium judge links --store judgments.db --base-url https://judge.example.org --days 14

Makes new links for all members of a store, a line each; older ones work on until they end. Without --base-url
they lead to where the store is served now."""

DEMO = """Example: podium judge demo

Four queries of podium demo's corpus, Python's standard library, three by pairs and one by grades. The store
is a temporary one unless --store names a file."""

Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")]
BaseUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="Where browsers find the server, if elsewhere.")
]
Days = Annotated[float, typer.Option(min=0.01, help="How long links work.")]
Secret = Annotated[
    Path | None,
    typer.Option(
        dir_okay=False,
        help="The file with the secret that signs links; beside the store by default.",
    ),
]

ASSESSOR = "assessor"
_BUSY_SECONDS = 2.0  # a page asks again; a thread that waits for long is missing elsewhere


@reports_errors
def serve(
    store: options.StoreName = None,
    store_: options.StoreOption = None,
    pool: options.PoolFile = None,
    run: options.RunFile = None,
    documents: options.DocumentsFile = None,
    queries: options.QueriesFile = None,
    depth: options.Depth = None,
    sample: options.Sample = None,
    assessors: options.Assessors = None,
    assign: options.Assign = None,
    design: options.Design = None,
    tool: options.Tool = "preference",
    overlap: options.Overlap = 2,
    rounds: options.Rounds = None,
    top: options.Top = None,
    strategy: options.StrategyName = None,
    prior: options.Prior = None,
    ask_implied: options.AskImplied = None,
    grades: options.Grades = None,
    mix: options.Mix = False,
    images: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="The folder of documents that are images."),
    ] = None,
    repeats: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of questions asked again, sides swapped.")
    ] = 0.05,
    host: Host = "127.0.0.1",
    port: Port = 8400,
    base_url: BaseUrl = None,
    secret: Secret = None,
    days: Days = 60.0,
    allowed_host: http_options.AllowedHost = None,
    trusted_proxy: http_options.TrustedProxy = None,
    client_connections: http_options.ClientConnections = 2_000,
    client_requests: http_options.ClientRequests = 500.0,
    wrong_tries: http_options.WrongTries = 30,
    seed: options.DrawSeed = None,
    json: Json = False,
) -> None:
    """Serve the judging web app, and print a personal link for everybody."""
    from podium.apps.judging import JudgingSettings

    where = the_store(store, store_)
    access = http_options.access_settings(
        allowed_host, trusted_proxy, client_connections, client_requests, wrong_tries
    )
    settings = JudgingSettings(base_url=base_url, images=images, repeats=repeats, access=access)
    wanted = Wanted(
            pool=pool, run=run, documents=documents, queries=queries, depth=depth, sample=sample,
            assessors=assessors or (), assign=assign, design=design, tool=tool, overlap=overlap,
            rounds=rounds, top=top, strategy=strategy, prior=prior, ask_implied=ask_implied, grades=grades,
            mix=mix, seed=seed,
    )  # fmt: skip
    given = campaign(where, wanted, somebody=ASSESSOR)
    with open_store(where, make=given.pool is not None, timeout=_BUSY_SECONDS) as opened:
        given.add_to(opened)
        _add_admin(opened)
        notes = [*given.notes]
        if not opened.session_states():
            notes.append("the store has no tasks yet: name --pool and --assessors to make them")
        lifetime = timedelta(days=days)
        _run(opened, where, settings, secret, host, port, lifetime, json, notes=notes)


@reports_errors
def links(
    store: options.StoreName = None,
    store_: options.StoreOption = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where browsers find the server; where the store is served, or http://127.0.0.1:8400.",
        ),
    ] = None,
    secret: Secret = None,
    days: Days = 60.0,
    renew: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A member whose older links are to work no more."),
    ] = None,
    json: Json = False,
) -> None:
    """Print a new personal link for everybody in a store."""
    from podium.apps.judging import Links
    from podium.apps.judging.secret_files import secret_of
    from podium.apps.judging.settings import check_base_url

    where = the_store(store, store_)
    url = base_url or served_at(where) or "http://127.0.0.1:8400"
    check_base_url(url)
    with open_store(where) as opened:
        _add_admin(opened)
        opened.renew_links(renew or ())
        made = Links(secret_of(where, secret))
        _print_links(opened, made, url, timedelta(days=days), json, store_name(where))


@reports_errors
def demo(
    store: Annotated[
        str | None,
        typer.Option(metavar="STORE", help="A file for the judgments; a temporary one by default."),
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 8400,
    open_: Annotated[
        bool, typer.Option("--open", help="Open the assessor's link in the browser.")
    ] = False,
    json: Json = False,
) -> None:
    """Judge a ready pool in the browser: answers that Python's standard library has to everyday questions."""
    import tempfile

    from podium.apps.judging import JudgingSettings
    from podium.apps.judging.demo import TOP, demo_assignments, demo_pool
    from podium.labelling import make_tasks

    pool, plan = demo_pool(), demo_assignments(ASSESSOR)
    ready = Campaign(pool, (ASSESSOR,), tuple(make_tasks(plan, pool, k=TOP)), ())
    with tempfile.TemporaryDirectory(prefix="podium-judge-") as folder:
        where = store or str(Path(folder) / "judgments.db")
        with open_store(where, make=True, timeout=_BUSY_SECONDS) as opened:
            ready.add_to(opened)
            _add_admin(opened)
            lifetime = timedelta(days=1)
            _run(opened, where, JudgingSettings(), None, host, port, lifetime, json, open_)


def _add_admin(store: Store) -> None:
    from podium.errors import UsageError
    from podium.labelling.store import StoreMember

    roles = {member.id: member.role for member in store.members()}
    if "admin" in roles.values():
        return
    if ADMIN in roles:
        raise UsageError(f"expected assessors with other names than {ADMIN!r}, got one")
    store.add_members([StoreMember(ADMIN, role="admin")])


def _run(
    store: Store, name: str, settings: JudgingSettings, secret: Path | None, host: str, port: int,
    lifetime: timedelta, json: bool, open_: bool = False, notes: Sequence[str] = (),
) -> None:  # fmt: skip
    """Listen, print the links, and serve until stopped."""
    from podium.apps.judging import Links, make_app
    from podium.apps.judging.secret_files import secret_of
    from podium.apps.judging.serving import uvicorn_config
    from podium.errors import require

    require("uvicorn", "web", "serving")
    import uvicorn

    told = secret_of(name, secret)
    made, app = Links(told), make_app(store, secret=told, settings=settings)
    with _listening(host, port) as listener, _served(name, settings, listener) as base_url:
        where = store_name(name)
        first = _print_links(store, made, base_url, lifetime, json, where, notes, serves=True)
        if open_ and first:
            import webbrowser

            webbrowser.open(first)
        config = uvicorn_config(app, access=settings.access)
        # The collector would look at all modules again and again, a tenth of a second each, while people
        # wait: what is there now stays anyway.
        gc.collect()
        gc.freeze()
        with _terminable():
            uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def _served(store: str, settings: JudgingSettings, listener: socket.socket) -> Iterator[str]:
    """Where browsers find the server, which is the only one of its store."""
    base_url = settings.base_url or _address(listener)
    with serving(store, base_url):
        yield base_url


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the command as an exception does, so that temporary files go with it."""
    import signal

    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens, so that a port in use is an error before anything is printed."""
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise OSError(
            f"expected a free address, got {host} port {port}: {error.strerror or error}; "
            "give another --port, or 0 for any"
        ) from None


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        import socket

        host = socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _print_links(
    store: Store, made: Links, base_url: str, lifetime: timedelta, json: bool, where: str,
    notes: Sequence[str] = (), *, serves: bool = False,
) -> str | None:  # fmt: skip
    """Print the links of all members, a line each; returns that of the first assessor."""
    members = store.members()
    urls = {m.id: made.url(base_url, m.id, m.role, lifetime, m.generation) for m in members}
    if json:
        rows = [{"member": m.id, "role": m.role, "link": urls[m.id]} for m in members]
        print_json({"url": base_url, "store": where, "links": rows, "notes": list(notes)})
    else:
        # No table: a link that is broken over two lines cannot be copied.
        names = {
            m.id: m.id if m.role == "assessor" or m.id == ADMIN else f"{m.id} (admin)"
            for m in members
        }
        width = max(map(len, names.values()))
        typer.echo(printable(f"Judging: {where}, personal links"))
        for member in members:
            typer.echo(printable(f"{names[member.id]:<{width}}  {urls[member.id]}"))
        if serves:
            typer.echo(f"Serving at {base_url}: open a link in a browser. Ctrl-C stops the server.")
        print_notes(list(notes))
    sys.stdout.flush()
    return next((urls[m.id] for m in members if m.role == "assessor"), None)
