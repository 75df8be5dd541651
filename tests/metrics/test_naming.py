"""The name of a metric says everything: parsing, printing, explaining and converting names."""

import itertools
import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.data import RankingData, draw_truth
from podium.errors import ConversionError, DataError, UnknownNameError, UsageError
from podium.metrics import (
    DCG,
    ERR,
    MAP,
    METRICS,
    MRR,
    NDCG,
    RBP,
    RULES,
    ConversionFacts,
    Evaluation,
    Hit,
    P,
    PairAccuracy,
    Recall,
    Tau,
    conversions,
    convert,
    evaluate,
    explain,
    kERR,
    kNDCG,
    parse,
)
from podium.metrics.tool_conventions import fits_cutoff

TIES = st.sampled_from(["stable", "average", "worst", "trec"])
EMPTY = st.sampled_from([0, 1, "skip"])
GAIN = st.sampled_from(["exp2", "linear", "rank", "rank-exp2"])
DISCOUNT = st.sampled_from(["log2", "letor"])
KEEP_OR_ZERO = st.sampled_from(["keep", "zero"])
REL = st.integers(1, 50) | st.floats(0, 1e6, exclude_min=True)
R_MAX = st.sampled_from(["scale", "query"]) | st.integers(0, 50) | st.floats(0, 1e6)
CUTOFF = st.none() | st.integers(1, 10**6)

DCG_FIELDS = {"gain": GAIN, "discount": DISCOUNT, "ties": TIES, "short": KEEP_OR_ZERO}
BINARY_FIELDS = {"rel": REL, "ties": TIES, "empty": EMPTY}
FIELDS = {
    DCG: DCG_FIELDS,
    NDCG: {**DCG_FIELDS, "empty": EMPTY},
    kNDCG: {**DCG_FIELDS, "empty": EMPTY},
    ERR: {"r_max": R_MAX, "ties": TIES, "empty": EMPTY},
    kERR: {"r_max": R_MAX, "ties": TIES, "empty": EMPTY},
    P: {**BINARY_FIELDS, "short": st.sampled_from(["keep", "length", "zero"])},
    MAP: {**BINARY_FIELDS, "norm": st.sampled_from(["all", "cut"])},
    MRR: BINARY_FIELDS,
    Recall: BINARY_FIELDS,
    Hit: BINARY_FIELDS,
    RBP: {**BINARY_FIELDS, "p": st.floats(0, 1, exclude_min=True, exclude_max=True)},
    Tau: {"empty": EMPTY},
    PairAccuracy: {"empty": EMPTY},
}


def metrics_of(cls):
    """Every metric of a kind: each parameter left alone or set."""
    cutoff = CUTOFF if cls.takes_cutoff else st.none()
    return st.fixed_dictionaries({}, optional={**FIELDS[cls], "k": cutoff}).map(lambda a: cls(**a))


ANY_METRIC = st.sampled_from(list(FIELDS)).flatmap(metrics_of)


def test_every_metric_is_covered_here():
    assert set(FIELDS) == set(METRICS.values())
    for cls, fields in FIELDS.items():
        assert set(fields) == set(cls.defaults())
        assert METRICS[cls.name] is cls


@given(ANY_METRIC)
def test_parse_and_str_are_inverses(metric):
    again = parse(str(metric))
    assert again == metric
    assert type(again) is type(metric)
    assert hash(again) == hash(metric)
    assert str(again) == str(metric) == repr(metric)


@given(ANY_METRIC, st.randoms())
def test_any_spelling_of_the_parameters_is_the_same_metric(metric, random):
    words = [f"{name} = {value!r}" for name, value in metric.convention().items()]
    random.shuffle(words)
    cutoff = "" if metric.k is None else f"@{metric.k}"
    assert parse(f"  {metric.name.swapcase()}({', '.join(words)}){cutoff} ") == metric


@given(ANY_METRIC, ANY_METRIC)
def test_different_metrics_have_different_names(a, b):
    assert (str(a) == str(b)) == (a == b)


@given(st.text(max_size=30) | st.text("NDCGPkr()@=',1.{}[]*- \\\n", max_size=20))
def test_any_text_is_a_metric_or_a_usage_error(text):
    try:
        metric = parse(text)
    except UsageError:
        return
    assert parse(str(metric)) == metric


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("NDCG@10", NDCG(k=10)),
        ("ndcg@10", NDCG() @ 10),
        ("NDCG(gain='linear')@10", NDCG(gain="linear", k=10)),
        ('NDCG(gain="linear", empty=1)', NDCG(gain="linear", empty=1)),
        ("NDCG()@3", NDCG(k=3)),
        ("P(rel=2)@5", P(rel=2, k=5)),
        ("Precision@5", P(k=5)),
        ("ap", MAP()),
        ("RR@10", MRR(k=10)),
        ("R@100", Recall(k=100)),
        ("success@1", Hit(k=1)),
        ("KENDALL", Tau()),
        ("pairacc", PairAccuracy()),
        ("kndcg@10", kNDCG(k=10)),
        ("KERR", kERR()),
        ("ERR(r_max=4)@20", ERR(r_max=4, k=20)),
        ("RBP(p=0.5)", RBP(p=0.5)),
        ("Tau(empty='skip')@5", Tau(empty="skip", k=5)),
    ],
)
def test_names_and_aliases(text, metric):
    assert parse(text) == metric


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        (NDCG() @ 10, "NDCG@10"),
        (NDCG(gain="linear") @ 10, "NDCG(gain='linear')@10"),
        (NDCG(empty=1), "NDCG(empty=1)"),  # LightGBM has no NDCG without a cutoff
        (NDCG(empty=1, k=5), "NDCG(rule='lightgbm')@5"),
        (NDCG(discount="letor", short="zero", k=10), "NDCG(rule='letor')@10"),
        (NDCG(gain="linear", ties="trec"), "NDCG(rule='trec')"),
        (DCG(gain="linear", ties="average", k=5), "DCG(rule='sklearn')@5"),
        (MAP(rel=2), "MAP(rel=2)"),
        (MAP(norm="cut", empty=1, k=3), "MAP(rule='lightgbm')@3"),
        (P(rel=1.0, k=5), "P@5"),
        (P(short="length", k=5), "P(rule='ranklib')@5"),
        (ERR(r_max=4.0), "ERR(rule='ranklib')"),
        (kERR(r_max="query"), "kERR"),
        (kERR(r_max="scale"), "kERR(r_max='scale')"),
    ],
)
def test_the_shortest_name(metric, text):
    assert str(metric) == text


@pytest.mark.parametrize(
    ("rule", "name"), [(rule, name) for rule, defined in RULES.items() for name in defined]
)
def test_a_rule_stands_for_its_parameters(rule, name):
    fits = [k for k in (None, 7) if fits_cutoff(rule, name, k)]
    assert fits
    for k in fits:
        metric = parse(f"{name}(rule='{rule}')" + (f"@{k}" if k else ""))
        assert metric == METRICS[name](**RULES[rule][name], k=k)
        assert parse(str(metric)) == metric


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("MAP(rule='letor')@10", "without a cutoff"),
        ("MAP(rule='ranklib')@10", "without a cutoff"),
        ("MRR(rule='trec')@10", "without a cutoff"),
        ("NDCG(rule='letor')", "with a cutoff"),
        ("MAP(rule='lightgbm')", "with a cutoff"),
    ],
)
def test_a_rule_knows_which_cutoffs_its_tool_has(text, wanted):
    with pytest.raises(UsageError, match=wanted):
        parse(text)


def test_words_need_no_quotes():
    assert parse("NDCG(rule=letor)@10") == parse("NDCG(rule='letor')@10")


def test_parameters_beside_a_rule_change_single_ones():
    assert parse("NDCG(rule='letor', short='keep')@10") == NDCG(discount="letor", k=10)
    assert parse("NDCG(short='keep', rule='letor')@10") == NDCG(discount="letor", k=10)
    assert parse("MAP(rule='lightgbm', rel=2)@3") == MAP(empty=1, norm="cut", rel=2, k=3)


def test_a_bare_name_names_every_parameter_of_its_convention():
    assert NDCG().convention() == {
        "gain": "exp2",
        "discount": "log2",
        "ties": "stable",
        "short": "keep",
        "empty": 0,
    }


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("NDCF@10", "NDCG"),
        ("MPA", "MAP"),
        ("Recal@5", "Recall"),
        ("pairaccurracy", "PairAccuracy"),
        ("NDCG(gian='linear')", "gain"),
        ("P(relevance=1)@5", "rel"),
        ("NDCG(rule='lgbm')", "lightgbm"),
        ("NDCG(rule='LETOR')", "letor"),
    ],
)
def test_unknown_names_come_with_the_nearest(text, nearest):
    with pytest.raises(UnknownNameError, match=f"did you mean .*{nearest}"):
        parse(text)


@pytest.mark.parametrize("text", ["NDCG@\uff11\uff10", "NDCG@\u0661", "NDCG@1_0", "NDCG@ 10"])
def test_a_cutoff_has_ascii_digits(text):
    with pytest.raises(UsageError, match="expected a metric such as NDCG@10"):
        parse(text)


@pytest.mark.parametrize("text", ["zzzzzz", "NDCG(rule=5)", "NDCG(k=5)"])
def test_unknown_names_far_from_all_list_what_is_known(text):
    with pytest.raises(UnknownNameError, match=r"known: |did you mean"):
        parse(text)


def test_a_metric_the_rule_does_not_define():
    with pytest.raises(
        UsageError, match=r"lightgbm' does not define ERR; expected one of NDCG, MAP"
    ):
        parse("ERR(rule='lightgbm')")


@pytest.mark.parametrize(
    "text",
    [
        "NDCG(gain='cubic')", "NDCG(gain=2)", "NDCG(empty=2)", "NDCG(empty=True)",
        "NDCG(empty=0.0)", "NDCG(ties='random')", "NDCG(short='length')@5", "P(short='none')@5",
        "MAP(norm=None)", "P(rel=0)@5", "P(rel='1')@5", "P(rel=True)@5", "P(rel=[1])@5", "RBP(p=1)",
        "RBP(p=1.5)", "ERR(r_max=-1)", "ERR(r_max=True)", "ERR(r_max=[1])", "Tau(rel=1)",
        "NDCG@0", "PairAccuracy@5",
    ],
)  # fmt: skip
def test_bad_parameters_are_usage_errors(text):
    with pytest.raises(UsageError, match=r"expected|unknown|takes no cutoff"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "@10", "NDCG@", "NDCG@ten", "NDCG@-1", "NDCG@1.5", "NDCG@10@5", "NDCG 10",
        "NDCG@10(gain='linear')", "NDCG(gain='linear'", "NDCG)", "NDCG(linear)", "NDCG('linear')",
        "NDCG(gain=)", "NDCG(gain=linear.x)", "NDCG(gain=open('x'))", "NDCG(*[1])",
        "NDCG(gain='linear')(empty=1)", "NDCG(gain='linear', gain='exp2')", "NDCG(gain={[]})",
        "NDCG(gain={[]: 1})", "NDCG(gain='linear') + f(empty=1)", "NDCG\x00",
    ],
)  # fmt: skip
def test_bad_syntax_is_a_usage_error(text):
    with pytest.raises(UsageError, match="expected"):
        parse(text)


def test_a_cutoff_of_too_many_digits_is_a_usage_error():
    with pytest.raises(UsageError, match=r"cutoff|expected"):
        parse("NDCG@" + "1" * 5000)


def test_numbers_from_numpy_still_give_a_name():
    for metric in (P(rel=np.float64(1.5), k=5), RBP(p=np.float64(0.5)), ERR(r_max=np.float64(3))):
        assert parse(str(metric)) == metric


@pytest.mark.parametrize("make", [P, ERR])
def test_infinite_parameters_have_no_name_and_are_refused(make):
    field = "rel" if make is P else "r_max"
    with pytest.raises(UsageError, match=field):
        make(**{field: math.inf}, k=5)


def test_a_cutoff_is_not_a_truth_value():
    with pytest.raises(UsageError, match="cutoff"):
        NDCG(k=True)


def test_metrics_are_values():
    assert NDCG(k=10) == NDCG() @ 10 != NDCG()
    assert NDCG(k=10) != DCG(k=10)
    assert NDCG() != kNDCG()
    assert len({parse("NDCG@10"), parse("ndcg@10"), NDCG(k=10)}) == 1
    assert pickle.loads(pickle.dumps(MAP(rel=2) @ 5)) == MAP(rel=2, k=5)
    with pytest.raises(AttributeError):
        NDCG().k = 5


# Evaluation


@pytest.fixture
def evaluation():
    data = RankingData.from_arrays(np.zeros((5, 1)), [0, 1, 0, 0, 2], qid=["a", "a", "b", "b", "c"])
    return evaluate(data, [2, 1, 2, 1, 1], ["NDCG(empty='skip')@10", "MRR", "P(rel=2)@1"])


def test_results_are_found_by_any_spelling(evaluation):
    for name in ("MRR", "mrr", "RR", "MRR(empty=0)", MRR()):
        assert evaluation[name].mean == pytest.approx((1 / 2 + 0 + 1) / 3)
        assert name in evaluation
    assert evaluation["ndcg( empty = 'skip' )@10"].metric == NDCG(empty="skip", k=10)


def test_an_evaluation_is_a_mapping_by_name(evaluation):
    assert isinstance(evaluation, Evaluation)
    assert list(evaluation) == ["NDCG(empty='skip')@10", "MRR", "P(rel=2)@1"]
    assert len(evaluation) == len(evaluation.results) == 3
    assert [r.metric for r in evaluation.values()] == [parse(name) for name in evaluation]
    assert evaluation.get("MAP") is None
    assert "MAP" not in evaluation
    assert 5 not in evaluation


def test_a_metric_not_asked_for_is_a_key_error(evaluation):
    with pytest.raises(KeyError, match=r"this evaluation has no metric MAP; expected one of .*MRR"):
        evaluation["MAP"]
    with pytest.raises(UnknownNameError, match="MRR"):
        evaluation["MMR"]


def test_the_same_metric_twice_is_one_result():
    data = RankingData.from_arrays(np.zeros((2, 1)), [0, 1], qid=[1, 1])
    assert list(evaluate(data, [1, 2], ["NDCG@5", "ndcg@5", NDCG(k=5)])) == ["NDCG@5"]
    assert list(evaluate(data, [1, 2], "ndcg@5")) == ["NDCG@5"]
    assert list(evaluate(data, [1, 2], NDCG(k=5))) == ["NDCG@5"]


def test_evaluations_print_their_means(evaluation):
    lines = repr(evaluation).splitlines()
    assert lines[0] == "Evaluation over 3 queries"
    assert [line.split()[0] for line in lines[1:]] == ["NDCG(empty='skip')@10", "MRR", "P(rel=2)@1"]
    assert lines[2].split()[1] == "0.5000"
    assert repr(evaluation["MRR"]) == "MRR = 0.5000 (3 queries)"


def test_evaluations_go_to_json(evaluation):
    told = json.loads(json.dumps(evaluation.to_dict(per_query=True), allow_nan=False))
    assert told["queries"] == 3
    assert told["mean"] == {name: evaluation[name].mean for name in evaluation}
    assert told["per_query"]["MRR"] == {"a": 1 / 2, "b": 0.0, "c": 1.0}
    assert told["per_query"]["NDCG(empty='skip')@10"]["b"] is None
    assert "per_query" not in evaluation.to_dict()


# explain


def test_explain_ndcg():
    told = explain("NDCG@10")
    assert told.metric == NDCG(k=10)
    assert told.words == (
        "gain 2^label - 1",
        "discount 1 / log2(1 + position)",
        "equal scores in input order",
        "a list shorter than k counts as it is, without a penalty",
        "a query without a relevant document counts 0",
    )
    assert [c.rule for c in told.same] == ["ranklib"]
    assert {c.rule: c.differs for c in told.other} == {
        "letor": ("discount", "short"),
        "lightgbm": ("empty",),
        "trec": ("gain", "ties"),
        "sklearn": ("gain", "ties"),
    }


def test_explain_says_thresholds_and_numbers():
    assert "relevant means label >= 2" in explain("P(rel=2)@5").words
    assert "p = 0.5" in explain("RBP(p=0.5)").words
    assert "r_max = 4" in explain("ERR(r_max=4)").words


def test_explain_a_metric_nobody_else_has():
    told = explain("kNDCG@10")
    assert told.same == told.other == ()


@given(ANY_METRIC)
def test_explanations_name_exactly_what_differs(metric):
    told = explain(metric)
    assert len(told.words) == len(metric.convention())
    rules = {rule for rule, defined in RULES.items() if metric.name in defined}
    assert {c.rule for c in told.same + told.other} == rules
    assert all(c.metric == metric for c in told.same)
    for c in told.other:
        assert ("cutoff" in c.differs) != fits_cutoff(c.rule, metric.name, metric.k)
        changed = {name: metric.convention()[name] for name in c.differs if name != "cutoff"}
        assert metric == replace(c.metric, **changed)
        assert all(c.metric.convention()[name] != value for name, value in changed.items())


# convert


def random_data(seed, labels=2, sizes=(1, 9), p_empty=0.3):
    rng = np.random.default_rng(seed)
    n = rng.integers(sizes[0], sizes[1] + 1, 20)
    qid = np.repeat(np.arange(20), n)
    y = rng.integers(0, labels, len(qid)) * (rng.random(20) >= p_empty)[qid]
    weight = rng.integers(1, 4, 20) if seed % 2 else None
    X = np.arange(len(qid), dtype=float)[:, None]
    data = RankingData.from_arrays(X, y, qid=qid, query_weight=weight)
    return data, rng.integers(0, 6, len(data)).astype(float)


def conventions(cls, k, labels):
    """Metrics of one kind, each parameter at values that do or do not stand in a conversion's way."""
    choices = {"empty": [0, 1, "skip"], "gain": ["exp2", "linear"], "short": ["keep", "zero"]}
    choices |= {"norm": ["all", "cut"], "rel": range(1, labels)}
    names = [name for name in choices if name in cls.defaults()]
    every = itertools.product(*(choices[name] for name in names))
    return [cls(**dict(zip(names, values, strict=True)), k=k) for values in every]


@pytest.mark.parametrize("cls", [NDCG, DCG, P, MAP, MRR, ERR, Tau, PairAccuracy, kNDCG])
@pytest.mark.parametrize(("labels", "sizes"), [(2, (1, 9)), (2, (3, 9)), (3, (1, 9))])
def test_conversion_is_what_a_new_evaluation_says(cls, labels, sizes):
    k = None if cls is PairAccuracy else 3
    for seed in range(2):
        data, scores = random_data(seed, labels, sizes)
        if cls is kNDCG:
            truth = draw_truth(data, k=1)
            data = truth.with_labels(truth.y * (data.y > 0), topk=1)
        metrics = conventions(cls, k, labels)
        got, converted = evaluate(data, scores, metrics), 0
        facts = {metric: ConversionFacts.of(data, metric) for metric in metrics}
        for a, b in itertools.permutations(metrics, 2):
            try:
                value = convert(got[a].mean, a, b, facts[a])
            except ConversionError:
                continue
            converted += 1
            assert value == pytest.approx(got[b].mean, rel=1e-12), (a, b)
        assert converted > 0 or cls is DCG


@pytest.mark.parametrize("cls", [NDCG, MAP, MRR, ERR, Tau, PairAccuracy])
def test_what_empty_queries_count_can_always_be_changed(cls):
    data, scores = random_data(3, labels=3)
    metrics = [cls(empty=empty) for empty in (0, 1, "skip")]
    got = evaluate(data, scores, metrics)
    assert len({round(got[m].mean, 6) for m in metrics}) == 3
    for a, b in itertools.permutations(metrics, 2):
        value = convert(got[a].mean, str(a), str(b), ConversionFacts.of(data, a))
        assert value == pytest.approx(got[b].mean, rel=1e-12)


def test_binary_labels_make_gains_equal():
    data, scores = random_data(0)
    got = evaluate(data, scores, ["NDCG@5", "NDCG(gain='linear')@5"])
    facts = ConversionFacts.of(data, "NDCG@5")
    assert facts.binary
    assert convert(got["NDCG@5"].mean, "NDCG@5", "NDCG(gain='linear')@5", facts) == pytest.approx(
        got["NDCG(gain='linear')@5"].mean, rel=1e-12
    )


def test_short_lists_do_not_matter_where_there_are_none():
    data, _ = random_data(0, sizes=(4, 9))
    facts = ConversionFacts.of(data, "P@4")
    assert facts.shortest == 4
    assert convert(0.25, "P@4", "P(short='zero')@4", facts) == 0.25
    with pytest.raises(ConversionError, match="short"):
        convert(0.25, "P@5", "P(short='zero')@5", facts)


def test_facts_of_data():
    data = RankingData.from_arrays(
        np.zeros((6, 1)), [0, 0, 1, 0, 2, 2], qid=[1, 1, 2, 2, 2, 3], query_weight=[1, 2, 5]
    )
    assert ConversionFacts.of(data, "NDCG@5") == ConversionFacts(
        blank=1 / 8, binary=False, shortest=1
    )
    assert ConversionFacts.of(data, "P(rel=3)@5").blank == 1.0
    assert ConversionFacts.of(data, "Tau").blank == (1 + 5) / 8
    assert ConversionFacts.of(data, "DCG").blank == 0.0


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("NDCG@10", "NDCG@5"),
        ("NDCG@10", "DCG@10"),
        ("NDCG@10", "kNDCG@10"),
        ("NDCG@10", "NDCG(gain='linear')@10"),
        ("NDCG@10", "NDCG(discount='letor')@10"),
        ("NDCG@10", "NDCG(ties='average')@10"),
        ("NDCG@10", "NDCG(rule='letor')@10"),
        ("NDCG@10", "NDCG(rule='trec')@10"),
        ("P@10", "P(rel=2)@10"),
        ("P@10", "P(short='length')@10"),
        ("MAP@10", "MAP(norm='cut')@10"),
        ("MAP@10", "MAP(rule='lightgbm')@10"),
        ("ERR", "ERR(r_max='query')"),
        ("RBP", "RBP(p=0.5)"),
    ],
)
def test_no_exact_way(source, target):
    with pytest.raises(ConversionError, match=r"no exact conversion|expected two conventions"):
        convert(0.5, source, target, ConversionFacts(blank=0.1, binary=False, shortest=3))


def test_rank_gains_are_not_those_of_binary_labels():
    with pytest.raises(ConversionError, match="gain"):
        convert(
            0.5, "NDCG", "NDCG(gain='rank')", ConversionFacts(blank=0.0, binary=True, shortest=9)
        )


def test_empty_needs_the_share_of_empty_queries():
    with pytest.raises(ConversionError, match="share"):
        convert(0.5, "NDCG", "NDCG(empty=1)", ConversionFacts())
    with pytest.raises(UsageError, match="share"):
        ConversionFacts(blank=1.5)
    with pytest.raises(DataError, match=r"cannot be .* have no relevant document"):
        convert(0.9, "NDCG", "NDCG(empty=1)", ConversionFacts(blank=0.5))
    with pytest.raises(DataError, match=r"cannot be .* have no relevant document"):
        convert(0.2, "NDCG(empty=1)", "NDCG", ConversionFacts(blank=0.28))
    with pytest.raises(ConversionError, match="no query has a relevant document"):
        convert(0.0, "NDCG", "NDCG(empty='skip')", ConversionFacts(blank=1.0))


@pytest.mark.parametrize("empty", [0, 1])
def test_where_every_query_is_empty_the_mean_is_what_they_count(empty):
    facts = ConversionFacts(blank=1.0)
    assert convert(math.nan, "NDCG(empty='skip')", f"NDCG(empty={empty})", facts) == empty
    assert convert(1 - empty, f"NDCG(empty={1 - empty})", f"NDCG(empty={empty})", facts) == empty


def test_conversion_by_hand():
    blank = 0.28
    assert convert(0.5, "NDCG", "NDCG(empty=1)", ConversionFacts(blank=blank)) == pytest.approx(
        0.5 + blank
    )
    skipped = convert(0.5, "NDCG", "NDCG(empty='skip')", ConversionFacts(blank=blank))
    assert skipped == pytest.approx(0.5 / (1 - blank))
    back = convert(skipped, "NDCG(empty='skip')", "NDCG(empty=1)", ConversionFacts(blank=blank))
    assert back == pytest.approx(0.5 + blank)
    assert convert(0.5, "NDCG@10", "ndcg@10", ConversionFacts()) == 0.5


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["NDCG@3", "P@3", "MAP@3", "DCG@3", "MRR", "Tau", "ERR"])
def test_conversions_are_all_exact_and_all_others(name, seed):
    data, scores = random_data(seed, sizes=(3, 9))
    facts = ConversionFacts.of(data, name)
    told = conversions(evaluate(data, scores, name)[name].mean, name, facts)
    assert parse(name) not in told
    fresh = evaluate(data, scores, [name, *told])
    for metric, value in told.items():
        assert value == pytest.approx(fresh[metric].mean, rel=1e-12), metric
    if "empty" in parse(name).convention():
        assert {replace(parse(name), empty=e) for e in (1, "skip")} <= set(told)


def test_conversions_leave_out_what_is_inexact():
    assert conversions(0.5, "NDCG@10", ConversionFacts()) == {}
    told = conversions(0.5, "NDCG@10", ConversionFacts(blank=0.2, binary=True, shortest=20))
    assert {str(metric) for metric in told} == {"NDCG(rule='lightgbm')@10", "NDCG(empty='skip')@10"}
