"""Experiment files: two models, a method that compares them, and when it starts and stops."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from podium.clicks.experiment_records import ExperimentMethod, Unit
from podium.clicks.interleaving import MAX_OPTIMISED_DEPTH
from podium.data.number_parsing import decimal_of
from podium.data.text_files import read_blocks
from podium.errors import DataError
from podium.postranking.rules.plain_yaml import YamlMapping, parse_yaml

MAX_FILE_BYTES = 1 << 20
NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
KEYS = (
    "version", "name", "method", "models", "share", "shares", "unit", "starts", "stops", "stopped",
    "swap", "depth", "seed", "rules",
)  # fmt: skip


@dataclass(frozen=True)
class Experiment:
    """An experiment: which two models, for whom, and how they are compared.

    Parameters
    ----------
    name, method
        Its name in logs; team-draft, balanced, optimised or ab.
    models, served
        The names of the two models in logs, and what is served under them (``NAME`` or ``NAME@VERSION``).
        The first one is the one in production.
    share
        The share of sessions or users that are in the experiment; the others get the default model.
    second_share
        In A/B tests, the share of the second model within the experiment.
    unit
        What keeps its arm: "session" or "user"; "list" decides for each request by its id.
    starts, stops
        Seconds since 1970.
    swap
        The probability that two neighbours are exchanged; None: that of ``--swap``.
    depth
        The number of documents that are interleaved.
    rules
        For each model, whether the service's rules act on its lists.
    """

    name: str
    method: ExperimentMethod
    models: tuple[str, str]
    served: tuple[str, str]
    share: float = 1.0
    second_share: float = 0.5
    unit: Unit = "session"
    starts: float | None = None
    stops: float | None = None
    is_stopped: bool = False
    swap: float | None = None
    depth: int = 10
    seed: str = "0"
    rules: tuple[bool, bool] = (True, True)

    @property
    def holds_out_rules(self) -> bool:
        """Whether one of its arms has no rules."""
        return not all(self.rules)

    def is_active(self, now: float) -> bool:
        """Whether lists are made by it at a time, in seconds since 1970."""
        if self.is_stopped or (self.starts is not None and now < self.starts):
            return False
        return self.stops is None or now < self.stops

    @property
    def assignment(self) -> tuple[Any, ...]:
        """What must not change while it runs: otherwise sessions would change their arm."""
        return self.method, self.models, self.second_share, self.unit, self.seed, self.rules


def read_experiment_file(path: str, last: Experiment | None = None) -> Experiment:
    """Read an experiment file; raise DataError with the line of what is wrong.

    Parameters
    ----------
    last
        The experiment that runs; a file of the same name must keep its arms.
    """
    data = b""
    try:
        for block in read_blocks(path):
            data += block.tobytes()
            if len(data) > MAX_FILE_BYTES:
                raise DataError("expected at most 1 MB of YAML, got more", path=path)
    except FileNotFoundError:
        raise FileNotFoundError(f"cannot read {path}: there is no such file") from None
    experiment = _Entries(parse_yaml(data, path), path).experiment()
    is_same = last is not None and last.name == experiment.name
    if last is not None and is_same and last.assignment != experiment.assignment:
        message = (
            f"expected the method, models, shares, unit, seed and rules that {last.name!r} began with, "
            "got others: sessions would change their arm; give the new experiment another name"
        )
        raise DataError(message, path=path, line=1)
    return experiment


class _Entries:
    """Reads the entries of a mapping, with the line of each error."""

    def __init__(self, tree: Any, path: str) -> None:
        self.path = path
        if not isinstance(tree, YamlMapping):
            raise DataError(
                "expected keys such as name and models, got no mapping", path=path, line=1
            )
        self.tree = tree
        for key in tree:
            if key not in KEYS:
                raise self.error(key, f"unknown key {key!r}; expected one of {', '.join(KEYS)}")
        if tree.get("version") != "1":
            raise self.error("version", "expected version: 1")

    def error(self, key: str, message: str) -> DataError:
        return DataError(message, path=self.path, line=self.tree.lines.get(key, 1))

    def experiment(self) -> Experiment:
        name = self.tree.get("name")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise self.error("name", "expected a name of letters, digits, dots, _ and -")
        models = self.names("models")
        method = self.choice("method", get_args(ExperimentMethod), "team-draft")
        depth = int(self.number("depth", 10, 1, 1000, is_whole=True))
        if method == "optimised" and depth > MAX_OPTIMISED_DEPTH:
            raise self.error(
                "depth", f"expected a depth of at most {MAX_OPTIMISED_DEPTH} for optimised"
            )
        swap = self.number("swap", 0, 0, 0.5) if "swap" in self.tree else None
        experiment = Experiment(
            str(name), method, (models[0][0], models[1][0]), (models[0][1], models[1][1]),
            self.number("share", 1, 0, 1), self.second_share([own for own, _ in models]),
            self.choice("unit", get_args(Unit), "session"), self.moment("starts"), self.moment("stops"),
            self.choice("stopped", ("true", "false"), "false") == "true", swap, depth,
            str(self.tree.get("seed", "0")), self.rules_of([own for own, _ in models]),
        )  # fmt: skip
        if "rules" in self.tree and method != "ab":
            raise self.error(
                "rules", "expected rules for the method ab only: lists are with or without"
            )
        if "shares" in self.tree and method != "ab":
            raise self.error(
                "shares", "expected shares for the method ab only; share: 0.5 is the traffic"
            )
        return experiment

    def names(self, key: str) -> list[tuple[str, str]]:
        value = self.tree.get(key)
        if not isinstance(value, Mapping) or len(value) != 2 or not _all_text(value):
            raise self.error(key, f"expected two {key}, as in {{old: shop@1, new: shop@2}}")
        return [(str(own), str(served)) for own, served in value.items()]

    def second_share(self, models: list[str]) -> float:
        shares = self.tree.get("shares")
        if shares is None:
            return 0.5
        if not isinstance(shares, Mapping) or set(shares) != set(models):
            raise self.error("shares", f"expected a share for {models[0]} and for {models[1]}")
        numbers = [decimal_of(str(shares[model])) or 0.0 for model in models]
        if not all(0 < number <= 1e6 for number in numbers):
            raise self.error("shares", "expected shares above 0")
        return numbers[1] / sum(numbers)

    def rules_of(self, models: list[str]) -> tuple[bool, bool]:
        rules = self.tree.get("rules")
        if rules is None:
            return True, True
        if not isinstance(rules, Mapping) or set(rules) != set(models):
            raise self.error(
                "rules", f"expected on or off for {models[0]} and for {models[1]} in rules"
            )
        for value in rules.values():
            if value not in ("on", "off"):
                raise self.error("rules", f"expected on or off in rules, got {value!r:.100}")
        return rules[models[0]] == "on", rules[models[1]] == "on"

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> Any:
        value = self.tree.get(key, default)
        if value not in choices:
            raise self.error(
                key, f"expected {key} to be one of {', '.join(choices)}, got {value!r:.100}"
            )
        return str(value)

    def number(
        self, key: str, default: float, least: float, most: float, is_whole: bool = False
    ) -> float:
        value = self.tree.get(key)
        if value is None:
            return default
        number = decimal_of(value) if isinstance(value, str) else None
        if number is None or not least <= number <= most or (is_whole and number != int(number)):
            kind = "a whole number" if is_whole else "a number"
            raise self.error(
                key, f"expected {kind} from {least:g} to {most:g} for {key}, got {value!r:.100}"
            )
        return number

    def moment(self, key: str) -> float | None:
        """Return a date or a time in UTC, unless it says otherwise, in seconds since 1970."""
        value = self.tree.get(key)
        if value is None:
            return None
        try:
            moment = datetime.datetime.fromisoformat(str(value))
        except ValueError:
            raise self.error(
                key,
                f"expected a date or a time such as 2026-03-01T09:00 for {key}, got {value!r:.100}",
            ) from None
        return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()


def _all_text(value: Mapping[Any, Any]) -> bool:
    return all(isinstance(text, str) and text for pair in value.items() for text in pair)
