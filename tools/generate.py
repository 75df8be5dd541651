"""Generated files: CLI reference, list of source files, schema of rule files, type stub of the kernels.

python -m tools.generate --write    writes them
python -m tools.generate --check    fails if one is stale
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def cli_reference() -> str:
    """Return docs/cli.md, from the commands themselves."""
    import typer.main

    from podium.apps.cli import app

    head = (
        "# Command line\n\nEvery command has `--help`. Exit codes: 0 done, 1 the data is wrong "
        "(one line on stderr), 2 the command line is wrong, 130 interrupted.\n"
    )
    commands = dict(_commands("podium", typer.main.get_command(app)))
    shared = _shared_options(commands.values())
    columns = (
        "\n## Columns of tables\n\nCommands that read CSV, TSV, JSON lines, Parquet or Arrow have these "
        "options; by default the names of columns decide. [Your own data](data.md) shows them.\n"
    )
    sections = [
        part for name, command in commands.items() for part in _section(name, command, shared)
    ]
    return head + columns + OPTIONS_HEAD + "".join(shared) + "".join(sections)


OPTIONS_HEAD = "\n| option | default | meaning |\n| --- | --- | --- |\n"


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield each command with its whole name."""
    children: dict[str, Any] = getattr(command, "commands", None) or {}
    if not children:
        yield name, command
    for child in sorted(children):
        yield from _commands(f"{name} {child}", children[child])


def _shared_options(commands: Iterable[Any]) -> list[str]:
    """Return the rows of the options about columns that most commands with such options share."""
    from podium.apps.cli.options.tables import TABLE_PANEL

    counts = Counter(
        _option(p)
        for command in commands
        for p in command.params
        if getattr(p, "rich_help_panel", None) == TABLE_PANEL
    )
    return [row for row, n in counts.items() if 2 * n > max(counts.values())]


def _section(name: str, command: Any, shared: Sequence[str]) -> Iterator[str]:
    """Yield the parts of the section of a command; options about columns are in their own section."""
    yield f"\n## {name}\n\n{_flat(command.help)}\n"
    usage = " ".join(_usage(p) for p in command.params if p.param_type_name == "argument")
    yield f"\n```text\n{name} [OPTIONS] {usage}".rstrip() + "\n```\n"
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    rows = [_option(p) for p in options]
    if own := [row for row in rows if row not in shared]:
        yield OPTIONS_HEAD + "".join(own)
    if common := [p for p, row in zip(options, rows, strict=True) if row in shared]:
        names = ", ".join(f"`{p.opts[0]}`" for p in common)
        yield f"\n[Columns of tables](#columns-of-tables): {names}.\n"
    example, *rest = (command.epilog or "").split("\n\n")
    yield f"\nExample:\n\n```console\n$ {_flat(example).removeprefix('Example: ')}\n```\n"
    yield from (f"\n{_flat(paragraph)}\n" for paragraph in rest)


def _usage(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name.upper()).strip("{}[]")
    return name if parameter.nargs == 1 or name.endswith("...") else f"{name}..."


def _option(parameter: Any) -> str:
    default = parameter.default
    if isinstance(default, list | tuple):
        default = ", ".join(map(str, default))
    default_text = "" if default is None or default is False else f"`{default}`"
    names = ", ".join(f"`{o}`" for o in parameter.opts)
    return f"| {names} | {default_text} | {_flat(parameter.help)} |\n"


def _flat(text: str | None) -> str:
    return " ".join((text or "").split())


def source_files() -> str:
    """Return docs/files.md: each source file with the first line of its docstring, room by room."""
    pages = [
        "# Source files\n\nYou look for the file of a noun: search this page. Each file has the first line "
        "of its docstring.\n[Architecture](architecture.md) has the rooms and their order.\n"
    ]
    source = ROOT / "src"
    folders = sorted({path.parent for path in source.rglob("*.py")})
    for folder in folders:
        rows = [
            _file_row(path) for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"
        ]
        if rows:
            pages.append(
                f"\n## {folder.relative_to(source)}\n\n| file | what is in it |\n| --- | --- |\n"
            )
            pages += rows
    return "".join(pages)


def _file_row(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    return f"| `{path.name}` | {docstring.partition(chr(10))[0].replace('|', chr(92) + '|')} |\n"


def native_stub() -> str:
    """Return the type stub of the native kernels, from the built module."""
    from nanobind.stubgen import StubGen

    from podium.kernels import _native

    generator = StubGen(_native)
    generator.put(_native)
    return str(generator.get())


def rules_schema() -> str:
    """Return the JSON Schema of rule files, from the rules themselves."""
    import json

    from podium.postranking import schema

    return json.dumps(schema(), indent=2) + "\n"


FILES: dict[str, Callable[[], str]] = {
    "docs/cli.md": cli_reference,
    "docs/files.md": source_files,
    "docs/rules.schema.json": rules_schema,
    "src/podium/kernels/_native.pyi": native_stub,
}


def main() -> None:
    """Write or check every generated file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    stale = []
    for name, make in FILES.items():
        path, text = ROOT / name, make()
        if options.write:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(name)
    if stale:
        sys.exit(f"stale: {', '.join(stale)}; run: python -m tools.generate --write")


if __name__ == "__main__":
    main()
