"""``podium doctor`` and ``podium --version --verbose``: findings about the installation."""

import importlib.metadata
import json
import os
import time

import pytest

from podium import kernels
from podium.apps.cli.inputs import installation
from tests.support.cli import run


def finding(subject):
    return next(f for f in installation.inspect_installation() if f.subject == subject)


def test_all_is_well_where_the_tests_run():
    report = json.loads(run("doctor", "--json").stdout)
    problems = [f for f in report["findings"] if f["state"] == "problem"]
    assert problems == []
    assert report["packages"]["numpy"] == importlib.metadata.version("numpy")
    assert "kernels" in run("doctor").stdout


def test_slow_kernels_are_a_problem_unless_they_were_asked_for(monkeypatch):
    monkeypatch.setattr(kernels, "BACKEND", "reference")
    monkeypatch.setenv("PODIUM_BACKEND", "reference")
    assert finding("kernels").state == "note"
    monkeypatch.delenv("PODIUM_BACKEND")
    assert finding("kernels").state == "problem"
    assert "install g++" in finding("kernels").advice
    assert run("doctor", code=1).stdout.count("problem") == 1


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    version = importlib.metadata.version

    def without_pyarrow(name):
        if name == "pyarrow":
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", without_pyarrow)
    assert finding("extra arrow").text == "missing: pyarrow"
    assert finding("extra arrow").advice.endswith("pip install 'podium-ltr[arrow]'")
    assert finding("extra web").state == "ok"
    assert "pyarrow (not installed)" in run("--version", "--verbose").stdout


def test_a_folder_that_cannot_be_written_to_is_a_problem(monkeypatch, tmp_path):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(installation.tempfile, "NamedTemporaryFile", refuse)
    monkeypatch.chdir(tmp_path)
    assert finding("this folder").text == f"{tmp_path} cannot be written to (Permission denied)"
    assert finding("temporary files").advice == "set TMPDIR to a folder of yours"


def test_a_folder_that_was_removed_is_a_problem(monkeypatch, tmp_path):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert finding("this folder").state == "problem"
    assert finding("this folder").text.endswith("cannot be written to (No such file or directory)")


@pytest.mark.parametrize(
    ("marker", "is_needed"),
    [
        ("", True),
        ("; extra == 'web'", True),
        ("; extra == 'ir-datasets'", False),  # no extra of users, and no package of podium itself
        ("; python_version >= '3.9' and extra == 'web'", True),
        ("; python_version < '3.10'", False),
        ("; python_full_version > '4'", False),
        ("; sys_platform == 'no such system' and python_version > '3.9'", False),
        ("; sys_platform != 'no such system'", True),
        ("; sys_platform == 'x' or sys_platform == 'y'", True),
    ],
)
def test_requirements_of_other_systems_are_not_missing(monkeypatch, marker, is_needed):
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: [f"no-such-package{marker}"])
    assert ("no-such-package" in installation.installed_packages()) == is_needed


def test_a_clock_before_the_installation_is_a_problem(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert finding("clock").state == "problem"
    assert finding("clock").text.startswith("1970-01-01 00:00 UTC")


@pytest.mark.parametrize(("free", "state"), [(10**8, "problem"), (10**10, "ok"), (None, "note")])
def test_free_memory(monkeypatch, free, state):
    monkeypatch.setattr(installation, "free_memory", lambda: free)
    assert finding("memory").state == state


def test_a_limit_of_threads_is_noted(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", str(os.cpu_count() + 1))
    assert finding("threads").state == "note"
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert finding("threads").state == "ok"


def test_verbose_needs_version():
    assert "expected --version" in run("--verbose", code=2).stderr
