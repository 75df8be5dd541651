"""Commits of new versions in a git work tree, each by the author of its version."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from podium.rule_history.version_header import one_line, split_header

SECONDS = 20.0
"""How long one call of git may take."""
_QUIET = ("-c", "commit.gpgsign=false", "-c", "gc.auto=0", "-c", "core.fsmonitor=false")


def is_work_tree(folder: Path) -> bool:
    """Return whether a folder lies in a git work tree, and git is installed."""
    return _git(folder, "rev-parse", "--is-inside-work-tree")[1].strip() == "true"


def commit_versions(folder: Path, pattern: re.Pattern[str], others: Sequence[str]) -> str:
    """Commit each file that git does not track yet; return what went wrong, empty if nothing did.

    Parameters
    ----------
    pattern
        The names of versions; each is a commit by its author, in the order of the names.
    others
        Files whose changes belong to the last of these commits, such as the audit log.
    """
    code, listed = _git(folder, "ls-files", "--others", "--", "*.yaml")
    if code:
        return one_line(listed)
    untracked = sorted(name for name in listed.splitlines() if pattern.fullmatch(name))
    for name in untracked:
        is_last = name == untracked[-1]
        wrong = _commit(folder, name, others if is_last else ())
        if wrong:
            return wrong
    return ""


def _commit(folder: Path, name: str, others: Sequence[str]) -> str:
    header, _ = split_header((folder / name).read_text(encoding="utf-8", errors="replace"))
    author, email = (_without_brackets(text) for text in (header.author, header.email))
    author, email = author or "unknown", email or "unknown"
    subject = header.reason or header.action or "by hand"
    paths = [name, *(other for other in others if (folder / other).exists())]
    code, text = _git(folder, "add", "--", name)
    if code:
        return one_line(text)
    # An ignored audit log is no reason to refuse the commit.
    added = [name, *(path for path in paths[1:] if not _git(folder, "add", "--", path)[0])]
    identity = ("-c", f"user.name={author}", "-c", f"user.email={email}")
    message = f"rules: version {int(Path(name).stem)}: {subject}"
    options = ("--no-verify", "--quiet", f"--author={author} <{email}>", "-m", message)
    code, text = _git(folder, *identity, "commit", *options, "--only", "--", *added)
    return one_line(text) if code else ""


def _without_brackets(text: str) -> str:
    return one_line(text.translate({ord("<"): " ", ord(">"): " "}))


def _git(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run git in a folder; return its exit code and its output, or what went wrong."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *_QUIET, *arguments], cwd=folder, capture_output=True, text=True, timeout=SECONDS,
            stdin=subprocess.DEVNULL, check=False,
            env={**variables, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, f"git did not run: {type(error).__name__}"
    return done.returncode, done.stdout if not done.returncode else done.stderr or done.stdout
