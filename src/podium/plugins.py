"""Plug-ins: registries that installed packages can extend through entry points."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from threading import local
from typing import TypeVar

from podium.errors import PluginWarning

T = TypeVar("T")
Check = Callable[[str, object], str]
"""Maps the name and the object of a plug-in to an error message, which is empty if it can be used."""


class Registry(Mapping[str, T]):
    """Objects by name: podium's own, and plug-ins of installed packages.

    A package adds an object with an entry point in the registry's group. Entry points are read once: at
    the first look-up of all names, or of a name that podium does not have. A plug-in that cannot be
    loaded, or has the wrong kind, is left out with a `PluginWarning`.

    Parameters
    ----------
    group
        The group of entry points, such as ``podium.rankers``.
    own
        Podium's own entries; a plug-in cannot take one of their names.
    check
        Returns an error message about a plug-in, which is empty if it can be used.
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
        # A lock could deadlock: an import may wait for another thread's import, which may look up names here.
        # Two threads that load at the same time import the same objects.
        if self._plugins is not None:
            return self._plugins
        if getattr(self._thread, "is_loading", False):
            return {}  # a plug-in that looks up names while it loads gets podium's own
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
        """Load every plug-in; return the usable ones, and an error message for each of the others."""
        plugins: dict[str, T] = {}
        problems = []
        for entry_point in sorted(entry_points(group=self.group), key=lambda point: point.name):
            name = entry_point.name
            try:
                value = entry_point.load()
                is_taken = name in self.own or name in plugins or name in self.reserved
                problem = "the name is taken" if is_taken else self._check(name, value)
            except (Exception, SystemExit) as error:  # a broken package must not break podium
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
    """Return a check for subclasses of a class whose attribute is equal to the name of the entry point.

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
