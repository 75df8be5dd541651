"""A group of commands that imports a command when it is run, completed or asked for help."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import typer.main
from typer.core import TyperCommand, TyperGroup

from podium.apps.cli.argument_advice import ranker_advice
from podium.apps.cli.error_reports import plugin_warnings_in_one_line, reports_errors
from podium.apps.cli.usage_advice import AdvisingCommand, literal, show_literally

OPTIONS_PACKAGE = "podium.apps.cli.options"
COMMANDS_PACKAGE = "podium.apps.cli.commands"


@dataclass(frozen=True)
class CommandEntry:
    """A command in the table: the module of its options and of its work, and its help in one line.

    ``podium data info`` with the module ``data`` has its options in ``options/data.py`` as
    ``DataInfoOptions``, and its work in ``commands/data.py`` as ``run_data_info(options)``.
    """

    module: str
    help: str


@dataclass(frozen=True)
class GroupEntry:
    """A group in the table: its help in one line, its commands, and what stands below them."""

    help: str
    commands: Mapping[str, CommandEntry] = field(default_factory=dict)
    epilog: str | None = None


Entries = Mapping[str, CommandEntry | GroupEntry]


class LazyCommands(Mapping[str, Any]):
    """The commands of a table by name; a command is imported when it is looked up.

    Parameters
    ----------
    entries
        The table.
    path
        The names before those of the table: ``("data",)`` for ``podium data info``.
    """

    def __init__(self, entries: Entries, path: tuple[str, ...] = ()) -> None:
        self.entries, self.path = entries, path

    def __getitem__(self, name: str) -> Any:
        entry, path = self.entries[name], (*self.path, name)
        if isinstance(entry, GroupEntry):
            return self.list_entry(name)
        return make_command(path, entry.module)

    def __contains__(self, name: object) -> bool:
        return name in self.entries  # Mapping would look the command up, and so import it

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def list_entry(self, name: str) -> TyperCommand | TyperGroup:
        """Return a command as lists of commands show it: nothing is imported for it."""
        entry = self.entries[name]
        if isinstance(entry, CommandEntry):
            return TyperCommand(name, help=literal(entry.help))
        commands = LazyCommands(entry.commands, (*self.path, name))
        return LazyGroup(
            name=name, commands=commands,  # type: ignore[arg-type]
            help=entry.help, epilog=entry.epilog,
            no_args_is_help=True, rich_markup_mode="rich",
        )  # fmt: skip


class LazyGroup(TyperGroup):
    """A group whose `commands` are `LazyCommands`: listing them imports none of them."""

    commands: LazyCommands  # type: ignore[assignment]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help as it is written."""
        TyperGroup.format_help(show_literally(self), ctx, formatter)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the table."""
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return what help and completion list under this name."""
        return self.commands.list_entry(cmd_name) if cmd_name in self.commands else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command to run, imported, with its name and arguments."""
        if args and args[0] not in self.commands and (advice := ranker_advice(args[0])):
            ctx.fail(f"No such command {args[0]!r}. {advice}")
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and self.commands[listed.name or ""], rest


def make_command(path: tuple[str, ...], module: str) -> Any:
    """Return a command with the fields of a dataclass as options; its code is imported when it runs."""
    words = "-".join(path).split("-")
    class_name = "".join(word.capitalize() for word in words) + "Options"
    options_class = getattr(import_module(f"{OPTIONS_PACKAGE}.{module}"), class_name)
    paragraphs = inspect.cleandoc(options_class.__doc__).split("\n\n")
    help_text, *epilog = (" ".join(paragraph.split()) for paragraph in paragraphs)

    @reports_errors
    def call(**values: Any) -> None:
        work: Callable[[Any], None] = getattr(
            import_module(f"{COMMANDS_PACKAGE}.{module}"), f"run_{'_'.join(words)}"
        )
        # Help imports no more than the options of a command.
        from podium.apps.cli.inputs.chosen_cluster import cluster_in_use

        cluster = cluster_in_use(values.get("cluster"), is_quiet=bool(values.get("json")))
        with plugin_warnings_in_one_line(), cluster:
            work(options_class(**values))

    # Typer reads options off a function's signature: this one has the fields of the class.
    call.__signature__ = inspect.signature(options_class)  # type: ignore[attr-defined]
    app = typer.Typer(rich_markup_mode="rich", add_completion=False)
    app.command(path[-1], cls=AdvisingCommand, help=help_text, epilog="\n\n".join(epilog))(call)
    return typer.main.get_command(app)
