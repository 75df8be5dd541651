"""podium rank: requests in, answers out, a line each, as the service gives them."""

import json

import pytest

from podium.apps.cli import app as podium
from podium.apps.serving.checked_rules import read_served_rules
from podium.apps.serving.samples import demo_samples
from tests.support.cli import run, runner
from tests.support.forked_code import ForkedCode, run_code
from tests.support.ranking_service import lines, post, rows, save, service

RULES = "version: 1\nrules:\n  - {rule: top-k, docs: b, k: 1, weight: 50}\n"
REQUESTS = [{"features": rows(n, n).tolist(), "id": f"q{n}", "k": 2} for n in range(4)]


@pytest.fixture
def path(tmp_path):
    return save(tmp_path)[1]


def ranked(*arguments, text, code=0):
    result = runner.invoke(podium, ["rank", *map(str, arguments)], input=text)
    assert result.exit_code == code, result.output
    return result


def text_of(*requests):
    return "".join(json.dumps(request) + "\n" for request in requests)


def test_answers_are_those_of_the_service(path):
    out = ranked(path, text=text_of(*REQUESTS)).stdout
    app = service(path)
    assert lines(out) == [post(app, "/v1/rank", request).json() for request in REQUESTS]


def test_rules_and_fields(path, tmp_path):
    (tmp_path / "rules.yaml").write_text(RULES)
    request = {"features": rows(3).tolist(), "ids": list("abc"), "rules": True}
    out = ranked(path, "--rules", tmp_path / "rules.yaml", text=text_of(request)).stdout
    assert lines(out)[0]["ids"][0] == "b"


def test_a_pin_on_a_hidden_document_gives_way(path):
    """Equal priorities: there is a list all the same, and it names the rule that gave way."""
    rules = [
        {"rule": "pin", "docs": "a", "position": 1, "hard": True},
        {"rule": "hide", "docs": "a", "hard": True},
    ]
    request = {"features": rows(3).tolist(), "ids": list("abc"), "rules": rules}
    (answer,) = lines(ranked(path, text=text_of(request)).stdout)
    assert sorted(answer["ids"]) == ["b", "c"]
    (gave_way,) = answer["yielded"]
    assert (gave_way["number"], gave_way["rule"], gave_way["to"]) == (0, "Pin('a', 1)", [1])


def test_clashing_rules_are_named_with_their_lines(path, tmp_path):
    """`podium rank` and `podium serve` say of clashing rules what `podium rules check` says."""
    file = tmp_path / "rules.yaml"
    file.write_text(
        "version: 1\nrules:\n  - {rule: top-k, docs: c, k: 2}\n"
        "  - {rule: pin, docs: a, position: 1, hard: true, name: A first}\n"
        "  - {rule: hide, where: stock == 0, hard: true}\n"
        "  - {rule: pin, docs: b, position: 1, hard: true}\n"
    )
    said = "A first and Pin('b', 1) (line 6): cannot hold together"
    assert f"{file}:4: error: {said}" in run("rules", "check", file, code=1).stdout
    for command in ("rank", "serve"):
        error = runner.invoke(podium, [command, path, "--rules", str(file)], input="").stderr
        assert f"{file}:4: expected hard rules that can hold together, got {said}; " in error
        assert len(error.splitlines()) == 1


def test_a_clash_that_priorities_decide_is_served_with_one_warning(path, tmp_path):
    file = tmp_path / "rules.yaml"
    pins = (
        "version: 1\nrules:\n  - {rule: pin, docs: a, position: 1, hard: true}\n"
        "  - {rule: pin, docs: b, position: 1, hard: true, query: go, priority: %d}\n"
    )
    file.write_text(pins % 5)
    request = {"features": rows(3).tolist(), "ids": list("abc"), "rules": True}
    requests = text_of(request, {**request, "query": "go"})
    result = ranked(path, "--rules", file, text=requests)
    assert [answer["ids"][0] for answer in lines(result.stdout)] == ["a", "b"]
    assert result.stderr.splitlines() == [
        "podium: warning: rules.yaml:3: Pin('a', 1) and Pin('b', 1) (line 4): cannot hold together, for "
        "query 'go'; Pin('a', 1) gives way when the list is served: its priority is the lowest"
    ]
    file.write_text(pins % 0)
    result = ranked(path, "--rules", file, text=requests, code=1)
    assert "expected hard rules that can hold together, got Pin('a', 1)" in result.stderr


def test_a_bad_line_is_told_and_has_an_error_in_its_place(path):
    bad = [{"features": [[1]]}, {"feature": []}]
    text = text_of(REQUESTS[0], bad[0]) + "{\n\n" + text_of(bad[1], REQUESTS[1])
    result = ranked(path, text=text, code=1)
    told = result.stderr.splitlines()
    assert [line.split(":")[1] for line in told] == [
        " line 2", " line 3", " line 5", " 3 lines could not be answered",
    ]  # fmt: skip
    out = result.stdout.split("\n")
    assert out[3] == ""
    codes = [json.loads(out[at])["error"]["code"] for at in (1, 2, 4)]
    assert codes == ["wrong_features", "not_json", "wrong_type"]
    assert json.loads(out[5])["id"] == "q1"


def test_strict_stops_at_the_first_bad_line(path):
    result = ranked(path, "--strict", text=text_of(REQUESTS[0]) + "x\n" * 2, code=1)
    assert len(result.stdout.splitlines()) == 1
    assert result.stderr.startswith("podium: line 2: expected a request as JSON")
    assert len(result.stderr.splitlines()) == 1


def test_nothing_in_nothing_out(path):
    assert ranked(path, text="").stdout == ""


def test_answers_come_as_lines_do(path):
    process = ForkedCode("from podium.apps.cli import main; main()", "rank", path)
    for request in REQUESTS:
        process.stdin.write(text_of(request))
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == request["id"]
    process.communicate()
    assert process.returncode == 0


def test_it_needs_no_web_server(path):
    code = (
        "import sys\nfor name in ('uvicorn', 'prometheus_client', 'fastapi'): sys.modules[name] = None\n"
        f"sys.argv = ['podium', 'rank', {path!r}]\nfrom podium.apps.cli import main; main()"
    )
    done = run_code(code, text_of(REQUESTS[2]))
    assert json.loads(done.stdout)["id"] == "q2", done.stderr


@pytest.mark.parametrize("missing", ["uvicorn", "prometheus_client"])
def test_serving_without_the_extra_names_it(path, missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        f"sys.argv = ['podium', 'serve', {path!r}]\nfrom podium.apps.cli import main; main()"
    )
    done = run_code(code)
    assert done.returncode == 2
    assert "pip install 'podium-ltr[web]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["rank", "serve"])
def test_files_that_cannot_be_read_are_one_line(tmp_path, command):
    (tmp_path / "bad.podium").write_text("nonsense")
    result = run(command, tmp_path / "bad.podium", code=1)
    assert result.stderr.startswith("podium: ")
    assert len(result.stderr.splitlines()) == 1
    assert "nothing.podium" in run(command, tmp_path / "nothing.podium", code=1).stderr
    assert "name of letters" in run(command, "a b=c", code=2).stderr


def test_each_hard_rule_that_does_nothing_has_a_line(tmp_path):
    (tmp_path / "rules.yaml").write_text(
        "version: 1\nrules:\n  - {rule: top-k, docs: gone, k: 1}\n  - {rule: top-k, docs: lost, k: 1}\n"
        "  - {rule: hide, where: in_stok == 0, hard: true}\n"
        "  - {rule: pin, docs: away, position: 1, hard: true}\n"
    )
    rules = read_served_rules(str(tmp_path / "rules.yaml"))
    lines = rules.warnings({"a": {"in_stock": 1}}, demo_samples())
    assert [line.partition(": ")[0] for line in lines[:3]] == [f"rules.yaml:{n}" for n in (5, 6, 3)]
    assert "the rule does nothing" in lines[0]
    assert lines[2].endswith("names unknown documents: 'gone'; `podium rules check` lists 1 more")
