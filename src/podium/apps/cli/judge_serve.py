"""``podium judge serve|links|demo``: the judging web app."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from podium.apps.cli.console import Json, Seed, print_json, print_table, reports_errors
from podium.apps.cli.judge_store import open_store, plan_of, store_name

if TYPE_CHECKING:
    import socket

    from podium.apps.judging import JudgingSettings, Links
    from podium.labelling import Assignment, Pool
    from podium.labelling.store import Store

SERVE = """Example: podium judge serve --store judgments.db --pool pool.jsonl --assessors ann,bob --top 10

Prints a personal link for every assessor and one for the admin, then serves until it is stopped. Whoever has
a link is let in, so send each to its owner alone.

--design all gives all queries to all assessors, paper is the crossover of both tools, overlap gives every
query to --overlap assessors; --assign reads a CSV file with the columns assessor, query and tool instead. A
store that has tasks needs none of these: podium judge serve --store judgments.db.

To be reached from other machines give --host 0.0.0.0 and, behind a proxy that does https, --base-url
https://judge.example.org. The secret that signs links is made once and kept beside the store; with another
one old links are void."""

LINKS = """Example: podium judge links --store judgments.db --base-url https://judge.example.org --days 14

Makes new links for all members of a store; older ones work on until they end."""

DEMO = """Example: podium judge demo

Four small queries about functions of Python's standard library, three by pairs and one by grades. The store
is a temporary one unless --store names a file."""

StoreOption = Annotated[
    str,
    typer.Option(
        "--store", metavar="STORE", help="An SQLite file, or the URL of a PostgreSQL database."
    ),
]
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

ADMIN = "admin"
ASSESSOR = "assessor"
_BUSY_SECONDS = 2.0  # a page asks again; a thread that waits for long is missing elsewhere


@reports_errors
def serve(
    store: StoreOption = "judgments.db",
    pool: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Queries and documents: JSONL, CSV or TSV."),
    ] = None,
    assessors: Annotated[
        str, typer.Option(metavar="NAMES", help="Who judges, separated by commas.")
    ] = "",
    assign: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Who judges what: a CSV file."),
    ] = None,
    design: Annotated[
        Literal["all", "paper", "overlap"], typer.Option(help="Who judges what, without a file.")
    ] = "all",
    tool: Annotated[
        Literal["preference", "grade"], typer.Option(help="With which tool, but for design paper.")
    ] = "preference",
    overlap: Annotated[int, typer.Option(min=1, help="Assessors of a query.")] = 2,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of the paper's design.")] = 1,
    top: Annotated[int, typer.Option("--top", "-k", "--k", min=1, help="Places to be filled.")] = 10,
    strategy: Annotated[str, typer.Option(help="tournament, heap or sort.")] = "tournament",
    prior: Annotated[
        bool, typer.Option("--prior", help="Start from the order of the pool's scores.")
    ] = False,
    grades: Annotated[
        str, typer.Option(metavar="NAMES", help="Names of grades, the worst first.")
    ] = "Bad,Fair,Good,Excellent,Perfect",
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
    seed: Seed = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Serve the judging web app, and print a personal link for everybody."""
    from podium.apps.judging import JudgingSettings
    from podium.errors import UsageError
    from podium.labelling import make_tasks, read_pool
    from podium.labelling.store import Store

    names = [name.strip() for name in assessors.split(",") if name.strip()]
    if pool is None and (names or assign):
        raise UsageError("expected --pool with --assessors or --assign, got none")
    settings = JudgingSettings(base_url=base_url, images=images, repeats=repeats)
    found = None if pool is None else read_pool(pool)
    opening = open_store if found is None else Store.open
    with opening(store, timeout=_BUSY_SECONDS) as opened:
        if found is not None:
            known = _assessors(opened)
            if not names and assign is None and not known:
                names = [ASSESSOR]
            how = str(assign) if assign else "crossover" if design == "paper" else design
            plan = plan_of(found, names or known, how, tool, overlap, rounds, seed)
            tasks = make_tasks(
                plan, found, k=top, strategy=strategy, prior=prior,
                grades=[name.strip() for name in grades.split(",")], seed=seed,
            )  # fmt: skip
            _fill(opened, found, plan, tasks)
        _add_admin(opened)
        _run(opened, store, settings, secret, host, port, timedelta(days=days), json)


@reports_errors
def links(
    store: StoreOption = "judgments.db",
    base_url: Annotated[
        str, typer.Option(metavar="URL", help="Where browsers find the server.")
    ] = "http://127.0.0.1:8400",
    secret: Secret = None,
    days: Days = 60.0,
    json: Json = False,
) -> None:
    """Print a new personal link for everybody in a store."""
    from podium.apps.judging import Links
    from podium.apps.judging.secret_files import secret_of
    from podium.apps.judging.settings import check_base_url

    check_base_url(base_url)
    with open_store(store) as opened:
        _add_admin(opened)
        made = Links(secret_of(store, secret))
        _print_links(opened, made, base_url, timedelta(days=days), json, store_name(store))


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
    """Judge a ready pool: functions of Python's standard library, in the browser."""
    import tempfile

    from podium.apps.judging import JudgingSettings
    from podium.apps.judging.demo import TOP, demo_assignments, demo_pool
    from podium.labelling import make_tasks
    from podium.labelling.store import Store

    pool, plan = demo_pool(), demo_assignments(ASSESSOR)
    with tempfile.TemporaryDirectory(prefix="podium-judge-") as folder:
        where = store or str(Path(folder) / "judgments.db")
        with Store.open(where, timeout=_BUSY_SECONDS) as opened:
            _fill(opened, pool, plan, make_tasks(plan, pool, k=TOP))
            _add_admin(opened)
            lifetime = timedelta(days=1)
            _run(opened, where, JudgingSettings(), None, host, port, lifetime, json, open_)


def _assessors(store: Store) -> list[str]:
    return [member.id for member in store.members() if member.role == "assessor"]


def _fill(store: Store, pool: Pool, plan: list[Assignment], tasks: list[Any]) -> None:
    """Pool, assessors and tasks into the store; what is there already stays."""
    from podium.labelling.store import Member

    store.add_pool(pool)
    known = {member.id for member in store.members()}
    names = dict.fromkeys(one.assessor for one in plan)
    store.add_members(Member(name) for name in names if name not in known)
    store.add_tasks(tasks)


def _add_admin(store: Store) -> None:
    from podium.errors import UsageError
    from podium.labelling.store import Member

    roles = {member.id: member.role for member in store.members()}
    if "admin" in roles.values():
        return
    if ADMIN in roles:
        raise UsageError(f"expected assessors with other names than {ADMIN!r}, got one")
    store.add_members([Member(ADMIN, role="admin")])


def _run(
    store: Store, name: str, settings: JudgingSettings, secret: Path | None, host: str, port: int,
    lifetime: timedelta, json: bool, open_: bool = False,
) -> None:  # fmt: skip
    """Listen, print the links, and serve until stopped."""
    from podium.apps.judging import Links, make_app
    from podium.apps.judging.secret_files import secret_of
    from podium.errors import require

    require("uvicorn", "web", "serving")
    import uvicorn

    told = secret_of(name, secret)
    made, app = Links(told), make_app(store, secret=told, settings=settings)
    with _listening(host, port) as listener:
        base_url = settings.base_url or _address(listener)
        first = _print_links(store, made, base_url, lifetime, json, store_name(name))
        if open_ and first:
            import webbrowser

            webbrowser.open(first)
        # Links are secrets: no log of requests. A judgment takes seconds: connections stay for longer.
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, timeout_keep_alive=75
        )
        # The collector would look at all modules again and again, a tenth of a second each, while people
        # wait: what is there now stays anyway.
        gc.collect()
        gc.freeze()
        with _terminable():
            uvicorn.Server(config).run(sockets=[listener])


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
    store: Store, made: Links, base_url: str, lifetime: timedelta, json: bool, where: str
) -> str | None:
    """Print the links of all members; returns that of the first assessor."""
    members = store.members()
    urls = {m.id: made.url(base_url, m.id, m.role, lifetime) for m in members}
    if json:
        rows = [{"member": m.id, "role": m.role, "link": urls[m.id]} for m in members]
        print_json({"url": base_url, "store": where, "links": rows})
    else:
        rows_ = [[m.id, m.role, urls[m.id]] for m in members]
        print_table(
            f"Judging: {where}",
            ["member", "role", "personal link"],
            rows_,
            text_columns=2,
            text_last=True,
        )
    sys.stdout.flush()
    return next((urls[m.id] for m in members if m.role == "assessor"), None)
