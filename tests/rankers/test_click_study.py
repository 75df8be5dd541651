"""The study of learning from clicks: cells that are kept, and the section of the results."""

import json
from dataclasses import asdict

import pytest

from benchmarks import click_learning
from benchmarks.click_learning import CANDIDATES, COLUMNS, DRAWS, ClickCell, cells, kept, section


def a_result(**values):
    numbers = dict.fromkeys(COLUMNS, 0.4) | {"production": 0.3, "labels": 0.5} | values
    chosen = "ips" if values.get("guard", 0.4) != 0.4 else "none"
    return {"values": numbers, "best": "ips", "chosen": chosen, "seconds": 30.0}


def keep(path, results):
    lines = [
        json.dumps({"cell": asdict(cell), "podium": "1", "result": result})
        for cell, result in results.items()
    ]
    path.write_text("\n".join(lines) + '\n{"cell": {"prob')  # a killed run


@pytest.fixture
def results(tmp_path, monkeypatch):
    path = tmp_path / "cells.jsonl"
    monkeypatch.setattr(click_learning, "CELLS", path)
    return path


@pytest.mark.filterwarnings("ignore::podium.errors.NotConvergedWarning")  # dual learning says so
def test_a_quick_cell_measures_every_way_to_learn():
    cell = ClickCell("generated", "one feature", "pbm", 20, 0)
    result = cell.measure()
    assert set(result["values"]) == set(COLUMNS)
    assert result["values"]["production"] < result["values"]["dr"] <= 1
    assert result["best"] in CANDIDATES
    assert result["values"]["guard"] == result["values"][result["chosen"]]
    assert cell.measure()["values"] == result["values"]


def test_all_settings_come_before_the_next_draw():
    every = list(cells())
    assert len(every) == 2 * 3 * 3 * 3 * DRAWS == len(set(every))
    assert {cell.draw for cell in every[:54]} == {0}


def test_finished_cells_are_not_measured_again(results, monkeypatch):
    [first, second, *_] = cells()
    keep(results, {first: a_result()})
    assert kept() == {first: a_result()}
    measured = []
    monkeypatch.setattr(ClickCell, "measure", lambda cell: measured.append(cell) or a_result())
    monkeypatch.setattr(click_learning, "cells", lambda: [first, second])
    results.write_text(results.read_text().rpartition("\n")[0] + "\n")
    click_learning.run(minutes=1e9)
    assert measured == [second]
    assert set(kept()) == {first, second}


def test_the_section_has_every_row_and_says_where_the_guard_lost(results):
    rows = {
        ClickCell("MQ2008", "one feature", "pbm", 20, draw): a_result(guard=0.3 + draw / 1000)
        for draw in range(4)
    }
    rows[ClickCell("OHSUMED", "20 judged queries", "dbn", 1, 0)] = a_result(ips=None)
    keep(results, rows)
    text = "\n".join(section())
    assert "measured 5 of 540 planned cells" in text
    assert "| MQ2008 | one feature | pbm | 20 | 4 | 0.3000 |" in text
    assert "| 50% | 4 of 4 | < 0.001 |" in text
    assert "| OHSUMED | 20 judged queries | dbn | 1 | 1 | 0.3000 | 0.4000 | - |" in text
    assert "below in 1 of 2 settings; significantly below (5%, Holm over the 1 settings" in text
    assert "MQ2008 pbm 50%" in text
