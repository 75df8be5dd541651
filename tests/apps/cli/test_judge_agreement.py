"""The command judge agreement."""

import pytest

from podium.labelling.machines.simulated_endpoint import SimulatedEndpoint
from podium.labelling.store import Store
from tests.support.cli import answer, flat, run
from tests.support.judged_by_machines import let_people_judge
from tests.support.machines import assess, client_of, judge_numbers, numbered_pool


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agreement")
    pool = numbered_pool(4, 6)
    with Store.open(folder / "judgments.db") as opened:
        opened.add_pool(pool)
        let_people_judge(opened, pool, queries=3)
        model = judge_numbers(noise=0.2)
        with SimulatedEndpoint(model) as server, client_of(server.url, folder) as client:
            assess(opened, client)
    for name, order in (("up", range(6)), ("down", range(5, -1, -1))):
        lines = [
            f"q{q} Q0 d{d} 1 {s} {name}\n"
            for q in range(4)
            for d, s in zip(range(6), order, strict=True)
        ]
        (folder / f"{name}.run").write_text("".join(lines))
    rows = [f"0 qid:q{q} 1:{d} 2:{d * d % 5} #docid = d{d}\n" for q in range(4) for d in range(6)]
    (folder / "features.txt").write_text("".join(rows))
    return folder / "judgments.db"


def test_tables_page_and_json(store, tmp_path):
    page = tmp_path / "agreement.html"
    runs = ("--run", store.with_name("up.run"), "--run", store.with_name("down.run"))
    out = run("judge", "agreement", store, "-o", page, *runs, "--resamples", 50)
    text = flat(out.stdout)
    for words in ("m and people agree on", "Biases and self-consistency", "Kendall's tau 1.000",
                  "What people should judge", "q3"):  # fmt: skip
        assert words in text
    assert 'id="systems"' in page.read_text()
    result = answer("judge", "agreement", store, "--machine", "m", "--resamples", 50)
    assert result["judged"]["machine"]["answers"] > 0
    assert result["systems"] is None
    refused = run("judge", "agreement", store, "-o", page, code=2)
    assert "--force" in refused.stderr


def test_rankers_are_trained_with_both_truths(store):
    features = ("--features", store.with_name("features.txt"), "--rankers", "regression,ranksvm")
    result = answer("judge", "agreement", store, *features, "--metric", "NDCG@3", "--resamples", 20)
    assert result["systems"]["metric"] == "NDCG@3"
    assert {row["system"] for row in result["systems"]["systems"]} == {"regression", "ranksvm"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--run", "up.run"), "two or more runs"),
        (("--features", "features.txt"), "--features with --rankers"),
        (("--features", "features.txt", "--rankers", "regression"), "each once"),
        (("--features", "features.txt", "--rankers", "regression,guess"), "guess"),
        (("--run", "up.run", "--features", "features.txt"), "got both"),
        (("-o", "page.pdf"), ".html"),
        (("--metric", "nonsense"), "nonsense"),
    ],
)
def test_wrong_options(store, options, words):
    paths = [store.with_name(o) if o.endswith((".run", ".txt")) else o for o in options]
    assert words in flat(run("judge", "agreement", store, *paths, code=2).stderr)


def test_export_asks_whose_judgments_become_truth(store, tmp_path):
    path = tmp_path / "truth.csv"
    refused = run("judge", "export", store, "-o", path, code=2)
    assert "--judged-by people, machines or both" in flat(refused.stderr)
    out = run("judge", "export", store, "-o", path, "--judged-by", "both")
    assert "judged by people and machines" in flat(out.stderr)
    assert (
        answer("judge", "export", store, "-o", path, "--force", "--judged-by", "people")[
            "judged_by"
        ]
        == "people"
    )
