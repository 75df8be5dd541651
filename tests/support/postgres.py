"""A PostgreSQL server for the tests: the system's or the one that pgserver brings, as any user."""

import fcntl
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO


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
def shared_server(programs: Path, folder: Path) -> Iterator[str]:
    """The URL of a server that all test processes with this folder share, ``{name}`` for that of a database.

    The first process starts it, and the last one ends it. To make a server takes seconds of a processor.
    """
    users = folder / "postgres-users"
    with _locked(users) as file:
        if not (folder_name := file.read()):
            folder_name = str(_start(programs))
            file.write(folder_name)
            file.flush()
        place = Path(folder_name)
        (place / "users" / str(os.getpid())).touch()
    try:
        yield f"postgresql://podium@/{{name}}?host={place}"
    finally:
        with _locked(users) as file:
            (place / "users" / str(os.getpid())).unlink()
            if not any((place / "users").iterdir()):
                _stop(programs, place)
                file.truncate(0)


@contextmanager
def _locked(path: Path) -> Iterator[TextIO]:
    """A file that one process at a time has open."""
    with open(path, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield file


def _start(programs: Path) -> Path:
    """Start a server, and return its folder."""
    # Short: the path of a socket has at most 107 characters.
    place = Path(tempfile.mkdtemp(prefix="podium-pg-", dir="/tmp"))
    (place / "users").mkdir()
    if who := _owner():
        os.chown(place, who["user"], who["group"])
        programs = _reachable(programs, place)
    _run(
        [programs / "initdb", "-D", place / "data", "-U", "podium", "-A", "trust", "-E", "UTF8",
         "--locale=C", "--no-sync"], place,
    )  # fmt: skip
    settings = "fsync=off", "full_page_writes=off", "autovacuum=off", "listen_addresses="
    options = " ".join(["-k", str(place), *(f"-c {setting}" for setting in settings)])
    _run([*_control(programs, place), "-l", place / "log", "-w", "-o", options, "start"], place)
    return place


def _stop(programs: Path, place: Path) -> None:
    """End the server at once, because nobody needs the data any more, and remove its folder."""
    if _owner():
        programs = _reachable(programs, place)
    try:
        _run([*_control(programs, place), "-m", "immediate", "stop"], place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _control(programs: Path, place: Path) -> list[Path | str]:
    return [programs / "pg_ctl", "-s", "-D", place / "data"]


def _owner() -> dict[str, Any]:
    """Who runs the server: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _run(command: list[Path | str], place: Path) -> None:
    """Run a program of PostgreSQL; a server that it starts does not keep our pipes open."""
    with open(place / "output", "a+") as output:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False, cwd=place,
            **_owner(),
        )  # fmt: skip
        output.seek(0)
        assert done.returncode == 0, output.read()


def _reachable(programs: Path, folder: Path) -> Path:
    """The programs where nobody may run them: a virtual environment may lie in a private folder."""
    private = any(not parent.stat().st_mode & 0o001 for parent in programs.parents)
    if not private:
        return programs
    # .../pgserver/pginstall/bin finds its libraries in .../pgserver.libs, beside its package.
    package, copied = programs.parents[1], folder / "bundle"
    if copied.exists():
        return copied / programs.relative_to(package.parent)
    for part in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(part, copied / part.name)
    return copied / programs.relative_to(package.parent)
