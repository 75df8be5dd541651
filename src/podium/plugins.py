"""Registries that installed packages extend: entry points such as ``podium.aggregators``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from threading import RLock
from typing import TypeVar

from podium.errors import PluginWarning

T = TypeVar("T")
Check = Callable[[str, object], str]
"""The name and object of a plug-in -> what is wrong with it; empty if nothing is."""


class Registry(Mapping[str, T]):
    """Names and what they stand for: podium's own, and those of installed packages.

    A package adds to a registry by an entry point whose group is the registry's. Entry points are read
    once: when a name is asked for that podium does not have, or when all names are. A plug-in that cannot
    be loaded, or is not what the registry holds, is named in a `PluginWarning` and left out.

    Parameters
    ----------
    group
        The group of entry points, such as ``podium.rankers``.
    own
        Podium's own entries; a plug-in cannot take one of their names.
    check
        Says what is wrong with a plug-in.

    Examples
    --------
    >>> colours = Registry("example.colours", {"red": 1, "green": 2}, lambda name, value: "")
    >>> colours["red"], list(colours)
    (1, ['red', 'green'])
    """

    def __init__(self, group: str, own: Mapping[str, T], check: Check) -> None:
        self.group = group
        self.own, self._check = dict(own), check
        self._plugins: dict[str, T] | None = None
        self._lock = RLock()

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
        """What installed packages add, by name."""
        with self._lock:
            if self._plugins is None:
                # A plug-in that asks for all names while it is loaded gets podium's own.
                self._plugins = {}
                for entry_point in sorted(entry_points(group=self.group), key=lambda p: p.name):
                    self._add(entry_point, self._plugins)
            return self._plugins

    def _add(self, entry_point: EntryPoint, plugins: dict[str, T]) -> None:
        name = entry_point.name
        try:
            value = entry_point.load()
            taken = name in self.own or name in plugins
            problem = "the name is taken" if taken else self._check(name, value)
        except Exception as error:  # whatever a stranger's module raises must not break podium
            problem = f"{type(error).__name__}: {error}"
        if problem:
            package = "an unnamed package" if entry_point.dist is None else entry_point.dist.name
            warnings.warn(
                f"left out the plug-in {name!r} of {package} ({self.group}, {entry_point.value}): "
                f"{problem}",
                PluginWarning,
                stacklevel=4,
            )
        else:
            plugins[name] = value


def subclasses_of(base: type, attribute: str = "name") -> Check:
    """Return a check that a plug-in is such a class, named as its entry point in this attribute.

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


def functions(name: str, value: object) -> str:
    """Check that a plug-in can be called."""
    return "" if callable(value) else f"expected a function, got {value!r}"
