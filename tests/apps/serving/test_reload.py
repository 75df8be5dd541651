"""Files that change are taken as a whole, or not at all; the last good ones are still served."""

import asyncio
import os

import pytest

from podium.apps.serving.reloaded_files import ServedFiles
from podium.apps.serving.settings import ServingSettings
from podium.errors import ModelFileError, PodiumError
from tests.support.ranking_service import get, post, replace, rows, save, service

RULES = "version: 1\nrules:\n  - {rule: top-k, docs: %s, k: 1, weight: 50}\n"
IDS = list("abc")


@pytest.fixture
def files(tmp_path):
    ranker, _ = save(tmp_path)
    other, _ = save(tmp_path, "listnet", "other.podium")
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES % "b")
    docs = tmp_path / "docs.csv"
    docs.write_text("id,stock\na,1\n")
    return tmp_path / "shop.podium", tmp_path / "other.podium", rules, docs, ranker, other


@pytest.fixture
def app(files):
    model, _, rules, docs, *_ = files
    return service(model, rules=str(rules), docs=str(docs))


def scores(app):
    answer = post(app, "/v1/rank", {"features": rows().tolist()})
    return answer.json()["scores"]


def expected(ranker):
    return sorted(ranker.predict(rows()).tolist(), reverse=True)


def first(app):
    return post(app, "/v1/postrank", {"documents": IDS}).json()["ids"][0]


def health(app):
    return get(app, "/healthz").json()


def refresh(app, always=False):
    asyncio.run(app.refresh(always))


def test_a_changed_model_is_taken(app, files):
    model, other, _, _, old, new = files
    version = get(app, "/v1/models").json()["models"][0]["version"]
    assert scores(app) == expected(old)
    replace(model, other.read_bytes())
    assert scores(app) == expected(old)  # not before it is looked at
    refresh(app)
    assert scores(app) == expected(new)
    assert get(app, "/v1/models").json()["models"][0]["version"] != version
    assert (
        'podium_reloads_total{outcome="taken",source="model shop"} 1.0' in get(app, "/metrics").text
    )


def test_changed_rules_are_taken(app, files):
    assert first(app) == "b"
    replace(files[2], RULES % "c")
    refresh(app)
    assert first(app) == "c"


def test_what_has_not_changed_is_not_read_again(app, files):
    before = app.files.state
    refresh(app)
    assert app.files.state is before
    refresh(app, always=True)
    assert app.files.state is not before
    assert app.files.state.models.models[0].version == before.models.models[0].version


@pytest.mark.parametrize(
    ("which", "text", "said"),
    [
        (0, "nonsense", "model shop: shop.podium: this is not a podium model file"),
        (0, "", "model shop: shop.podium: this is not a podium model file"),
        (2, "rules: [", "rules: rules.yaml:1: this is not valid YAML"),
        (2, "version: 1\nrules:\n  - {rule: topk}\n", "rules: rules.yaml:3: unknown rule 'topk'"),
        (2, "version: 2\nrules: []\n", "rules: rules.yaml:1: expected version: 1"),
        (
            2,
            "version: 1\nrules:\n  - {rule: pin, docs: a, position: 1, hard: true}\n"
            "  - {rule: pin, docs: b, position: 1, hard: true}\n",
            "rules: rules.yaml:3: expected hard rules that can hold together, got Pin('a', 1) and "
            "Pin('b', 1) (line 4): cannot hold together; ",
        ),
        (3, "name\na\n", "docs: docs.csv:1: expected a column of document ids"),
    ],
)
def test_an_invalid_file_changes_nothing_and_is_told(app, files, which, text, said):
    before = scores(app), first(app)
    good = files[which].read_bytes()
    replace(files[which], text)
    refresh(app)
    assert (scores(app), first(app)) == before
    told = health(app)
    assert told["status"] == "degraded"
    assert told["reasons"][0].startswith(said)
    assert str(files[which].parent) not in told["reasons"][0]
    figures = get(app, "/metrics").text
    assert "podium_degraded 1.0" in figures
    assert 'outcome="refused"' in figures
    state = app.files.state
    refresh(app)
    assert app.files.state is state  # not tried again and again
    replace(files[which], good)
    refresh(app)
    assert health(app) == {"status": "ok", "reasons": []}
    assert "podium_degraded 0.0" in get(app, "/metrics").text


def test_a_file_that_is_gone_changes_nothing_and_is_told(app, files):
    before = scores(app)
    os.remove(files[0])
    refresh(app)
    assert scores(app) == before
    assert health(app)["reasons"] == [
        "model shop: cannot read shop.podium: No such file or directory"
    ]


def test_trouble_of_the_system_passes(app, files, monkeypatch):
    """A file that could not be read for a moment is read again, though it has not changed since."""
    replace(files[2], RULES % "c")
    source = app.files._rules
    read = source._read

    def no_room(path):
        raise OSError(24, "Too many open files", path)

    source._read = no_room
    refresh(app)
    assert first(app) == "b"
    assert health(app)["reasons"] == ["rules: cannot read rules.yaml: Too many open files"]
    state = app.files.state
    refresh(app)
    assert app.files.state is state  # the same again is no news
    source._read = read
    refresh(app)
    assert first(app) == "c"
    assert health(app)["status"] == "ok"


def test_one_that_begins_while_a_file_is_broken_serves_what_was_read_last(files, tmp_path):
    copies = tmp_path / "copies"
    copies.mkdir()
    settings = {"rules": str(files[2]), "copies_folder": str(copies)}
    old = service(files[0], **settings)
    version = old.files.state.models.models[0].version
    replace(files[2], "rules: [")
    replace(files[0], "nonsense")
    asyncio.run(old.refresh())
    begun = service(files[0], **settings)
    assert first(begun) == "b"
    assert begun.files.state.models.models[0].version == version
    assert [reason.partition(":")[0] for reason in health(begun)["reasons"]] == [
        "model shop", "rules",
    ]  # fmt: skip
    replace(files[2], RULES % "c")
    asyncio.run(begun.refresh())
    assert first(begun) == "c"
    with pytest.raises(PodiumError):
        service(files[0])


def test_good_and_bad_changes_at_once_are_taken_apart(app, files):
    model, other, rules, _, _, new = files
    replace(model, other.read_bytes())
    replace(rules, "nonsense")
    refresh(app)
    assert scores(app) == expected(new)
    assert first(app) == "b"
    assert len(health(app)["reasons"]) == 1


def test_models_and_rules_change_together(files, monkeypatch):
    """A request sees old models and rules, or new ones, never some of each."""
    model, other, rules, *_ = files
    files = ServedFiles(ServingSettings((str(model),), rules=str(rules)))
    seen = []
    replace(model, other.read_bytes())
    replace(rules, RULES % "c")
    load = files._rules.load
    monkeypatch.setattr(files._rules, "load", lambda: (seen.append(files.state), load()))
    before = files.state
    files.refresh()
    assert seen == [before]  # the new model is read, and not yet served
    assert files.state.models.models[0].version != before.models.models[0].version
    assert files.state.rules.rules != before.rules.rules


def test_a_file_that_is_being_written_is_taken_later(files, monkeypatch):
    from podium.apps.serving import reloaded_files as module

    model, other, *_ = files
    files = ServedFiles(ServingSettings((str(model),)))
    replace(model, other.read_bytes())
    real, asked = module.signature, []

    def changing(path):
        asked.append(path)
        return (len(asked), 0, 0) if len(asked) < 4 else real(path)

    monkeypatch.setattr(module, "signature", changing)
    before = files.state.models.models[0]
    files.refresh()
    assert files.state.models.models[0] is before
    assert "being written" in files.state.reasons[0]
    files.refresh()
    assert files.state.models.models[0] is not before
    assert files.state.reasons == ()


def test_invalid_files_at_the_start_are_errors(tmp_path, files):
    bad = tmp_path / "bad.podium"
    bad.write_text("nonsense")
    with pytest.raises(ModelFileError, match=r"bad\.podium"):
        service(bad)
    with pytest.raises(FileNotFoundError, match=r"nothing\.podium"):
        service(tmp_path / "nothing.podium")
    replace(files[2], "rules: []")
    with pytest.raises(PodiumError, match="expected version"):
        service(files[0], rules=str(files[2]))


def test_files_are_watched(app, files):
    """From the start of the service to its end."""
    model, other, _, _, _, new = files
    app.settings = ServingSettings((str(model),), reload_seconds=0.01)

    async def live():
        inbox: asyncio.Queue = asyncio.Queue()
        sent: asyncio.Queue = asyncio.Queue()
        running = asyncio.create_task(app({"type": "lifespan"}, inbox.get, sent.put))
        await inbox.put({"type": "lifespan.startup"})
        assert (await sent.get())["type"] == "lifespan.startup.complete"
        replace(model, other.read_bytes())
        before = app.files.state
        async with asyncio.timeout(20):
            while app.files.state is before:
                await asyncio.sleep(0.01)
        await inbox.put({"type": "lifespan.shutdown"})
        assert (await sent.get())["type"] == "lifespan.shutdown.complete"
        await running

    asyncio.run(live())
    assert scores(app) == expected(new)
