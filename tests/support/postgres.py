"""A PostgreSQL server for the tests: the system's or the one that pgserver brings, as any user."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path


def programs() -> Path | None:
    """The folder with initdb and postgres, or None."""
    found = [Path(path).resolve().parent for path in filter(None, [shutil.which("postgres")])]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    bundle = find_spec("pgserver")
    if bundle is not None and bundle.origin is not None:
        found.append(Path(bundle.origin).parent / "pginstall" / "bin")
    return next((p for p in found if (p / "initdb").exists() and (p / "postgres").exists()), None)


def create(server: str, name: str) -> None:
    """An empty database on the server."""
    import psycopg

    with psycopg.connect(server.format(name="postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")


def empty(server: str, name: str) -> None:
    """A database without tables again: to make a new one copies, and later removes, hundreds of files."""
    import psycopg

    with psycopg.connect(server.format(name=name), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")


@contextmanager
def server(programs: Path) -> Iterator[str]:
    """The URL of a server that lives as long as the context, ``{name}`` for that of a database."""
    # Short: the path of a socket has at most 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="podium-pg-", dir="/tmp"))
    who = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        nobody = pwd.getpwnam("nobody")
        who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        programs = _reachable(programs, folder)
    try:
        made = subprocess.run(
            [programs / "initdb", "-D", folder / "data", "-U", "podium", "-A", "trust", "-E", "UTF8",
             "--locale=C", "--no-sync"],
            capture_output=True, text=True, check=False, cwd=folder, **who,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
        with open(folder / "log", "w") as log:
            running = subprocess.Popen(
                [programs / "postgres", "-D", folder / "data", "-k", folder, "-c", "listen_addresses=",
                 "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "autovacuum=off"],
                stdout=log, stderr=log, cwd=folder, **who,
            )  # fmt: skip
        try:
            _wait(folder, running)
            yield f"postgresql://podium@/{{name}}?host={folder}"
        finally:
            running.send_signal(signal.SIGQUIT)  # at once: nobody needs the data any more
            running.wait(timeout=30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _reachable(programs: Path, folder: Path) -> Path:
    """The programs where nobody may run them: a virtual environment may lie in a private folder."""
    private = any(not parent.stat().st_mode & 0o001 for parent in programs.parents)
    if not private:
        return programs
    # .../pgserver/pginstall/bin finds its libraries in .../pgserver.libs, beside its package.
    package, copied = programs.parents[1], folder / "bundle"
    for part in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(part, copied / part.name)
    return copied / programs.relative_to(package.parent)


def _wait(folder: Path, running: subprocess.Popen) -> None:
    import psycopg

    until = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(f"postgresql://podium@/postgres?host={folder}").close()
            return
        except psycopg.OperationalError:
            assert running.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.05)
