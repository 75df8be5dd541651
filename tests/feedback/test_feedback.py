"""Feedback: phi, gains, classes, summaries, merging, labels, files; and feedback without a log."""

import io
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import podium
from podium.data import make_synthetic
from podium.errors import (
    CorruptFileError,
    DataError,
    MissingDocidsError,
    PodiumError,
    UnknownNameError,
    UsageError,
)
from podium.feedback import (
    ACTIONS,
    FACTORS,
    LogCounts,
    Phi,
    SimulatedFeedback,
    UniformFeedback,
    load_feedback,
    make_log,
    parse_ubi,
    plot_feedback,
    save_feedback,
    split_alpha,
)
from tests.feedback.test_ubi import event, parse, query, same, shown
from tests.support.paths import DOCS, GOLDEN

NAN = float("nan")
WHERE = {"user_class": "query_attributes.user_class"}


def squash(value, scale):
    return 1 - math.exp(-value / scale)


def test_phi_as_arithmetic():
    mu = np.array([[0.3, 0.1, 20.0, 0.0, 0.0, 0.5, 0.2, 0.0]])
    good = (squash(0.3, 0.1) + squash(0.1, 0.1) + squash(20, 10)) / 5
    bad = (squash(0.5, 1) + squash(0.2, 0.1)) / 3
    assert Phi()(mu)[0] == pytest.approx((1 + good - bad) / 2, abs=1e-15)


def test_what_is_not_carried_takes_no_part_in_phi():
    mu = np.array([[0.3, NAN, NAN, NAN, NAN, 0.5, NAN, NAN]])
    assert Phi()(mu)[0] == pytest.approx((1 + squash(0.3, 0.1) - squash(0.5, 1)) / 2)
    assert Phi()(np.nan_to_num(mu))[0] != Phi()(mu)[0]
    weighted = Phi(weights=(3, 0, 1, 0, 0, 0, 0, 0))
    mu = np.array([[0.3, 9.0, 5.0, NAN, 1.0, 0.5, NAN, NAN]])
    expected = (3 * squash(0.3, 0.1) + squash(5, 10)) / 4
    assert weighted(mu)[0] == pytest.approx((1 + expected) / 2)


@given(
    st.lists(st.tuples(*[st.floats(0, 1e9) | st.just(NAN)] * 8).map(list), min_size=1, max_size=5)
)
def test_phi_is_in_the_unit_interval_and_monotone(rows):
    mu = np.array(rows)
    alpha = Phi()(mu)
    assert ((alpha >= 0) & (alpha <= 1)).all()
    for j in range(8):
        more = mu.copy()
        more[:, j] += 1.0
        change = (Phi()(more) - alpha) * (1 if j < 5 else -1)
        assert (change >= -1e-15).all()


@pytest.mark.parametrize(
    "wrong", [{"weights": (1,) * 7}, {"weights": (-1,) + (1,) * 7}, {"scales": (0,) * 8},
              {"scales": (NAN,) * 8}, {"weights": (math.inf,) * 8},
              {"weights": 1.0}, {"scales": ("x",) * 8}, {"weights": None}],
)  # fmt: skip
def test_a_phi_that_cannot_be(wrong):
    with pytest.raises(UsageError, match="expected 8"):
        Phi(**wrong)


def test_a_phi_that_weighs_nothing():
    with pytest.raises(UsageError, match="all 8 weights of phi are 0"):
        Phi(weights=(0,) * 8)


def test_any_function_may_be_phi():
    records = [query(), *shown("a", "b"), event("click", "b", 2)]
    feedback = parse(*records, phi=lambda mu: np.minimum(1, mu[:, 0]))
    assert feedback.alphas.tolist() == [0.5]
    assert feedback.gains.tolist() == [0, 1]
    for phi, message in [
        (
            lambda mu: mu[:, 0] * 3,
            r"expected phi to return numbers in \[0, 1\], got 1.5 for clicks=0.5",
        ),
        (lambda mu: -mu[:, 0], "got -0.5"),
        (lambda mu: mu[:, 1], "got nan"),
        (lambda mu: 0.5, "one per row"),
        (lambda mu: ["much"] * len(mu), r"expected phi to return numbers, got \['much'\]"),
        (lambda mu: None, "one per row"),
        (lambda mu: {"a": 1}, "expected phi to return numbers"),
        (5, "expected phi as a function of the factors, got 5"),
    ]:
        with pytest.raises(UsageError, match=message):
            parse(*records, phi=phi)


def test_gains_say_how_far_reactions_lift_phi():
    feedback = parse(
        query(), *shown("a", "b", "c", "d"), event("click", "b", 2, 9), event("click", "d", 4, 10)
    )
    # Carried are clicks and ignored: b, d have P = s(1), a and c have N = s(1) and gain nothing.
    assert feedback.gains.tolist() == pytest.approx([0, squash(1, 0.1), 0, squash(1, 0.1)])
    assert parse(*shown("a"), phi=lambda mu: np.ones(len(mu))).gains.tolist() == [0]


@pytest.fixture(scope="module")
def two_classes():
    logs = [make_log(n_lists=80, user_class=name, seed=i) for i, name in enumerate(("x", "y"))]
    return logs, parse_ubi([line for log in logs for line in log.lines()], **WHERE)


def test_classes(two_classes):
    logs, feedback = two_classes
    assert feedback.classes == ("x", "y")
    parts = feedback.by_class()
    for name, log in zip("xy", logs, strict=True):
        assert sorted(parts[name].query_ids) == sorted(log.query_ids)
        alone = parse_ubi(log.lines(), **WHERE)
        same(parts[name], alone)
    assert feedback.of_class(None) is feedback
    with pytest.raises(
        DataError, match=r"the user class 'z' has no feedback; expected one of: x, y"
    ):
        feedback.of_class("z")


def test_a_class_keeps_what_the_whole_log_carries():
    feedback = parse(
        query(query_attributes={"user_class": "x"}), *shown("a"), event("share", "a", 1),
        query("2", query_attributes={"user_class": "y"}), *shown("a", query_id="2"), **WHERE,
    )  # fmt: skip
    assert feedback.of_class("y").factors[0, 4] == 0
    assert feedback.of_class("y").alphas[0] == feedback.alphas[1]


def test_summaries_are_means_over_lists(two_classes):
    _, feedback = two_classes
    by_class = feedback.summary("class")
    assert by_class.names == ("x", "y")
    for i, part in enumerate(feedback.by_class().values()):
        np.testing.assert_allclose(by_class.factors[i], part.factors.mean(axis=0), rtol=1e-12)
        assert by_class.alpha[i] == pytest.approx(part.alphas.mean())
        assert (by_class.n_lists[i], by_class.n_documents[i]) == (len(part), part.groups.n_rows)
    by_query = feedback.summary("query")
    row = by_query.names.index("q1")
    mine = feedback.queries == "q1"
    np.testing.assert_allclose(by_query.factors[row], feedback.factors[mine].mean(axis=0))
    assert by_query.n_lists.sum() == len(feedback)
    assert parse(*shown("a")).summary("query").names == (None,)
    with pytest.raises(UsageError):
        feedback.summary("user")


def test_merging_is_reading_both(two_classes):
    logs, feedback = two_classes
    first, second = (parse_ubi(log.lines(), **WHERE) for log in logs)
    merged = first.merge(second)
    same(merged, feedback)
    assert merged.counts == feedback.counts
    same(second.merge(first), feedback)


def test_lists_that_go_on_add_up():
    start = parse(query(), *shown("a", "b", "c"), event("click", "b", 2, 9))
    more = parse(event("click", "c", 3, 50), event("share", "c", 3, 60))
    both = start.merge(more)
    assert both.factors[0, [0, 4, 5]].tolist() == [2 / 3, 1 / 3, 1 / 3]
    assert both.queries.tolist() == ["shoes"]
    same(both, parse(
        query(), *shown("a", "b", "c"), event("click", "b", 2, 9), event("click", "c", 3, 50),
        event("share", "c", 3, 60),
    ))  # fmt: skip
    with pytest.raises(UsageError, match="different closed_within"):
        start.merge(parse(*shown("a"), closed_within=3))
    with pytest.raises(UsageError, match="different phi"):
        start.merge(parse(*shown("a"), phi=Phi(weights=(2,) * 8)))


def test_feedback_is_a_source_too():
    feedback = parse(query(), *shown("a", "b"), event("click", "b", 2))
    assert feedback.alpha([3, 4]) == feedback.alphas.mean()
    with pytest.raises(UsageError):
        feedback.alpha([])


def test_labels_join_on_query_and_document():
    data = podium.RankingData.from_arrays(
        np.zeros((5, 1)), np.zeros(5), qid=["q1", "q1", "q1", "q2", "q2"], docid=list("abcab"),
        query_text=["red shoes", "blue shoes"],
    )  # fmt: skip

    def of(text, *clicked, n):
        return [
            query(n, user_query=text, query_attributes={"user_class": n}),
            *shown("a", "b", query_id=n),
            *[event("click", d, "ab".index(d) + 1, 50, n) for d in clicked],
        ]  # fmt: skip

    feedback = parse(
        *of("red shoes", "b", n="1"), *of("red shoes", n="2"), *of("q2", "a", n="3"),
        *of("green shoes", "a", n="4"), **WHERE,
    )  # fmt: skip
    gain = squash(1, 0.1)
    expected = [0, gain / 2, NAN, gain, 0]  # b: clicked in one of two lists; c: never shown
    np.testing.assert_allclose(feedback.labels(data), expected)
    np.testing.assert_allclose(feedback.labels(data, "2"), [0, 0, NAN, NAN, NAN])
    np.testing.assert_allclose(feedback.labels(data, "4"), [NAN] * 5)
    mapped = feedback.labels(data, queries={"green shoes": "q1"})
    np.testing.assert_allclose(mapped, [gain, 0, NAN, NAN, NAN])
    with pytest.raises(DataError, match="'q9'"):
        feedback.labels(data, queries={"green shoes": "q9"})
    with pytest.raises(DataError, match="'5'"):
        feedback.labels(data, "5")
    nameless = podium.RankingData.from_arrays(np.zeros((1, 1)), [0], qid=["q2"])
    with pytest.raises(MissingDocidsError):
        feedback.labels(nameless)


def test_labels_of_a_generated_log_follow_the_labels_behind_it():
    data = make_synthetic(10, seed=4)
    feedback = parse_ubi(make_log(data, n_lists=400, seed=1).lines())
    labels = feedback.labels(data)
    assert np.isfinite(labels).mean() > 0.9
    means = [np.nanmean(labels[data.y == grade]) for grade in (0, 1, 2)]
    assert means[0] < means[1] < means[2]


def test_logs_that_cannot_be_generated():
    for wrong in ({"n_lists": 0}, {"depth": 0}, {"clicks": ()}, {"clicks": (2,)}, {"seed": -1}):
        with pytest.raises(UsageError):
            make_log(**wrong)
    nameless = podium.RankingData.from_arrays(np.zeros((1, 1)), [0], qid=["q2"])
    with pytest.raises(MissingDocidsError):
        make_log(nameless)


def test_feedback_reads_back_the_same(tmp_path, two_classes):
    _, feedback = two_classes
    path = tmp_path / "yesterday.npz"
    save_feedback(feedback, path)
    again = load_feedback(path)
    same(again, feedback)
    assert again.counts == feedback.counts
    assert (again.phi, again.closed_within) == (feedback.phi, feedback.closed_within)
    first = path.read_bytes()
    save_feedback(again, path)
    assert path.read_bytes() == first
    custom = parse(*shown("a"), phi=lambda mu: np.full(len(mu), 0.5))
    save_feedback(custom, path)
    with pytest.raises(UsageError, match="phi="):
        load_feedback(path)
    assert load_feedback(path, Phi()).alphas.tolist() == [0.5]


def test_files_of_version_1_are_read_for_ever():
    """How the file was made is in golden/make.py."""
    expected = json.loads((GOLDEN / "feedback-v1.json").read_text())
    found = load_feedback(GOLDEN / "feedback-v1.npz")
    assert list(found.query_ids) == expected["query_ids"]
    np.testing.assert_allclose(found.factors, expected["factors"], rtol=1e-12)
    np.testing.assert_allclose(found.alphas, expected["alphas"], rtol=1e-12)


def test_a_file_of_something_else(tmp_path):
    (tmp_path / "log.ndjson").write_text("{}\n")
    with pytest.raises(
        CorruptFileError, match=r"log\.ndjson: this is not saved feedback \(a NumPy archive"
    ):
        load_feedback(tmp_path / "log.ndjson")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(
        CorruptFileError, match=r"other\.npz: this is not saved feedback.*an archive of a\)"
    ):
        load_feedback(tmp_path / "other.npz")
    with pytest.raises(FileNotFoundError):
        load_feedback(tmp_path / "none.npz")


def test_a_file_that_is_no_feedback(tmp_path, two_classes):
    path = tmp_path / "x.npz"
    save_feedback(two_classes[1], path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    broken = [b"", b"text", whole[:100], whole[: len(whole) // 2], b"PK\x05\x06" + b"\0" * 18]
    for _ in range(60):
        changed = bytearray(whole)
        for at in rng.integers(len(whole), size=3):
            changed[at] ^= 1 << rng.integers(8)
        broken.append(bytes(changed))
    refused = 0
    for content in broken:
        path.write_bytes(content)
        try:
            load_feedback(path)
        except PodiumError:
            refused += 1
    assert refused > 40  # a bit in a file name or a time says nothing
    with np.load(io.BytesIO(whole)) as archive:
        columns = dict(archive)
    for name, value in [
        ("offsets", columns["offsets"][:-1]), ("sums", -columns["sums"]),
        ("docs_codes", columns["docs_codes"] + 9999),
        ("known", columns["known"].astype(float)), ("about", columns["about"][:-3]),
        ("query_ids_offsets", columns["query_ids_offsets"] + 1),
        ("offsets", columns["offsets"].astype(float)),
        ("offsets", columns["offsets"].astype(float) + 0.25),
        ("returns", np.full_like(columns["returns"], NAN)), ("returns", columns["returns"] - 9),
        ("places", np.full_like(columns["places"], NAN)), ("sums", columns["sums"] + np.inf),
        ("docs_codes", np.zeros_like(columns["docs_codes"])),
        ("about", as_bytes("[" * 100_000)), ("about", as_bytes('{"a":' * 100_000)),
        *[("about", about_with(columns, **change)) for change in (
            {"counts": {"malformed": "x"}}, {"counts": {"malformed": 1.5}},
            {"counts": {"malformed": {}}}, {"counts": {"actions": 3}}, {"counts": {"malformed": -1}},
            {"counts": {"actions": {"click": None}}}, {"counts": []}, {"counts": {"other": 1}},
            {"closed_within": NAN}, {"closed_within": -1}, {"closed_within": 10**400},
        )],
    ]:  # fmt: skip
        np.savez(path, **{**columns, name: value})
        with pytest.raises(CorruptFileError, match="this is not saved feedback"):
            load_feedback(path)


def as_bytes(text):
    return np.frombuffer(text.encode(), dtype=np.uint8)


def about_with(columns, **change):
    return as_bytes(json.dumps(json.loads(columns["about"].tobytes()) | change))


def test_a_file_with_the_same_list_twice_is_none(tmp_path):
    path = tmp_path / "x.npz"
    save_feedback(parse(*shown("a"), *shown("a", query_id="2")), path)
    with np.load(path) as archive:
        columns = dict(archive)
    np.savez(path, **{**columns, "query_ids_bytes": as_bytes("11")})
    with pytest.raises(CorruptFileError, match="query ids that occur twice"):
        load_feedback(path)


def test_what_is_saved_can_be_loaded(tmp_path):
    path = tmp_path / "x.npz"
    longest = [event("page_exit", "a", 1, i, more={"dwell_time": 1e12}) for i in range(3)]
    endless = [event("page_exit", "a", 1, i, more={"dwell_time": 1e308}) for i in range(3, 6)]
    feedback = parse(*shown("a"), *longest, *endless)
    save_feedback(feedback, path)
    assert load_feedback(path).reactions[0, FACTORS.index("dwell")] == 3 * 1e12
    feedback.list_sums.sums[:] = np.inf
    with pytest.raises(DataError, match="infinite"):
        save_feedback(feedback, path)
    assert load_feedback(path).reactions[0, FACTORS.index("dwell")] == 3 * 1e12


def test_counts_add_up_and_tell_problems():
    counts = LogCounts(events=2, actions={"a": 1, "b": 1}) + LogCounts(
        events=1, actions={"b": 1}, malformed=2
    )
    assert counts.events == 3
    assert list(counts.actions.items()) == [("b", 2), ("a", 1)]
    assert counts.problems == {"malformed": 2}
    assert json.loads(json.dumps(counts.to_dict()))["malformed"] == 2


def test_uniform_feedback():
    assert UniformFeedback().alpha([5, 41]) == 1
    assert UniformFeedback(0.5).by_size(3).tolist() == [0.5] * 3
    for wrong in (-0.1, 1.1, NAN):
        with pytest.raises(UsageError):
            UniformFeedback(wrong)


def test_simulated_feedback_follows_the_number_of_subsets():
    d = 46
    exact = SimulatedFeedback(variance=0).by_size(d)
    assert exact.tolist() == [math.comb(d, n) / math.comb(d, 23) for n in range(1, d + 1)]
    assert exact.argmax() + 1 == 23
    drawn = np.stack([SimulatedFeedback(0.01, seed).by_size(d) for seed in range(400)])
    assert ((drawn >= 0) & (drawn <= 1)).all()
    middle = drawn[:, 16]  # far from 0 and 1, so that nothing is clipped
    assert middle.mean() == pytest.approx(exact[16], abs=4 * 0.1 / 20)
    assert middle.var() == pytest.approx(0.01, rel=0.3)
    assert (
        SimulatedFeedback(0.01, 3).by_size(d).tolist()
        == SimulatedFeedback(0.01, 3).by_size(d).tolist()
    )
    assert np.isfinite(SimulatedFeedback().by_size(700)).all()


def test_feedback_on_a_composition_is_the_mean_over_features():
    source = SimulatedFeedback(variance=0.02, seed=1)
    sizes = [5, 11, 30]
    by_size = source.by_size(46)
    expected = sum(n * by_size[n - 1] for n in sizes) / 46
    assert source.alpha(sizes) == pytest.approx(expected)
    parts = split_alpha(source.alpha(sizes), sizes)
    assert parts.tolist() == pytest.approx([source.alpha(sizes) * n / 46 for n in sizes])


@pytest.mark.parametrize("sizes", [[], [0, 3], [1.5], [[1, 2]], "ab", [-1]])
def test_sizes_that_are_none(sizes):
    for ask in (UniformFeedback().alpha, SimulatedFeedback().alpha, lambda s: split_alpha(0.5, s)):
        with pytest.raises(UsageError, match="sizes of a composition"):
            ask(sizes)


def test_sources_that_cannot_be():
    for wrong in ({"variance": -1}, {"variance": NAN}, {"seed": -1}):
        with pytest.raises(UsageError):
            SimulatedFeedback(**wrong)
    with pytest.raises(UsageError):
        SimulatedFeedback().by_size(0)
    with pytest.raises(UsageError):
        split_alpha(1.5, [1])


def test_the_picture_has_a_panel_for_every_factor(two_classes):
    pytest.importorskip("matplotlib")
    figure = plot_feedback(two_classes[1])
    titles = [ax.get_title() for ax in figure.axes]
    assert all(any(factor in title for title in titles) for factor in FACTORS)
    clicks = figure.axes[0]
    widths = [bar.get_width() for bar in clicks.patches]
    feedback = two_classes[1]
    groups = [feedback, *feedback.by_class().values()]
    assert widths == pytest.approx([g.factors[:, 0].mean() for g in groups])
    bare = plot_feedback(parse(*shown("a")))
    assert sum("not in the log" in t.get_text() for ax in bare.axes for t in ax.texts) == 8


def test_a_picture_of_one_factor_or_of_alpha(two_classes):
    feedback = two_classes[1]
    shares = feedback.plot().patches[0].get_data().values
    assert shares.sum() == pytest.approx(1), "every list has one alpha"
    ax = feedback.plot(factor="clicks")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["all", *feedback.classes]
    with pytest.raises(UnknownNameError, match="did you mean clicks"):
        feedback.plot(factor="click")


def test_every_action_and_factor_is_in_the_docs():
    page = (DOCS / "feedback.md").read_text()
    assert [name for name in ACTIONS if f"`{name}`" not in page] == []
    assert [name for name in FACTORS if f" {name} |" not in page] == []


def test_feedback_says_what_it_is(two_classes):
    assert repr(two_classes[1]).startswith("Feedback(160 lists, ")
    assert "classes: x, y" in repr(two_classes[1])
    assert repr(parse(*shown("a"))) == "Feedback(1 list, 1 document, carried: none)"
