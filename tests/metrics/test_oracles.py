"""Metrics against other tools and brute force, on ragged random data full of ties."""

import itertools

import ir_measures
import lightgbm
import numpy as np
import pytest
import pytrec_eval
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import dcg_score, ndcg_score

from podium.data import (
    Groups,
    Qrels,
    RankingData,
    Run,
    Strings,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)
from podium.metrics import evaluate, parse

CUTS = (1, 2, 3, 5, 10, 1000)

ALL = [
    "NDCG", "NDCG@5", "NDCG(rule='letor')@3", "NDCG(rule='lightgbm')@5", "NDCG(rule='trec')@5",
    "NDCG(rule='sklearn')@5", "NDCG(gain='rank', ties='worst')", "DCG@3", "DCG(gain='rank-exp2')",
    "ERR@5", "ERR(r_max='query', ties='average')", "P@5", "P(rel=2, short='length')@5", "MAP",
    "MAP(rule='lightgbm')@5", "MAP(ties='average', empty='skip')@3", "MRR@5", "MRR(ties='worst')",
    "Recall@5", "Hit@2", "RBP", "RBP(p=0.5, ties='average')@3", "Tau", "Tau@3", "PairAccuracy",
]  # fmt: skip


def random_data(seed, n_queries=30, sizes=(1, 12), labels=4, p_empty=0.2, **options):
    """Ragged queries, some without a relevant document, and scores of few values."""
    rng = np.random.default_rng(seed)
    n = rng.integers(sizes[0], sizes[1] + 1, n_queries)
    qid = np.repeat(np.arange(n_queries), n)
    y = rng.integers(0, labels, len(qid)) * (rng.random(n_queries) >= p_empty)[qid]
    scores = rng.integers(-3, 4, len(qid)) / 2
    docid = [f"d{i}" for i in rng.permutation(len(qid))]
    X = np.zeros((len(qid), 1))
    return RankingData.from_arrays(X, y, qid=qid, docid=docid, **options), scores


def per_query(data, scores, metric):
    return evaluate(data, scores, [metric])[metric].per_query


def exactly(expected, tolerance=1e-12):
    return pytest.approx(np.asarray(expected), rel=tolerance, abs=tolerance, nan_ok=True)


# trec_eval


ALPHABET = [*"abcABC019-_.", "é", "ß", "中", "\U0001f3c5"]
LABELS = (-2, -1, 0, 0, 0, 1, 1, 2, 3)
SCORES = (0.0, -0.0, 0.5, 1.0, 1.0 + 1e-9, 1.0 - 1e-9, -1.5, 1e-50, 16777217.0, 16777216.0, 1e39)


def random_judgments(seed):
    """Qrels and a run that overlap in part, as dictionaries."""
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for q in range(25):
        pool = {"".join(rng.choice(ALPHABET, rng.integers(1, 4))) for _ in range(40)}
        pool = sorted(pool)
        rng.shuffle(pool)
        labels = LABELS if rng.random() > 0.15 else (-1, 0)
        qrels[f"q{q}"] = {d: int(rng.choice(labels)) for d in pool[: rng.integers(1, 25)]}
        if max(qrels[f"q{q}"].values()) < 0:  # trec_eval reads past its memory there
            qrels[f"q{q}"][pool[0]] = 0
        rng.shuffle(pool)
        if rng.random() > 0.15:
            n_kept = rng.integers(1, len(SCORES) + 1)
            kept = rng.choice(SCORES, n_kept)
            run[f"q{q}"] = {d: float(rng.choice(kept)) for d in pool[: rng.integers(1, 30)]}
    run["unjudged"] = {"a": 1.0}
    return qrels, run


def through_file(cls, table, path):
    """A dictionary -> Qrels or Run, written to a file and read back."""
    qids = np.empty(len(table), dtype=object)
    qids[:] = list(table)
    rows = [(d, v) for documents in table.values() for d, v in documents.items()]
    built = cls(
        qids,
        Groups.from_sizes([len(documents) for documents in table.values()]),
        Strings.of(d for d, _ in rows),
        np.array([float(v) for _, v in rows]),
    )
    if cls is Qrels:
        write_qrels(built, path)
        return read_qrels(path)
    write_run(built, path)
    return read_run(path)


def trec_names(rel=1):
    """Our name -> trec_eval's name, for every measure both have."""
    inside = "rule='trec'" if rel == 1 else f"ties='trec', rel={rel}"
    names = {f"MAP({inside})": "map", f"MRR({inside})": "recip_rank"}
    names["NDCG(rule='trec')"] = "ndcg"
    cut = [("P", "P"), ("MAP", "map_cut"), ("Recall", "recall"), ("Hit", "success")]
    for k in CUTS:
        names[f"NDCG(rule='trec')@{k}"] = f"ndcg_cut_{k}"
        names |= {f"{ours}({inside})@{k}": f"{theirs}_{k}" for ours, theirs in cut}
    return names


@pytest.mark.parametrize("rel", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_trec_rule_is_trec_eval(seed, rel, tmp_path):
    qrels, run = random_judgments(seed)
    names = trec_names(rel)
    families = ("P", "map_cut", "recall", "success", "ndcg_cut")
    measures = {f"{family}.{','.join(map(str, CUTS))}" for family in families}
    measures |= {"map", "recip_rank", "ndcg"}
    judge = pytrec_eval.RelevanceEvaluator(qrels, measures, relevance_level=rel)
    theirs = judge.evaluate(run)
    ours = evaluate(
        through_file(Qrels, qrels, tmp_path / "qrels"),
        through_file(Run, run, tmp_path / "run"),
        list(names),
    )
    assert ours.qids.tolist() == list(qrels)
    assert len(theirs) < len(qrels)
    for name, measure in names.items():
        expected = [theirs.get(qid, {}).get(measure, 0.0) for qid in qrels]
        assert ours[name].per_query == exactly(expected, 1e-9), name


def test_the_order_of_queries_and_documents_in_files_does_not_matter(tmp_path):
    qrels, run = random_judgments(9)
    judged = through_file(Qrels, qrels, tmp_path / "qrels")
    ranked = through_file(Run, run, tmp_path / "run")
    lines = (tmp_path / "run").read_text().splitlines(keepends=True)
    np.random.default_rng(0).shuffle(lines)
    (tmp_path / "shuffled").write_text("".join(lines))
    for metric in trec_names():
        one = evaluate(judged, ranked, metric)[metric].per_query
        other = evaluate(judged, read_run(tmp_path / "shuffled"), metric)[metric].per_query
        assert one.tobytes() == other.tobytes(), metric


def test_ties_in_single_precision_matter_to_trec_eval(tmp_path):
    qrels = {"q": {"a": 1, "b": 0}}
    run = {"q": {"a": 1.0 + 1e-9, "b": 1.0}}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)
    judged, ranked = (
        through_file(Qrels, qrels, tmp_path / "qrels"),
        through_file(Run, run, tmp_path / "run"),
    )
    ours = evaluate(judged, ranked, ["MRR", "MRR(rule='trec')"])
    assert theirs["q"]["recip_rank"] == ours["MRR(rule='trec')"].mean == 1 / 2
    assert ours["MRR"].mean == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_exp2_gain_is_ir_measures_with_gains(seed, tmp_path):
    qrels, run = random_judgments(100 + seed)
    gains = {label: 2 ** max(label, 0) - 1 for label in LABELS}
    ours = evaluate(
        through_file(Qrels, qrels, tmp_path / "qrels"),
        through_file(Run, run, tmp_path / "run"),
        ["NDCG(ties='trec')", "NDCG(ties='trec')@3"],
    )
    for name in ours:
        theirs = ir_measures.nDCG(gains=gains)
        theirs = theirs if parse(name).k is None else theirs @ parse(name).k
        expected = {m.query_id: m.value for m in ir_measures.iter_calc([theirs], qrels, run)}
        assert ours[name].per_query == exactly([expected.get(q, 0.0) for q in qrels], 1e-9), name


# scikit-learn


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [None, 1, 3, 10])
def test_sklearn_rule_is_scikit_learn(seed, k):
    data, scores = random_data(seed, sizes=(2, 15))
    cutoff = "" if k is None else f"@{k}"
    expected = {"NDCG": [], "DCG": []}
    for rows in data.groups.slices():
        labels, predicted = data.y[None, rows], scores[None, rows]
        expected["NDCG"].append(ndcg_score(labels, predicted, k=k))
        expected["DCG"].append(dcg_score(labels, predicted, k=k))
    assert 0.0 in expected["NDCG"]
    for name, values in expected.items():
        assert per_query(data, scores, f"{name}(rule='sklearn'){cutoff}") == exactly(values)


# LightGBM


def lightgbm_history(data, rounds, weight=None):
    """Metrics LightGBM reports on its training data after each tree, and its scores then."""
    params = {
        "objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": [1, 3, 5, 20],
        "num_leaves": 4, "min_data_in_leaf": 1, "learning_rate": 0.3, "verbosity": -1,
        "num_threads": 1, "deterministic": True, "seed": 0,
    }  # fmt: skip
    train = lightgbm.Dataset(data.X, data.y, group=data.groups.sizes, weight=weight)
    history = {}
    booster = lightgbm.train(
        params,
        train,
        rounds,
        valid_sets=[train],
        valid_names=["train"],
        callbacks=[lightgbm.record_evaluation(history)],
    )
    scores = [
        booster.predict(data.X, num_iteration=i, raw_score=True) for i in range(1, rounds + 1)
    ]
    return history["train"], scores


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_lightgbm_rule_is_lightgbm(seed, weighted):
    rng = np.random.default_rng(seed)
    data, _ = random_data(seed, n_queries=40, sizes=(1, 25), labels=5)
    data = data.with_features(rng.integers(0, 4, (len(data), 3)).astype(float))
    if weighted:  # LightGBM gives a query without relevant documents weight 1, whatever it has
        labels = data.y.copy()
        labels[data.groups.offsets[:-1]] += 1
        data = data.with_labels(labels)
    weight = rng.integers(1, 5, data.n_queries).astype(float) if weighted else None
    rows = None if weight is None else data.groups.spread(weight)
    history, scores = lightgbm_history(data, rounds=4, weight=rows)
    if weighted:
        data = RankingData(
            X=data.X, y=data.y, groups=data.groups, qids=data.qids, query_weight=weight
        )
    assert len(np.unique(scores[0])) < len(data) / 10
    assert set(history) == {f"{m}@{k}" for m in ("ndcg", "map") for k in (1, 3, 5, 20)}
    for theirs, reported in history.items():
        name, _, k = theirs.partition("@")
        metric = f"{name}(rule='lightgbm')@{k}"
        ours = [evaluate(data, s, metric)[metric].mean for s in scores]
        assert ours == exactly(reported, 1e-9), theirs


# pairs


@pytest.mark.parametrize("seed", range(5))
def test_tau_is_kendall_tau_b(seed):
    data, scores = random_data(seed)
    expected = []
    for rows in data.groups.slices():
        one = rows.stop - rows.start == 1
        tau = np.nan if one else scipy.stats.kendalltau(scores[rows], data.y[rows]).statistic
        expected.append(0.0 if np.isnan(tau) else tau)
    assert np.count_nonzero(expected) > 10
    assert per_query(data, scores, "Tau") == exactly(expected)


@pytest.mark.parametrize("seed", range(3))
def test_tau_at_k_is_kendall_tau_b_of_what_the_top_shows(seed):
    data, scores = random_data(seed, sizes=(2, 12))
    for k in (1, 2, 4):
        expected = []
        for rows in data.groups.slices():
            order = np.argsort(-scores[rows], kind="stable")
            s, y = np.full(len(order), -1e9), data.y[rows].copy()
            s[order[:k]] = scores[rows][order[:k]]
            y[y < np.sort(y)[::-1][:k].min()] = -1
            tau = scipy.stats.kendalltau(s, y).statistic
            expected.append(0.0 if np.isnan(tau) else tau)
        assert per_query(data, scores, f"Tau@{k}") == exactly(expected)


@pytest.mark.parametrize("seed", range(5))
def test_pair_accuracy_is_a_double_loop(seed):
    data, scores = random_data(seed)
    expected = []
    for rows in data.groups.slices():
        points, n = 0.0, 0
        for i, j in itertools.permutations(range(rows.start, rows.stop), 2):
            if data.y[i] > data.y[j]:
                n += 1
                points += 1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0
        expected.append(points / n if n else 0.0)
    assert per_query(data, scores, "PairAccuracy") == exactly(expected)


# plain definitions, place by place


def by_definition(labels, k, rel, p, top):
    """Measures of labels in ranked order, as their formulas read."""
    places = list(enumerate(labels[:k], start=1))
    ideal = enumerate(sorted(labels, reverse=True)[:k], start=1)
    dcg, best = (sum((2**y - 1) / np.log2(1 + i) for i, y in ys) for ys in (places, ideal))
    hits = [i for i, y in places if y >= rel]
    relevant = sum(y >= rel for y in labels)
    err, reading = 0.0, 1.0
    for i, y in places:
        stop = (2**y - 1) / 2**top
        err += reading * stop / i
        reading *= 1 - stop
    return {
        "DCG": dcg,
        "NDCG": dcg / best if best else 0.0,
        f"ERR(r_max={top})": err,
        f"P(rel={rel})": len(hits) / k,
        f"Recall(rel={rel})": len(hits) / relevant if relevant else 0.0,
        f"Hit(rel={rel})": float(bool(hits)),
        f"MRR(rel={rel})": 1 / hits[0] if hits else 0.0,
        f"MAP(rel={rel})": sum((n + 1) / i for n, i in enumerate(hits)) / max(relevant, 1),
        f"RBP(rel={rel}, p={p})": sum((1 - p) * p ** (i - 1) for i in hits),
    }


@settings(max_examples=100)
@given(
    rows=st.lists(st.tuples(st.integers(0, 4), st.integers(-2, 2)), min_size=1, max_size=9),
    k=st.integers(1, 12),
    rel=st.integers(1, 4),
    p=st.floats(0.05, 0.95),
)
def test_every_list_metric_is_its_formula(rows, k, rel, p):
    labels, scores = zip(*rows, strict=True)
    order = sorted(range(len(rows)), key=lambda i: -scores[i])
    expected = by_definition([labels[i] for i in order], k, rel, p, top=5)
    data = RankingData.from_arrays(np.zeros((len(rows), 1)), labels, qid=[1] * len(rows))
    got = evaluate(data, scores, [f"{name}@{k}" for name in expected])
    for name, value in expected.items():
        assert got[f"{name}@{k}"].mean == exactly(value), name


# ties


def tie_consistent_orders(scores):
    """All orders of the documents that a tie-breaking of these scores can give."""
    n = len(scores)
    return [
        order
        for order in itertools.permutations(range(n))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]


TIED = [
    ("NDCG", ""), ("NDCG", "@2"), ("NDCG", "@4"), ("DCG", "@3"), ("ERR", ""), ("ERR", "@3"),
    ("P", "@1"), ("P", "@3"), ("MAP", ""), ("MAP", "@2"), ("MAP", "@4"), ("MRR", ""),
    ("MRR", "@2"), ("MRR", "@4"), ("Hit", "@1"), ("Hit", "@3"), ("RBP", ""), ("RBP", "@3"),
    ("Recall", "@1"), ("Recall", "@3"),
]  # fmt: skip


def over_all_orders(labels, scores):
    """Metric -> its values over every order of the tied documents."""
    orders = np.array(tie_consistent_orders(scores))
    n_orders, n = orders.shape
    data = RankingData.from_arrays(
        np.zeros((orders.size, 1)),
        np.asarray(labels, dtype=float)[orders].ravel(),
        qid=np.repeat(np.arange(n_orders), n),
    )
    got = evaluate(data, np.tile(-np.arange(n), n_orders), [f"{m}{k}" for m, k in TIED])
    return {name: got[name].per_query for name in got}


@pytest.mark.parametrize("seed", range(25))
def test_average_and_worst_ties_are_those_of_all_orders(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    labels = rng.integers(0, 3, n) if seed % 2 else rng.integers(0, 2, n)
    scores = rng.integers(0, int(rng.integers(1, 4)), n)
    data = RankingData.from_arrays(np.zeros((n, 1)), labels, qid=[1] * n)
    values = over_all_orders(labels, scores)
    ties = {m + k: [f"{m}(ties='{t}'){k}" for t in ("average", "worst")] for m, k in TIED}
    got = evaluate(data, scores, [name for both in ties.values() for name in both])
    for name, (average, worst) in ties.items():
        assert got[average].mean == exactly(values[name].mean()), average
        assert got[worst].mean == exactly(values[name].min()), worst


@pytest.mark.parametrize("seed", range(3))
def test_average_ties_of_many_queries_are_those_of_each(seed):
    data, scores = random_data(seed, n_queries=10, labels=3)
    names = [f"{m}(ties='average'){k}" for m, k in TIED if m != "ERR"]
    together = evaluate(data, scores, names)
    for q, rows in enumerate(data.groups.slices()):
        alone = evaluate(data.subset([q]), scores[rows], names)
        for name in names:
            assert alone[name].mean == together[name].per_query[q], name


@pytest.mark.parametrize("seed", range(5))
def test_worst_ties_are_labels_ascending(seed):
    data, scores = random_data(seed)
    order = np.lexsort((data.y, data.groups.codes))
    ascending = data.with_labels(data.y[order])
    worst = evaluate(data, scores, [f"{m}(ties='worst'){k}" for m, k in TIED])
    stable = evaluate(ascending, scores[order], [m + k for m, k in TIED])
    for ours, expected in zip(worst.values(), stable.values(), strict=True):
        assert ours.per_query.tolist() == expected.per_query.tolist(), ours.metric


@pytest.mark.parametrize("seed", range(3))
def test_without_ties_every_tie_rule_is_the_same(seed):
    data, _ = random_data(seed)
    scores = np.random.default_rng(seed).permutation(len(data))
    rules = ("stable", "average", "worst", "trec")
    names = [[f"{m}(ties='{rule}'){k}" for rule in rules] for m, k in TIED]
    got = evaluate(data, scores, list(itertools.chain(*names)))
    for stable, *others in names:
        for name in others:
            assert got[name].per_query == exactly(got[stable].per_query), name


@pytest.mark.parametrize("seed", range(3))
def test_average_ties_do_not_see_the_order_of_rows(seed):
    data, scores = random_data(seed)
    shuffled = np.random.default_rng(seed).permutation(len(data))
    order = shuffled[np.argsort(data.groups.codes[shuffled], kind="stable")]
    moved = data.with_labels(data.y[order])
    names = [f"{m}(ties='average'){k}" for m, k in TIED]
    ours, expected = evaluate(moved, scores[order], names), evaluate(data, scores, names)
    for name in names:
        assert ours[name].per_query == exactly(expected[name].per_query), name


# the machinery around the metrics


@pytest.mark.parametrize("seed", range(3))
def test_metrics_together_are_metrics_alone(seed):
    data, scores = random_data(seed)
    together = evaluate(data, scores, ALL)
    backwards = evaluate(data, scores, ALL[::-1])
    assert list(together) == [str(parse(name)) for name in ALL]
    for name in ALL:
        alone = per_query(data, scores, name)
        assert np.array_equal(together[name].per_query, alone, equal_nan=True), name
        assert np.array_equal(backwards[name].per_query, alone, equal_nan=True), name


@pytest.mark.parametrize("seed", range(3))
def test_scores_that_rank_the_same_are_worth_the_same(seed):
    data, scores = random_data(seed)
    other = np.exp(scores / 2) * 3 - 7
    got, expected = evaluate(data, other, ALL), evaluate(data, scores, ALL)
    for name in ALL:
        assert np.array_equal(got[name].per_query, expected[name].per_query, equal_nan=True), name


@pytest.mark.parametrize("seed", range(5))
def test_a_run_of_all_documents_is_worth_its_scores(seed, tmp_path):
    data, scores = random_data(seed)
    write_qrels(data, tmp_path / "qrels")
    write_run(Run.from_scores(data, scores), tmp_path / "run")
    by_scores = evaluate(data, scores, ALL)
    by_objects = evaluate(Qrels.from_data(data), Run.from_scores(data, scores), ALL)
    by_files = evaluate(read_qrels(tmp_path / "qrels"), read_run(tmp_path / "run"), ALL)
    assert by_files.qids.tolist() == data.qids.tolist()
    for name in ALL:
        expected = by_scores[name].per_query
        assert by_objects[name].per_query == exactly(expected), name
        assert by_files[name].per_query == exactly(expected), name


@pytest.mark.parametrize("seed", range(3))
def test_a_run_cut_at_k_is_worth_its_top_k(seed):
    data, scores = random_data(seed)
    cut = ["NDCG@5", "ERR@5", "P@5", "MAP@5", "MRR@5", "Recall@5", "Hit@5", "RBP@5"]
    whole = evaluate(data, scores, cut)
    top = evaluate(Qrels.from_data(data), Run.from_scores(data, scores, k=5), cut)
    for name in cut:
        assert top[name].per_query == exactly(whole[name].per_query), name


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_a_query_need_not_stand_together(seed):
    data, scores = random_data(seed)
    rows = np.random.default_rng(seed).permutation(len(data))
    moved = RankingData.from_arrays(data.X[rows], data.y[rows], qid=data.groups.codes[rows])
    names = ["NDCG(ties='worst')@5", "MAP(ties='average')", "Tau", "PairAccuracy"]
    ours = evaluate(moved, moved.regroup(scores[rows]), names)
    place = [data.qids.tolist().index(qid) for qid in moved.qids]
    for name in names:
        assert ours[name].per_query == exactly(per_query(data, scores, name)[place]), name
