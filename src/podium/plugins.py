"""Plug-ins: registries that installed packages extend by entry points."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from threading import local
from typing import TypeVar

from podium.errors import PluginWarning

T = TypeVar("T")
Check = Callable[[str, object], str]
"""The name and object of a plug-in -> what is wrong with it; empty if it can be used."""


class Registry(Mapping[str, T]):
    """Objects by name: podium's own, and plug-ins of installed packages.

    A package adds to a registry by an entry point of the registry's group. Entry points are read once:
    at the first look-up of a name that podium does not have, or of all names. A plug-in that cannot be
    loaded, or is of the wrong kind, is named in a `PluginWarning` and left out.

    Parameters
    ----------
    group
        The group of entry points, such as ``podium.rankers``.
    own
        Podium's own entries; a plug-in cannot take one of their names.
    check
        Returns what is wrong with a plug-in.
    reserved
        Further names that no plug-in can take.

    Examples
    --------
    >>> colours = Registry("example.colours", {"red": 1, "green": 2}, lambda name, value: "")
    >>> colours["red"], list(colours)
    (1, ['red', 'green'])
    """

    def __init__(
        self, group: str, own: Mapping[str, T], check: Check, reserved: Collection[str] = ()
    ) -> None:
        self.group, self.reserved = group, reserved
        self.own, self._check = dict(own), check
        self._plugins: dict[str, T] | None = None
        self._thread = local()

    def __getitem__(self, name: str) -> T:
        return self.own[name] if name in self.own else self.plugins[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self.own, **self.plugins})

    def __len__(self) -> int:
        return len(self.own) + len(self.plugins)

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self.plugins

    def __repr__(self) -> str:
        return f"Registry({self.group!r}: {', '.join(self)})"

    @property
    def plugins(self) -> Mapping[str, T]:
        """The plug-ins of installed packages by name."""
        # No lock: an import may wait for another thread's import, which may look up these names.
        # Two threads that load at the same time import the same objects.
        if self._plugins is not None:
            return self._plugins
        if getattr(self._thread, "is_loading", False):
            return {}  # a plug-in that looks up names while it is loaded sees podium's own
        self._thread.is_loading = True
        try:
            plugins, problems = self._load()
        finally:
            self._thread.is_loading = False
        self._plugins = plugins
        for problem in problems:
            warnings.warn(problem, PluginWarning, stacklevel=3)
        return plugins

    def _load(self) -> tuple[dict[str, T], list[str]]:
        """Load every plug-in; return those that can be used, and what is wrong with the others."""
        plugins: dict[str, T] = {}
        problems = []
        for entry_point in sorted(entry_points(group=self.group), key=lambda point: point.name):
            name = entry_point.name
            try:
                value = entry_point.load()
                is_taken = name in self.own or name in plugins or name in self.reserved
                problem = "the name is taken" if is_taken else self._check(name, value)
            except (Exception, SystemExit) as error:  # another package must not break podium
                problem = f"{type(error).__name__}: {error}"
            if problem:
                problems.append(self._describe(entry_point, problem))
            else:
                plugins[name] = value
        return plugins, problems

    def _describe(self, entry_point: EntryPoint, problem: str) -> str:
        package = "an unnamed package" if entry_point.dist is None else entry_point.dist.name
        plugin = f"{entry_point.name!r} of {package} ({self.group}, {entry_point.value})"
        return f"left out the plug-in {plugin}: {problem}"


def subclasses_of(base: type, attribute: str = "name") -> Check:
    """Return a check that a plug-in is such a class, and that its attribute has the entry point's name.

    Examples
    --------
    >>> subclasses_of(int)("true", bool)
    "expected bool.name = 'true', got None"
    """

    def check(name: str, value: object) -> str:
        if not isinstance(value, type) or not issubclass(value, base):
            return f"expected a subclass of {base.__module__}.{base.__name__}, got {value!r}"
        own = getattr(value, attribute, None)
        return (
            "" if own == name else f"expected {value.__name__}.{attribute} = {name!r}, got {own!r}"
        )

    return check


def check_function(name: str, value: object) -> str:
    """Check that a plug-in can be called."""
    return "" if callable(value) else f"expected a function, got {value!r}"
