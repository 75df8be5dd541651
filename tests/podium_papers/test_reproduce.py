"""``podium reproduce``: every paper in a reduced form, what is missing, how it goes on, what is wrong."""

import csv
import json
import re
import shutil
from dataclasses import asdict, replace

import msgspec
import numpy as np
import pytest

from podium.data import RankingData, kfold, make_synthetic, split, write_letor
from podium.errors import DataError
from podium.experiments.folds import read_folds
from podium_papers import (
    cfbrs,
    data_sets,
    pages,
    rankopt,
    reproductions,
    rpc_mtl,
    toprank,
)
from podium_papers.rankopt import times as rankopt_times
from podium_papers.records import PaperRecord
from podium_papers.registry import PAPERS
from podium_papers.rpc_mtl import data_sets as rpc_mtl_data
from podium_papers.rpc_mtl import times as rpc_mtl_times
from tests.support.case_counts import IS_SOAK
from tests.support.cli import answer, flat, run

REAL_DATA = [
    ("cfbrs", "", {"MQ2008": (784, 15_211)}),
    ("rankopt", "MQ2008", {"MQ2008": (784, 15_211)}),
    # These take half a minute. Their quick runs are in make soak, and their own tests read the same data.
    *(
        [
            ("rpc-mtl", "", {"MQ2008 orders": (784, 15_211)}),
            ("toprank", "OHSUMED", {"OHSUMED": (106, 16_140)}),
            ("topk", "", {"MQ2008": (784, 15_211), "OHSUMED": (106, 16_140)}),
        ]
        if IS_SOAK
        else []
    ),
]

SOURCES = {
    "toprank": ["OHSUMED", "MQ2008"],
    "topk": ["MQ2008", "OHSUMED"],
    "cfbrs": ["MQ2008"],
    "rankopt": ["MQ2008", "OHSUMED"],
    "rpc-mtl": ["MQ2008 orders"],
}
"""What each paper finds in the folder of the tests."""


def reduced_cfbrs(data, **settings):
    [(name, folds)] = data.items()
    few = {"bases": ["ranksvm"], "min_block": 15, "seeds": [0]}
    return cfbrs.reproduce(folds, data=name, **few, **settings)


run_toprank = PAPERS["toprank"].run


def reduced_toprank(data, **settings):
    return run_toprank({name: folds[:1] for name, folds in data.items()}, **settings)


@pytest.fixture(autouse=True)
def _smaller(monkeypatch):
    """Quick runs in seconds: fewer compositions, folds, rounds and generated lists."""
    monkeypatch.setattr("podium_papers.topk.rankers.QUICK_BOOSTING_ROUNDS", 10)
    monkeypatch.setitem(PAPERS, "toprank", replace(PAPERS["toprank"], run=reduced_toprank))
    monkeypatch.setitem(PAPERS, "cfbrs", replace(PAPERS["cfbrs"], run=reduced_cfbrs))
    sizes = {rpc_mtl_data.SHORT: (6, 10), rpc_mtl_data.LONG: (6, 12)}
    monkeypatch.setattr(rpc_mtl_data, "GENERATED_LISTS", sizes)
    monkeypatch.setattr(rpc_mtl_times, "QUICK_TIMED_SIZES", ((6, 10),))


def places(data, seed=0):
    """Places that three rankers give the documents of each query."""
    rng = np.random.default_rng(seed)
    ranks = [data.groups.ranks(rng.random(len(data))) for _ in range(3)]
    return RankingData.from_arrays(
        np.column_stack(ranks).astype(float), data.y,
        qid=data.groups.spread(data.qids), docid=data.docids,
    )  # fmt: skip


@pytest.fixture(scope="module")
def letor(tmp_path_factory):
    """A folder with small generated sets under LETOR's names, in both of its layouts."""
    root = tmp_path_factory.mktemp("letor")
    make = {"n_queries": 24, "n_docs": (11, 14), "noise": 1.0}
    (root / "MQ2008").mkdir()
    (root / "MQ2008-agg").mkdir()
    for i, part in enumerate(split(make_synthetic(**make, n_features=46, seed=1), [1 / 3] * 3), 1):
        write_letor(part, root / "MQ2008" / f"S{i}.txt.gz")
        write_letor(places(part), root / "MQ2008-agg" / f"A{i}.txt")
    parts = split(make_synthetic(**make, n_features=6, seed=2), [1 / 3] * 3)
    for i in range(3):
        fold = root / "OHSUMED" / "QueryLevelNorm" / f"Fold{i + 1}"
        fold.mkdir(parents=True)
        for j, name in enumerate(("trainingset", "validationset", "testset")):
            write_letor(parts[(i + j) % 3], fold / f"{name}.txt")
    return root


class Made(dict):
    """Name -> folder and answer of a paper that was run once, when it is first asked for."""

    def __init__(self, letor, new_folder):
        super().__init__()
        self.letor, self.new_folder = letor, new_folder

    def __missing__(self, name):
        out = self.new_folder(name)
        options = ("--data", self.letor, "--out", out, "--quick", "--jobs", 1)
        self[name] = out, answer("reproduce", name, *options)
        return self[name]


@pytest.fixture(scope="module")
def made(letor, tmp_path_factory):
    return Made(letor, tmp_path_factory.mktemp)


@pytest.fixture(scope="module", params=PAPERS)
def name(request):
    """Each paper in turn; as a fixture of the file, so that all tests of a paper follow each other."""
    return request.param


@pytest.fixture
def rankopt_figures(made, monkeypatch):
    """The figures of rankopt are those of an earlier run: what a test does not look at is not drawn again."""
    figures = made["rankopt"][0] / "figures"

    def copy(record, folder):
        shutil.copytree(figures, folder, dirs_exist_ok=True)

    monkeypatch.setitem(PAPERS, "rankopt", replace(PAPERS["rankopt"], draw=copy))


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as text:
        return list(csv.reader(text))


# --- every paper


def test_a_paper_is_written_whole(made, name):
    folder, told = made[name]
    assert [one["name"] for one in told["data"]] == SOURCES[name]
    assert [one["n_queries"] for one in told["data"]] == [24] * len(SOURCES[name])
    assert told["claims"] > 5
    found = PaperRecord.from_json((folder / f"{name}.json").read_bytes()).found
    # Of a quick run none is judged.
    assert (told["claims"], told["hold"]) == (len(PAPERS[name].claims(found)), None)
    text = (folder / f"{name}.md").read_text()
    assert text.startswith(f"# {PAPERS[name].title}\n")
    assert f"`podium reproduce {name} --data " in text
    assert "**A quick run**" in text
    assert f"with podium {reproductions.version('podium-ltr')} on 2" in text
    for one in told["data"]:
        assert f"| {one['name']} | 24 | {one['n_documents']:,} |" in text
        assert one["fingerprint"][:12] in text
    for one in told["missing"]:
        assert f"- {one['name']}: {one['needs']}." in text


def test_every_figure_of_the_page_is_there_and_no_other(made, name):
    folder, _ = made[name]
    named = re.findall(r"\]\((figures/[^)]+)\)", (folder / f"{name}.md").read_text())
    assert sorted(named) == sorted(str(p.relative_to(folder)) for p in folder.glob("figures/*.svg"))
    assert named
    assert all((folder / figure).read_bytes().startswith(b"<?xml") for figure in named)


def test_every_table_of_the_page_is_a_csv_file(made, name):
    folder, _ = made[name]
    tables = list(pages.find_tables((folder / f"{name}.md").read_text()))
    files = sorted((folder / "tables").glob(f"{name}-*.csv"))
    assert len(files) == len(tables) > 2
    for file, (_, rows) in zip(files, tables, strict=True):
        assert rows_of(file) == rows
        assert len({len(row) for row in rows}) == 1
        assert not any("**" in cell for row in rows for cell in row)


def test_the_html_page_needs_nothing_beside_it(made, name):
    folder, _ = made[name]
    text = (folder / f"{name}.html").read_text()
    sources = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert len(sources) == len(list(folder.glob("figures/*.svg")))
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert "prefers-color-scheme: dark" in text
    assert text.count("<table>") == len(list((folder / "tables").glob("*.csv")))
    assert "<script" not in text


def test_results_are_strict_json_that_can_be_read_back(made, name):
    folder, _ = made[name]

    def no_number(text):
        raise AssertionError(f"{text} is no JSON")

    text = (folder / f"{name}.json").read_text()
    assert json.loads(text, parse_constant=no_number)["paper"] == name
    record, told = pages.read_record(name, folder)
    assert record.to_json() == text
    assert pages.page(record, told) == (folder / f"{name}.md").read_text()
    paper = PAPERS[name]
    assert msgspec.convert(paper.unpack(paper.pack(record.found)), paper.result) == record.found


def test_the_same_bytes_with_another_number_of_processes(made, letor, tmp_path):
    """Of one paper, to the last file; the tests of each other paper hold its results equal."""
    paper = "rpc-mtl"
    run("reproduce", paper, "--data", letor, "--out", tmp_path, "--quick", "--jobs", 2)
    folder, _ = made[paper]
    for path in (
        folder / f"{paper}.json",
        *folder.glob("figures/*"),
        # Times and seconds are no part of what the seed says.
        *(p for p in folder.glob("tables/*") if not re.search("-(time|a-whole-fit)", p.name)),
    ):
        assert path.read_bytes() == (tmp_path / path.relative_to(folder)).read_bytes(), path.name


@pytest.mark.usefixtures("rankopt_figures")
def test_another_seed_is_another_result(made, letor, tmp_path):
    options = ("--data", letor, "--out", tmp_path, "--quick", "--jobs", 1)
    run("reproduce", "rankopt", *options, "--seed", 3)
    folder, _ = made["rankopt"]
    assert (tmp_path / "rankopt.json").read_bytes() != (folder / "rankopt.json").read_bytes()
    assert "--seed 3" in (tmp_path / "rankopt.md").read_text()


# --- printed values


def test_printed_times_stand_beside_ours_where_the_paper_has_the_data(made):
    folder, _ = made["rankopt"]
    [file] = (folder / "tables").glob("*-time.csv")
    rows = {row[0]: row[1:] for row in rows_of(file)}
    assert [rows[name][0] for name in ("MQ2008", "OHSUMED")] == ["4.24", "134.53"]
    assert re.fullmatch(r"[\d.]+", rows["MQ2008"][1])  # a few queries are not the paper's data


def test_printed_times_are_compared_with_all_of_the_papers_own_data():
    lines = rankopt_times.time_sections({"MQ2008": {"uniform": 0.02}, "shop": {"uniform": 0.02}})
    assert f"| MQ2008 | 4.24 | 0.0200 ({4.24 / 0.02:.0f}x) |  |  |" in lines
    assert "| shop |  | 0.0200 |  |  |" in lines


def test_a_command_is_no_markup(made):
    record, told = pages.read_record("toprank", made["toprank"][0])
    command = "podium reproduce toprank --data 'a`<script>x</script>`b\n\n<script>y</script>'"
    page = pages.html_page(pages.page(record, replace(told, command=command)), made["toprank"][0])
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_printed_values_are_not_compared_with_a_few_queries(made):
    folder, _ = made["cfbrs"]
    [file] = (folder / "tables").glob("*-table-1.csv")
    heads, first, *_ = rows_of(file)
    assert heads[:2] == ["smallest block", "printed"]
    assert first[1] == "0.40 / 0.44 / 0.40"
    assert "less printed" not in heads


def test_printed_values_are_compared_with_all_of_the_papers_own_data(made):
    record, told = pages.read_record("cfbrs", made["cfbrs"][0])
    whole = replace(record, quick=False, found=replace(record.found, quick=False))
    table = dict(pages.find_tables(pages.page(whole, told)))["Table 1"]
    [row] = [row for row in table if row[0] == "15"]
    cells = [list(map(float, cell.split(" / "))) for cell in row[1:4]]
    assert table[0][3] == "less printed"
    assert cells[2] == pytest.approx(np.subtract(cells[1], cells[0]).tolist(), abs=1e-9)
    other = replace(whole, found=replace(whole.found, data="MQ2007"))
    assert "less printed" not in pages.page(other, told)


# --- data


def test_every_layout_is_found(letor, tmp_path):
    found = data_sets.find_data_sets(letor)
    assert {name: path.name for name, path in found.items()} == {
        "MQ2008": "MQ2008", "MQ2008-agg": "MQ2008-agg", "OHSUMED": "QueryLevelNorm",
    }  # fmt: skip
    assert len(read_folds(found["OHSUMED"])) == 3
    assert list(data_sets.find_data_sets(letor / "MQ2008")) == ["MQ2008"]
    for path in (
        "Gov/QueryLevelNorm/2003_td_dataset/Fold1",
        "a/b/c/MQ2007/Fold1",
        ".x/MQ2007/Fold1",
    ):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "scored-items.csv").write_text("a,score\n")
    assert list(data_sets.find_data_sets(tmp_path)) == ["TD2003", "scored-items.csv"]


def test_normalised_features_are_preferred(tmp_path):
    for name in ("Feature-min", "QueryLevelNorm", "Zzz"):
        (tmp_path / "OHSUMED" / name / "Fold1").mkdir(parents=True)
    assert data_sets.find_data_sets(tmp_path)["OHSUMED"].name == "QueryLevelNorm"


def test_rankings_have_every_query_once(letor):
    parts = data_sets.read_rankings(letor / "MQ2008-agg")
    assert len({q for part in parts for q in part.qids.tolist()}) == 24
    assert sum(part.n_queries for part in parts) == 24


def test_what_is_missing_is_named_with_what_it_needs(made):
    _, told = made["toprank"]
    needs = {one["name"]: one["needs"] for one in told["missing"]}
    assert list(needs) == ["TD2003", "TD2004", "MQ2007"]
    assert needs["TD2003"].startswith(
        "LETOR 3.0, QueryLevelNorm: folder TD2003 with Fold1 ... Fold5"
    )
    assert "train.txt, vali.txt and test.txt" in needs["MQ2007"]
    _, told = made["topk"]
    assert [one["name"] for one in told["missing"]] == ["MQ2007", "MQ2007-list", "TD2003"]
    _, told = made["rpc-mtl"]
    assert [one["name"] for one in told["missing"]] == [
        "MQ2007-list",
        "MQ2008-list",
        "scored items",
    ]


def test_a_data_set_of_another_name_will_do_where_grades_are_all_it_takes(letor, tmp_path):
    own = tmp_path / "our <shop>"
    (own).mkdir()
    for path in (letor / "OHSUMED" / "QueryLevelNorm").iterdir():
        (own / path.name).symlink_to(path)
    options = ("--data", own, "--out", tmp_path / "out", "--quick", "--jobs", 1)
    told = answer("reproduce", "rankopt", *options)
    assert [one["name"] for one in told["data"]] == ["our -shop-"]
    assert "| our -shop- | 24 |" in (tmp_path / "out" / "rankopt.md").read_text()
    result = run("reproduce", "cfbrs", "--data", own, "--out", tmp_path / "none", code=1)
    assert "got none; put one of these there" in flat(result.output)
    assert not (tmp_path / "none").exists()


def test_too_few_features_for_the_users_are_refused(letor):
    with pytest.raises(DataError, match="expected 46 features, which users look at, got 6"):
        cfbrs.reproduce(read_folds(letor / "OHSUMED" / "QueryLevelNorm"), quick=True)


# --- going on


@pytest.mark.usefixtures("rankopt_figures")
def test_a_run_that_was_ended_goes_on(made, letor, tmp_path, monkeypatch):
    options = ("reproduce", "rankopt", "--data", letor, "--out", tmp_path, "--quick", "--jobs", 1)
    paper, done = PAPERS["rankopt"], []

    def stopped(data, callback, **settings):
        def count(step):
            callback(step)
            done.append(step)
            if len(done) == 2:
                raise KeyboardInterrupt

        return paper.run(data, callback=count, **settings)

    with monkeypatch.context() as patch:
        patch.setitem(PAPERS, "rankopt", replace(paper, run=stopped))
        result = run(*options, code=130)
    assert "the same command resumes" in flat(result.output)
    assert len(list((tmp_path / "pieces" / "rankopt" / "quick-0").iterdir())) == 2
    assert not (tmp_path / "rankopt.json").exists()

    def counted(data, callback, **settings):
        def both(step):
            callback(step)
            done.append(step)

        return paper.run(data, callback=both, **settings)

    monkeypatch.setitem(PAPERS, "rankopt", replace(paper, run=counted))
    run(*options)
    assert [step.done for step in done] == list(range(1, 7))
    page = (tmp_path / "rankopt.md").read_text()
    assert "2 of 6 pieces of work had been done before." in page
    assert "done before" not in (made["rankopt"][0] / "rankopt.md").read_text()
    run(*options)
    assert "All of it had been done before." in (tmp_path / "rankopt.md").read_text()
    kept = (made["rankopt"][0] / "rankopt.json").read_bytes()
    assert (tmp_path / "rankopt.json").read_bytes() == kept


@pytest.mark.parametrize(
    ("paper", "options"), [(toprank, {"modes": ["paper"]}), (rankopt, {}), (rpc_mtl, {})]
)
def test_one_more_data_set_leaves_the_pieces_of_the_others_alone(paper, options, tmp_path):
    first, second = (
        kfold(make_synthetic(n_queries=30, n_docs=12, seed=seed), 3)[:1] for seed in (0, 1)
    )
    settings = {"quick": True, "keep": tmp_path, **options}
    paper.reproduce({"first": first}, **settings)
    done = []
    both = paper.reproduce({"first": first, "second": second}, callback=done.append, **settings)
    assert done
    assert all(step.what.startswith("second") for step in done)
    again = paper.reproduce({"first": first, "second": second}, quick=True, **options)
    assert asdict(both) == asdict(again)


def test_figures_and_tables_of_an_earlier_run_are_replaced(made, tmp_path):
    for path in ("figures/rankopt-old.svg", "tables/rankopt-99-old.csv", "tables/other.csv"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("old")
    pages.write(*pages.read_record("rankopt", made["rankopt"][0]), tmp_path)
    assert not (tmp_path / "figures" / "rankopt-old.svg").exists()
    assert not (tmp_path / "tables" / "rankopt-99-old.csv").exists()
    assert (tmp_path / "tables" / "other.csv").read_text() == "old"


# --- what is wrong


@pytest.mark.parametrize(("name", "told"), [("toprnk", ["toprank"]), ("bm25", list(PAPERS))])
def test_an_unknown_paper_is_answered_with_names(letor, tmp_path, name, told):
    result = run("reproduce", name, "--data", letor, "--out", tmp_path / "o", code=2)
    assert f"unknown paper '{name}'" in result.output
    assert all(paper in result.output for paper in told)
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("name", PAPERS)
def test_a_folder_without_data_is_answered_with_what_is_needed(tmp_path, name):
    (tmp_path / "empty").mkdir()
    result = run("reproduce", name, "--data", tmp_path / "empty", "--out", tmp_path / "o", code=1)
    text = flat(result.output)
    assert f"expected data for {name} in" in text
    assert all(data in text for source in PAPERS[name].sources for data in source.needs)
    assert text.count("Fold1 ... Fold5") <= 3  # each layout once, not once per data set
    assert not (tmp_path / "o").exists()


def test_other_wrong_commands(letor, tmp_path):
    options = ("reproduce", "rankopt", "--data")
    result = run(*options, tmp_path / "none", "--out", tmp_path / "o", code=1)
    assert "got no folder" in flat(result.output)
    run(*options, letor, "--out", tmp_path / "o", "--jobs", 0, code=2)
    run(*options, letor, code=2)
    (tmp_path / "file").write_text("")
    result = run(*options, letor, "--out", tmp_path / "file" / "o", code=1)
    assert "Traceback" not in result.output


def test_an_out_folder_that_cannot_be_written_is_told_before_the_work(letor, tmp_path, monkeypatch):
    def never(*_, **__):
        raise AssertionError("work has begun")

    monkeypatch.setitem(PAPERS, "rankopt", replace(PAPERS["rankopt"], run=never))
    monkeypatch.setattr(reproductions, "read_sources", never)

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    result = run("reproduce", "rankopt", "--data", letor, "--out", tmp_path / "o", code=1)
    assert "Permission denied" in result.output


def test_parts_that_cannot_be_read_are_named(letor, tmp_path):
    (tmp_path / "MQ2008").mkdir()
    for i in (1, 2, 3):
        (tmp_path / "MQ2008" / f"S{i}.txt").write_text("0 qid:1 1:x\n")
    result = run("reproduce", "toprank", "--data", tmp_path, "--out", tmp_path / "o", code=1)
    assert "S1.txt" in flat(result.output)


def test_help_has_an_example():
    text = flat(run("reproduce", "--help").output)
    assert "podium reproduce toprank --data LETOR" in text
    whole = text.replace(" ", "")  # lines may be broken within a name
    assert all(name in whole for name in PAPERS)


# --- the data at hand


def test_real_folders_are_found_and_read(shared_data):
    there, missing = reproductions.find_sources(PAPERS["topk"], shared_data)
    assert [source.name for source, _ in there] == ["MQ2008", "OHSUMED"]
    assert [one.name for one in missing] == ["MQ2007", "MQ2007-list", "TD2003"]
    there, _ = reproductions.find_sources(PAPERS["rpc-mtl"], shared_data)
    [(name, folds)] = reproductions.read_sources(there).items()
    assert (name, len(folds), sum(f.test.n_queries for f in folds)) == ("MQ2008 orders", 5, 784)
    assert all(len(set(y)) == len(y) for y in _labels(folds[0].test))


def _labels(data):
    return [data.y[rows].tolist() for _, rows in data.queries()]


@pytest.mark.parametrize(("name", "folder", "expected"), REAL_DATA)
def test_a_paper_on_real_data(name, folder, expected, shared_data, tmp_path, monkeypatch):
    """The data beside the project, a few of its queries."""
    for paper, few in ((toprank, 10), (cfbrs, 5), (rankopt, 5)):
        monkeypatch.setattr(f"{paper.__name__}.experiments.QUICK_QUERIES", few)
    monkeypatch.setattr("podium_papers.rpc_mtl.experiments.QUICK_LISTS", 5)
    options = ("--data", shared_data / folder, "--out", tmp_path, "--quick", "--jobs", 1)
    told = answer("reproduce", name, *options)
    real = {one["name"]: (one["n_queries"], one["n_documents"]) for one in told["data"]}
    assert real == expected
    assert (tmp_path / f"{name}.html").exists()
