"""The program of the command line: ``podium COMMAND``, its entry point and version.

`command_table` names every command. The options of a command stand in `options`, what it does in
`commands`; `lazy_group` imports both only when they are needed.
"""

from __future__ import annotations

import platform
from typing import Annotated, Any

import typer

import podium
from podium.apps.cli.command_table import COMMANDS
from podium.apps.cli.error_reports import reports_errors
from podium.apps.cli.lazy_group import LazyCommands, LazyGroup


class PodiumGroup(LazyGroup):
    """The commands of the table."""

    def __init__(self, *, commands: object = None, **settings: Any) -> None:
        super().__init__(commands=LazyCommands(COMMANDS), **settings)  # type: ignore[arg-type]


app = typer.Typer(
    name="podium",
    cls=PodiumGroup,
    help="Top-k learning to rank: who gets on the podium, and in which order.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@reports_errors
def _print_version(is_verbose: bool) -> None:
    python = platform.python_version()
    typer.echo(f"podium {podium.__version__} ({podium.kernels.BACKEND} kernels, Python {python})")
    if is_verbose:
        from podium.apps.cli.inputs.installation import installed_packages

        for name, version in installed_packages().items():
            typer.echo(f"{name} {version or '(not installed)'}")


@app.callback(invoke_without_command=True)
def _podium(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Version and kernels.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="With --version: the packages, too.")
    ] = False,
) -> None:
    if version:
        _print_version(verbose)
        raise typer.Exit
    if verbose:
        raise typer.BadParameter("expected --version with it", param_hint="--verbose")
    if context.invoked_subcommand is None:
        raise typer.BadParameter("expected a command; podium --help lists them")


def main() -> None:
    """Run the command line."""
    app()
