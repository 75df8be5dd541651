"""The files of deploy/ name options and figures that exist."""

import json
import re
from pathlib import Path

import pytest
import yaml

from podium.apps.serving.prometheus_metrics import ServingMetrics
from tests.support.cli import run

DEPLOY = Path(__file__).parents[3] / "deploy"


def commands():
    """The command lines of podium in the files, by file."""
    for name in ("podium-serve.service", "podium-judge.service"):
        text = (DEPLOY / name).read_text().replace("\\\n", " ")
        yield name, re.search(r"ExecStart=\S*/podium (.*)", text)[1]
    for name, service in yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"].items():
        if "command" in service:
            yield f"compose {name}", service["command"]


@pytest.mark.parametrize(("file", "command"), list(commands()))
def test_commands_have_options_that_exist(file, command):
    words = command.split()
    subcommand = words[:2] if words[0] == "judge" else words[:1]
    known = set(re.findall(r"--[a-z][a-z-]*", run(*subcommand, "--help").stdout))
    options = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert options
    assert options <= known


def figures():
    """The names of the service's figures, as Prometheus stores them."""
    metrics = ServingMetrics()
    metrics.count_request("/v1/rank", 200, 0.01)
    metrics.count_list("/v1/rank", 3, True)
    metrics.count_reload("rules", True)
    return set(re.findall(r"^(podium_\w+)", metrics.page().decode(), re.MULTILINE))


@pytest.mark.parametrize("name", ["grafana.json", "alerts.yaml"])
def test_figures_exist(name):
    text = (DEPLOY / name).read_text()
    named = set(re.findall(r"podium_\w+", text))
    assert len(named) > 3
    assert named <= figures()


def test_the_board_and_the_alerts_are_whole():
    board = json.loads((DEPLOY / "grafana.json").read_text())
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    assert all(panel["targets"] for panel in board["panels"])
    (group,) = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"]
    assert all(rule["expr"] and rule["annotations"]["summary"] for rule in group["rules"])


def test_containers_are_neither_root_nor_writable():
    assert re.search(r"^USER podium$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    for name in ("serve", "judge"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
