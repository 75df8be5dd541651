"""Roles of columns: errors for a column with two roles, and for a role without a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podium.data.number_parsing import decimal_of
from podium.errors import UsageError

Roles = Mapping[str, Sequence[str]]
"""The columns of each role: query, label, features and so on."""

_IN_WORDS = {
    "query": "the query",
    "label": "the label",
    "doc": "the document",
    "weight": "the weight of the query",
    "query_text": "the text of the query",
    "features": "a feature",
    "categories": "a category",
    "text": "text of the document",
    "ignore": "left out",
}
_OPTIONS = {
    "query": "--query-column",
    "query_text": "--query-text",
    "text": "--text-columns",
}
"""Options whose name differs from the role. --query names a query, not a column, in podium explain."""
_LIST_ROLES = ("features", "categories", "text", "ignore")
"""Roles that several columns may have."""

_TEXT_ROLES = {"query", "query_text", "doc", "text"}
"""Roles that one column may have together, because all of them read it as text."""


def option_of(role: str) -> str:
    """Return the option that names the column of a role.

    Examples
    --------
    >>> option_of("label"), option_of("text")
    ('--label', '--text-columns')
    """
    return _OPTIONS.get(role, f"--{role}")


def check_roles(roles: Roles) -> None:
    """Raise if a column is named twice with roles that exclude each other.

    Examples
    --------
    >>> check_roles({"query": ["id"], "label": ["id"]})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    podium.errors.UsageError: column 'id' is named twice: as the query and as the label; ...
    """
    features = roles.get("features", ())
    for i, name in enumerate(features):
        if name in features[:i]:
            raise UsageError(f"feature {name!r} is named twice; name each feature once")
    role_of: dict[str, str] = {}
    for role, names in roles.items():
        for name in names:
            first = role_of.setdefault(name, role)
            if not _go_together(first, role):
                raise _two_roles(name, first, role)


def _go_together(first: str, second: str) -> bool:
    """Whether one column may have both roles."""
    roles = {first, second}
    are_texts = roles <= _TEXT_ROLES and roles != {"query", "doc"}
    return first == second or are_texts or roles == {"features", "categories"}


def _two_roles(name: str, first: str, second: str) -> UsageError:
    error = UsageError(
        f"column {name!r} is named twice: as {_IN_WORDS[first]} and as {_IN_WORDS[second]}"
    )
    one = first if first in _LIST_ROLES else second
    if one in _LIST_ROLES:
        return error.advise(
            python=f"take it out of {one}=", command_line=f"take it out of {option_of(one)}"
        )
    return error.advise(
        python=f"give {first}= or {second}= another column",
        command_line=f"give {option_of(first)} or {option_of(second)} another column",
    )


def missing_column(
    role: str, usual_names: Sequence[str], names: Sequence[str], occupied: Roles, path: str | None
) -> UsageError:
    """Return the error for a table without a column that can be guessed for a role.

    `occupied` has the columns of usual names that have another role already.
    """
    place = "" if path is None else f"{path}: "
    other = next(((name, other) for other, columns in occupied.items() for name in columns), None)
    if other is not None:
        return _taken_column(role, *other, place)
    error = UsageError(
        f"{place}expected a column for the {role} ({', '.join(usual_names)}), "
        f"the table has {', '.join(names)}"
    )
    if sum(decimal_of(name.strip()) is not None for name in names) * 3 >= len(names):
        advice = "is the first line missing? It has the names of the columns"
        return error.advise(python=advice, command_line=advice)
    absent = ""
    if role == "query":
        absent = (
            "; a table without one needs a new column that says to which query each row belongs"
        )
    return error.advise(
        python=f"name it with {role}='...'{absent}",
        command_line=f"name it with {option_of(role)} COLUMN{absent}",
    )


def _taken_column(role: str, name: str, other: str, place: str) -> UsageError:
    """Return the error for a role whose only column is named for another role."""
    error = UsageError(
        f"{place}expected a column for the {role}, got only {name}, which is named as {_IN_WORDS[other]}"
    )
    if other in _LIST_ROLES:
        return error.advise(
            python=f"take it out of {other}=, or name another column with {role}='...'",
            command_line=f"take it out of {option_of(other)}, or name another column with "
            f"{option_of(role)} COLUMN",
        )
    return error.advise(
        python=f"give {other}= or {role}= another column",
        command_line=f"give {option_of(other)} or {option_of(role)} another column",
    )
