"""Pins and licences of what podium depends on."""

import re

import pytest
from packaging.requirements import Requirement

from tests.support.paths import ROOT
from tools import constraints, licences
from tools.requirements import requirements


def test_every_dependency_has_a_pin_inside_its_range():
    assert list(constraints.faults(constraints.FILE.read_text())) == []
    connectors = constraints.CONNECTORS_FILE.read_text()
    assert list(constraints.faults(connectors, for_connectors=True)) == []
    without = connectors.replace("torch==", "torches==")
    assert list(constraints.faults(without, for_connectors=True)) == ["torch (torch) has no pin"]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (r"^numpy==.*\n", "", "numpy (core) has no pin"),
        (r"^numpy==.*$", "numpy==1.26.4", "numpy (core) is pinned to 1.26.4, outside >=2.0.1"),
        (r"^ranx==.*\n", "", "ranx (bench) has no pin"),
        (r"\Z", "numpy==2.4.0\n", "numpy has a second pin"),
        (r"\Z", "--index-url https://example.org/simple\n", "expected name==version"),
        (r"\Z", "x @ https://example.org/x.whl\n", "expected name==version"),
    ],
)
def test_a_wrong_pin_is_noticed(old, new, fault):
    text = re.sub(old, new, constraints.FILE.read_text(), count=1, flags=re.MULTILINE)
    assert any(fault in told for told in constraints.faults(text))


def test_requirements_are_those_of_every_extra_but_podium_itself():
    found = requirements()
    assert {"core", "arrow", "report", "web", "export", "bench", "dev"} <= set(found)
    assert found["all"] == []
    assert "podium-ltr" not in {one.name for group in found.values() for one in group}


def test_make_installs_by_the_pins_and_the_demo_with_what_it_names():
    makefile = (ROOT / "Makefile").read_text()
    installs = [line for line in makefile.splitlines() if " -e '." in line]
    assert len(installs) == 4
    assert all(line.startswith("\t$(PIP_INSTALL) ") for line in installs[:3])
    assert " -c constraints-connectors.txt -e '.[connectors]'" in installs[3]
    assert "pip install --quiet --disable-pip-version-check $(CONSTRAINTS)" in makefile
    assert installs[0].endswith("'.[report,web]'")


@pytest.mark.parametrize(
    "statement",
    ["MIT", "LGPL-3.0-only", "GNU Lesser General Public License v3 (LGPLv3)", "MPL-2.0",
     "GNU Library or Lesser General Public License (LGPL)", "GPL-2.0-only OR MIT",
     "MIT AND (BSD-3-Clause OR GPL-3.0-only)", "GPL-3.0-or-later WITH GCC-exception-3.1"],
)  # fmt: skip
def test_licences_that_podium_may_depend_on(statement):
    assert licences.is_allowed(statement)


@pytest.mark.parametrize(
    "statement",
    ["GPL", "GPLv3", "GPL-3.0-or-later", "AGPL-3.0-only", "MIT AND GPL-2.0-only",
     "GPL-2.0-only AND (MIT OR BSD-3-Clause)", "GNU General Public License v2 (GPLv2)",
     "GNU Affero General Public License v3",
     "GNU Lesser General Public License v3 AND GNU General Public License v2",
     "(GPL-2.0-only OR AGPL-3.0-only) AND MIT"],
)  # fmt: skip
def test_licences_that_podium_must_not_depend_on(statement):
    assert not licences.is_allowed(statement)
    found = licences.Dependency("x", "MIT", ("MIT", statement), ("core",))
    assert found.fault == f"x is under {statement}"


def test_a_distribution_without_a_licence_is_a_fault():
    assert "states no licence" in licences.Dependency("x", "", (), ("core",)).fault


def test_peers_are_judged_also_where_one_is_not_installed(monkeypatch):
    wanted = [Requirement("numpy"), Requirement("no-such-peer")]
    monkeypatch.setattr(licences, "requirements", lambda: {"bench": wanted})
    assert [one.name for one in licences._peers()] == ["numpy"]


def test_what_podium_runs_on_has_licences_that_it_may_depend_on():
    found = licences.dependencies(["core", "web"])
    assert [one.fault for one in found if one.fault] == []
    (driver,) = [one for one in found if one.name == "psycopg"]
    assert "LGPL" in driver.licence.replace("Lesser General Public License", "LGPL")
    assert driver.extras == ("web",)


def test_the_page_parts_what_podium_runs_on_from_what_its_development_needs():
    found = [
        licences.Dependency("numpy", "BSD-3-Clause", ("BSD-3-Clause",), ("core",)),
        licences.Dependency("ruff", "MIT", ("MIT",), ("dev",)),
    ]
    runtime, _, development = licences.page(found).partition("## What only its development needs")
    assert "| numpy | BSD-3-Clause | core |" in runtime
    assert "| ruff | MIT |" in development
    assert "ruff" not in runtime
