"""The page "How podium compares" cites figures that benchmarks and results have, with their commands."""

import re

import pytest

from tests.support.paths import DOCS

PAGE = (DOCS / "compared.md").read_text()


def table_rows(heading):
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


SPEED, QUALITY = table_rows("Speed"), table_rows("Quality")


@pytest.mark.parametrize("row", SPEED, ids=lambda row: f"{row[0][:40]}, {row[2][:12]}")
def test_figures_of_speed_are_those_of_the_benchmarks(row):
    _, podium, peer, command = row
    benchmarks = (DOCS / "benchmarks.md").read_text().split("\n## ")
    (section,) = (part for part in benchmarks if f"{command}, " in part)
    for cell in (podium, peer):
        figure = re.search(r"\d[\d,.]* m?s(, \d+ MB)?", cell)[0]
        assert f" {figure} " in section
    name = re.match(r"[\w.]+", peer)[0]
    assert re.search(
        rf"{name}\b[^\n]* {re.escape(re.search(r'[0-9][0-9,.]* m?s', peer)[0])}", section, re.I
    )


@pytest.mark.parametrize("row", QUALITY, ids=lambda row: row[0])
def test_figures_of_quality_are_those_of_the_results(row):
    results = (DOCS / "results.md").read_text()
    section = results.split("## auto beside tuned libraries\n")[1].split("\n## ")[0]
    line = next(line for line in section.splitlines() if line.startswith(f"| {row[0]} | 0."))
    assert all(cell in line.split(" | ") for cell in row[1:] if cell)


def test_there_are_figures():
    assert len(SPEED) > 8
    assert len(QUALITY) == 5
