"""A model is tried before it is served; describing models does not hold up other requests."""

import asyncio
import json
import threading

import numpy as np
import pytest

from podium.apps.serving import model_arguments, model_check, quick_requests
from podium.apps.serving.body_types import RankRequest
from podium.apps.serving.model_arguments import ModelFile
from podium.apps.serving.quick_requests import is_quick_model, is_quick_rank
from podium.apps.serving.served_models import LoadedModel
from podium.data.zip_archives import array_bytes
from podium.errors import ModelFileError
from podium.rankers.models import Linear, Stumps
from tests.support.forging import read, write
from tests.support.forked_code import run_code
from tests.support.paths import GOLDEN
from tests.support.ranking_service import get, post, replace, rows, save, service


@pytest.fixture
def shop(tmp_path):
    save(tmp_path, "rankboost")
    return tmp_path / "shop.podium"


def scores(app):
    return post(app, "/v1/rank", {"features": rows().tolist()}).json()["scores"]


def with_width(path, width):
    """The model file with another number of features; nothing else names one."""
    files = read(path)
    manifest = json.loads(files["manifest.json"])
    manifest["trained"]["feature_names"] = None
    files["manifest.json"] = json.dumps(manifest).encode()
    files["width.npy"] = array_bytes(np.array([width]))
    return write(path.with_name("forged.podium"), files)


def test_the_file_that_froze_a_service_is_refused_by_a_hot_reload(shop):
    app = service(shop)
    before = scores(app)
    replace(shop, with_width(shop, 10**10).read_bytes())
    asyncio.run(app.refresh())
    (reason,) = get(app, "/healthz").json()["reasons"]
    assert "expected stumps on at most 131,072 features, got 10,000,000,000" in reason
    assert get(app, "/v1/models").json()["models"][0]["n_features"] == 4
    assert scores(app) == before


def test_a_model_that_takes_too_long_is_refused(shop, tmp_path, monkeypatch):
    save(tmp_path, "ranksvm", "other.podium")
    app = service(shop)
    before, ended = scores(app), threading.Event()

    def waiting(self, X, groups):
        ended.wait(60)
        return np.zeros(len(X))

    monkeypatch.setattr(Linear, "scores", waiting)
    monkeypatch.setattr(
        model_arguments,
        "check_model",
        lambda model: model_check.check_model(model, seconds=0.05),
    )
    other = tmp_path / "other.podium"
    with pytest.raises(
        ModelFileError, match=r"other\.podium: expected a model that scores a trial"
    ):
        service(other)
    replace(shop, other.read_bytes())
    asyncio.run(app.refresh())
    ended.set()
    told = get(app, "/healthz").json()
    assert told["status"] == "degraded"
    assert told["reasons"][0].startswith("model shop: shop.podium: expected a model that scores")
    assert scores(app) == before


@pytest.mark.parametrize("error", [ZeroDivisionError, MemoryError, RecursionError, ModelFileError])
def test_a_model_that_fails_in_its_trial_is_refused(error, shop, monkeypatch):
    def failing(self, X):
        raise error("it cannot")

    monkeypatch.setattr(Stumps, "predict", failing)
    with pytest.raises(ModelFileError, match=f"got an error .{error.__name__}: it cannot"):
        ModelFile.parse(str(shop)).load()


def test_a_model_of_too_many_features_is_not_served(shop, monkeypatch):
    monkeypatch.setattr(model_check, "MAX_SERVED_FEATURES", 3)
    with pytest.raises(ModelFileError, match="at most 3 features to serve, got 4"):
        ModelFile.parse(str(shop)).load()


def test_models_are_described_in_another_thread(shop, monkeypatch):
    app, seen = service(shop), []
    info = LoadedModel.info
    monkeypatch.setattr(
        LoadedModel, "info",
        lambda self, is_default: (seen.append(threading.current_thread()), info(self, is_default))[1],
    )  # fmt: skip
    assert get(app, "/v1/models").status_code == 200
    own = [thread for thread in seen if thread.name != "podium-trial"]  # late ones of other tests
    assert len(own) == 1
    assert own[0] is not threading.main_thread()  # which the event loop runs in


def test_many_stumps_are_not_summed_on_the_event_loop(shop):
    model = ModelFile.parse(str(shop)).load()
    assert is_quick_model(model, 1)
    n = quick_requests.MAX_QUICK_STUMPS + 1
    model.ranker.model_ = Stumps(4, np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n))
    assert not is_quick_model(model, 1)


def test_many_steps_down_trees_are_not_taken_on_the_event_loop(monkeypatch):
    model = ModelFile.parse(str(GOLDEN / "trees-v1.podium")).load()
    steps = int(model.ranker.model_.arrays.depths.sum())
    monkeypatch.setattr(quick_requests, "MAX_QUICK_TREE_STEPS", 10 * steps)
    assert is_quick_model(model, 10)
    assert not is_quick_model(model, 11)
    assert not is_quick_model(model, 1, explain=True)


def test_ranking_by_trees_does_not_import_lightgbm():
    code = f"""
import sys
import numpy as np
from tests.support.ranking_service import post, service
app = service({str(GOLDEN / "trees-v1.podium")!r})
width = app.files.state.models.models[0].ranker.n_features_in_
body = {{"features": np.eye(width).tolist()}}
statuses = [post(app, "/v1/rank", body).status_code, "lightgbm" in sys.modules]
body["explain"] = True
statuses += [post(app, "/v1/rank", body).status_code, "lightgbm" in sys.modules]
print(statuses)
"""
    done = run_code(code)
    assert done.stdout == "[200, False, 200, True]\n", done.stderr[-2000:]


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/null"])
def test_a_device_is_no_model(target):
    with pytest.raises(ModelFileError, match="expected a file, got a device"):
        ModelFile("zero", target).load()


def test_a_request_for_an_unknown_model_is_quick_to_refuse(shop):
    state = service(shop).files.state
    assert is_quick_rank(RankRequest(features=[[0.0] * 4]), state)
    assert is_quick_rank(RankRequest(features=[[0.0] * 4], model="other"), state)
    assert not is_quick_rank(RankRequest(features=[[0.0] * 4], user_class="new"), state)
