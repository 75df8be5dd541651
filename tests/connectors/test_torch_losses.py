"""podium's losses as modules of PyTorch: value and gradient of the kernels, and a model that learns."""

import numpy as np
import pytest

from podium.data import RankingData
from podium.errors import LengthMismatchError, UsageError
from podium.losses import ListMLELoss, make
from podium.metrics import evaluate

LOSSES = (
    "focused", "hinge", "lambdarank", "listmle", "listnet", "ranknet", "squared", "svm-map",
    "topk-listmle", "yetiloss",
)  # fmt: skip
SIZES = [4, 1, 7, 3]
LABELS = [2, 0, 1, 0, 1, 3, 2, 1, 0, 0, 1, 2, 1, 1, 1]


@pytest.fixture(scope="module")
def torch(load):
    return load("torch")


@pytest.fixture(scope="module")
def make_loss(load):
    return load("podium.connectors.torch_losses").RankingLoss


def batch(torch, dtype=None):
    scores = np.random.default_rng(3).normal(size=sum(SIZES))
    return (
        torch.tensor(scores, dtype=dtype or torch.float64, requires_grad=True),
        torch.tensor(LABELS), torch.tensor(SIZES),
    )  # fmt: skip


def bound(name, seed=0, round_number=0, topk=None, **settings):
    """The loss of podium on the same batch: documents are their places, which seeds see."""
    data = RankingData.from_arrays(
        np.zeros((len(LABELS), 1)), LABELS, qid=np.repeat(np.arange(len(SIZES)), SIZES),
        docid=[str(place) for place in range(len(LABELS))], topk=topk,
    )  # fmt: skip
    return make({"name": name, **settings}).bind(data, seed).redraw(round_number)


@pytest.mark.parametrize("name", LOSSES)
def test_value_and_gradient_are_the_kernels(name, torch, make_loss):
    scores, labels, sizes = batch(torch)
    values, gradient = bound(name)(scores.detach().numpy())
    per_query = make_loss(name, reduction="none").eval()(scores, labels, sizes)
    assert per_query.detach().numpy() == pytest.approx(values, rel=0, abs=0)
    weight = torch.tensor([1.0, 2.0, 0.5, 3.0], dtype=torch.float64)
    (per_query * weight).sum().backward()
    expected = gradient * np.repeat(weight.numpy(), SIZES)
    assert scores.grad.numpy() == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("name", ["listnet", "listmle", "topk-listmle", "ranknet", "focused"])
def test_the_gradient_is_that_of_the_value(name, torch, make_loss):
    scores, labels, sizes = batch(torch)
    loss = make_loss(name, reduction="sum").eval()
    assert torch.autograd.gradcheck(
        lambda s: loss(s, labels, sizes), (scores,), eps=1e-6, atol=1e-6
    )


def test_listnet_and_ranknet_are_their_formulas_in_torch(torch, make_loss):
    scores, labels, sizes = batch(torch)
    lists = list(zip(scores.split(SIZES), labels.double().split(SIZES), strict=True))
    lists = [(s, y) for s, y in lists if y.min() < y.max()]
    cross_entropy = [-(y.softmax(0) * s.log_softmax(0)).sum() for s, y in lists]
    value = make_loss("listnet")(scores, labels, sizes)
    assert value.item() == pytest.approx(sum(cross_entropy).item() / len(lists), rel=1e-12)
    (gradient,) = torch.autograd.grad(value, scores)
    (expected,) = torch.autograd.grad(sum(cross_entropy) / len(lists), scores)
    assert torch.allclose(gradient, expected, rtol=1e-12)
    logistic = torch.nn.functional.softplus
    pairs = sum(
        logistic(s[None] - s[:, None])[y[:, None] > y[None]].sum() for s, y in lists
    )  # fmt: skip
    value = make_loss("ranknet", pairs="sum", reduction="sum")(scores, labels, sizes)
    assert value.item() == pytest.approx(pairs.item(), rel=1e-12)


def test_the_mean_is_over_queries_that_have_something_to_learn(torch, make_loss):
    scores, labels, sizes = batch(torch)  # the queries of 1 and of 3 documents have one label
    total = make_loss("listmle", reduction="sum").eval()(scores, labels, sizes).item()
    assert make_loss("listmle").eval()(scores, labels, sizes).item() == pytest.approx(total / 2)
    alike = make_loss("listnet")(scores, torch.zeros(15), sizes)
    alike.backward()
    assert alike.item() == 0
    assert not scores.grad.any()


def test_top_k_truth_is_an_order_of_the_best(torch, make_loss):
    scores, _, _ = batch(torch)
    labels = torch.tensor([0, 2, 0, 1, 0, 0, 0, 2, 0, 1, 0, 0, 1, 2, 0])
    settings = {"k": 2, "beta": 0.25}
    value = make_loss("focused", topk=2, reduction="sum", **settings).eval()(
        scores, labels, torch.tensor(SIZES)
    )
    data = RankingData.from_arrays(
        np.zeros((15, 1)), labels.numpy(), qid=np.repeat(np.arange(4), SIZES), topk=2
    )
    expected, _ = make({"name": "focused", **settings}).bind(data)(scores.detach().numpy())
    assert value.item() == expected.sum()


def test_training_draws_anew_and_evaluation_does_not(torch, make_loss):
    scores, labels, sizes = batch(torch)
    for name in ("yetiloss", "listmle"):
        loss = make_loss(name, seed=5)
        drawn = [loss(scores, labels, sizes).item() for _ in range(4)]
        assert len(set(drawn)) > 1
        values = bound(name, seed=5 + 2, round_number=2)(scores.detach().numpy())[0]
        assert drawn[2] == pytest.approx(values.sum() / 2)
        loss.eval()
        assert len({loss(scores, labels, sizes).item() for _ in range(3)}) == 1
        assert loss(scores, labels, sizes).item() == drawn[0]


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16"])
def test_scores_of_other_precisions(kind, torch, make_loss):
    dtype = getattr(torch, kind)
    scores, labels, sizes = batch(torch, dtype)
    value = make_loss("topk-listmle", k=3).eval()(scores, labels, sizes)
    value.backward()
    exact, gradient = bound("topk-listmle", k=3)(scores.detach().double().numpy())
    assert value.dtype == torch.float32
    assert value.item() == pytest.approx(exact.sum() / 2, rel=1e-6)
    assert scores.grad.dtype == dtype
    near = torch.finfo(dtype).eps
    assert scores.grad.double().numpy() == pytest.approx(gradient / 2, rel=2 * near, abs=near)


def test_scores_that_are_not_finite_spoil_their_query_alone(torch, make_loss):
    scores, labels, sizes = batch(torch)
    with torch.no_grad():
        scores[0] = torch.inf
    values = make_loss("listnet", reduction="none")(scores, labels, sizes)
    values.sum().backward()
    assert values.isnan().tolist() == [True, False, False, False]
    assert scores.grad.isnan().tolist() == [True] * 4 + [False] * 11


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ((14, 15), "expected 15 scores"),
        ((15, 14), "expected 15 labels"),
        (((15, 1), 15), "squeeze"),
    ],
)
def test_wrong_shapes_are_refused(shapes, words, torch, make_loss):
    with pytest.raises(LengthMismatchError, match=words):
        make_loss("listnet")(torch.zeros(shapes[0]), torch.zeros(shapes[1]), torch.tensor(SIZES))


def test_wrong_settings_are_refused(make_loss):
    with pytest.raises(UsageError, match="reduction of mean, sum, none"):
        make_loss("listnet", reduction="median")
    with pytest.raises(UsageError, match="nothing"):
        make_loss("nothing")
    with pytest.raises(UsageError, match="settings"):
        make_loss(ListMLELoss(), k=3)
    assert "TopkListMLELoss(k=3), reduction='mean'" in repr(make_loss("topk-listmle", k=3))


def test_a_cross_encoder_learns_the_top_of_lists(torch, make_loss):
    """Word vectors of query and document, mixed by a layer: it must learn which words answer which."""
    draw = torch.Generator().manual_seed(0)
    words, n = 12, 60
    queries = torch.randint(words, (n,), generator=draw)
    sizes = torch.randint(5, 12, (n,), generator=draw)
    documents = torch.randint(words, (int(sizes.sum()), 4), generator=draw)
    asked = queries.repeat_interleave(sizes)
    answers = (asked[:, None] * 5 + 1) % words
    labels = (documents == answers).sum(1).clamp(max=2)
    torch.manual_seed(0)
    words_of_both = torch.nn.EmbeddingBag(words * words, 1, mode="sum")
    optimiser = torch.optim.Adam(words_of_both.parameters(), lr=0.1)
    loss = make_loss("topk-listmle", k=3)

    def scores():
        return words_of_both(asked[:, None] * words + documents).squeeze(1)

    def quality(values):
        data = RankingData.from_arrays(
            np.zeros((len(labels), 1)), labels.numpy(), qid=np.repeat(np.arange(n), sizes.numpy())
        )
        return evaluate(data, values.detach().numpy(), "NDCG@3")["NDCG@3"].mean

    best = quality(labels.double())  # below 1: some queries have no answer
    assert quality(scores()) < 0.7 * best
    for _ in range(40):
        optimiser.zero_grad()
        loss(scores(), labels, sizes).backward()
        optimiser.step()
    assert quality(scores()) > 0.99 * best
