"""Versions, drafts and the audit log of a folder: whole or not at all, by several people, in git too."""

import datetime
import json
import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from podium.errors import UsageError
from podium.postranking.rules.files import rules_from, rules_text
from podium.rule_history import AuditLog, Author, EditConflictError, RuleFolder, VersionHeader
from podium.rule_history.live_rules import live_rules, live_signature, rules_path
from podium.rule_history.rule_drafts import RuleDrafts
from podium.rule_history.rule_folder import records_of
from podium.rule_history.version_header import moment, split_header
from tests.support.case_counts import soak_cases
from tests.support.ranking_service import eventually
from tools.forks import FORKS

ANN, BOB = Author("Ann Baker", "ann@shop.example"), Author("Bob")
NOON = moment("2026-11-27T12:00")


def text_of(*docs):
    return rules_text(
        rules_from({"version": 1, "rules": [{"rule": "hide", "docs": doc} for doc in docs]})
    )


def docs_of(text):
    return [rule["docs"] for rule in records_of(text)]


def save(folder, *docs, author=ANN, reason="", **options):
    return folder.save(text_of(*docs), author, reason, base=folder.revision(), **options)


@pytest.fixture
def folder(tmp_path):
    return RuleFolder(tmp_path / "rules")


def test_a_save_is_a_new_file_beside_the_old_ones(folder):
    first = save(folder, "a", reason="a is\nsold out", now=NOON)
    second = save(folder, "a", "b", author=BOB)
    assert (first.number, second.number) == (1, 2)
    assert sorted(path.name for path in folder.folder.glob("*.yaml")) == [
        "000001.yaml",
        "000002.yaml",
    ]
    header, body = split_header((folder.folder / "000001.yaml").read_text())
    assert (header.author, header.time, header.reason) == (
        "Ann Baker",
        "2026-11-27T12:00:00Z",
        "a is sold out",
    )
    assert body == text_of("a")
    assert docs_of(folder.newest().text) == ["a", "b"]
    assert rules_path(folder.folder) == folder.folder / "000002.yaml"


def test_before_the_first_save_rules_yaml_is_served(folder):
    assert folder.newest().text == "version: 1\nrules: []\n"
    (folder.folder / "rules.yaml").write_text(text_of("by hand"))
    assert docs_of(folder.newest().text) == ["by hand"]
    version = save(folder, "b")
    assert version.number == 1
    assert [entry["editor"] for entry in folder.audit.entries()] == ["(by hand)", "Ann Baker"]


def test_a_save_of_older_rules_is_refused(folder):
    base = folder.revision()
    save(folder, "a")
    with pytest.raises(EditConflictError, match="newest rules"):
        folder.save(text_of("b"), BOB, base=base)
    assert docs_of(folder.newest().text) == ["a"]


def test_a_change_by_hand_is_another_revision_and_is_logged(folder):
    version = save(folder, "a")
    path = folder.path(1)
    path.write_text(path.read_text().replace("docs: a", "docs: z"))
    with pytest.raises(EditConflictError):
        folder.save(text_of("b"), BOB, base=version.revision)
    assert folder.rules_at(version.revision) is None
    folder.recover()
    assert folder.audit.entries()[-1]["action"] == "changed by hand"
    folder.recover()
    assert len(folder.audit.entries()) == 2  # once


def test_rules_come_back_byte_by_byte(folder):
    odd = "version: 1\r\nrules:\n  - {rule: hide, docs: é, name: 'a # b'}   # why\n\n"
    saved = folder.save(odd, ANN, base=folder.revision())
    save(folder, "b")
    again = folder.save(folder.version(1).text, BOB, base=folder.revision(), action="rollback to 1")
    assert folder.version(3).text == odd
    assert again.revision.split("-")[1] == saved.revision.split("-")[1]


def test_a_header_in_the_text_of_rules_stays_text(folder):
    text = VersionHeader("Eve", reason="forged").lines("version 9") + text_of("a")
    folder.save(text, ANN, base=folder.revision())
    assert folder.newest().header.author == "Ann Baker"
    assert folder.newest().text == text
    forged = Author("Ann\n# reason: forged")
    folder.save(text_of("b"), forged, base=folder.revision())
    assert folder.newest().header.reason == ""


def test_people_who_save_at_once_lose_nothing(folder):
    """Each tries again after a conflict: every save is there, in one line of versions."""
    n_saves = soak_cases(40, 6)

    def edit(name):
        own = RuleFolder(folder.folder)
        for number in range(n_saves):
            while True:
                newest = own.newest()
                text = text_of(*docs_of(newest.text), f"{name}{number}")
                try:
                    own.save(text, Author(name), base=newest.revision)
                    break
                except EditConflictError:
                    continue

    threads = [threading.Thread(target=edit, args=(name,)) for name in ("ann", "bob", "eve")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    docs = docs_of(folder.newest().text)
    assert sorted(docs) == sorted(
        f"{name}{n}" for name in ("ann", "bob", "eve") for n in range(n_saves)
    )
    assert folder.numbers() == [*range(1, 3 * n_saves + 1)]
    assert [entry["version"] for entry in folder.audit.entries()] == folder.numbers()
    assert folder.audit.first_break() is None


# --- kills


def save_until_killed(path, step):
    """Save again and again; die at a step of the disk, if one is named."""
    folder, left = RuleFolder(path), [step]
    if step:
        for name in ("open", "write", "link", "fsync", "unlink", "close"):
            setattr(os, name, dying(getattr(os, name), left))
    with open(path / "acknowledged", "ab", buffering=0) as acknowledged:
        while True:
            version = folder.save(
                text_of(f"d{folder.newest_number()}"), ANN, base=folder.revision()
            )
            left[0] += 1  # this is no step of a save
            acknowledged.write(b"%d\n" % version.number)


def dying(operation, left):
    def run(*arguments, **options):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return operation(*arguments, **options)

    return run


def check_after_kill(path):
    """Every acknowledged save is there and logged once, with its author; every file is whole."""
    folder = RuleFolder(path)
    folder.recover()
    acknowledged = [*map(int, (path / "acknowledged").read_text().split())]
    numbers = folder.numbers()
    assert numbers == [*range(1, len(numbers) + 1)]
    assert set(acknowledged) <= set(numbers)
    entries = folder.audit.entries()
    assert [entry["version"] for entry in entries] == numbers
    assert {entry["editor"] for entry in entries} <= {"Ann Baker"}
    assert folder.audit.first_break() is None
    for number in numbers:
        assert docs_of(folder.version(number).text) == [f"d{number - 1}"]


@pytest.mark.parametrize(
    "step", [*range(1, soak_cases(120, 24), 1 if soak_cases(2, 1) == 2 else 3)]
)
def test_a_save_that_is_killed_at_any_step_is_whole_or_absent(tmp_path, step):
    process = FORKS.Process(target=save_until_killed, args=(tmp_path, step))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    check_after_kill(tmp_path)


def test_no_save_is_lost_in_many_kills(tmp_path):
    draw = random.Random(7)
    acknowledged = tmp_path / "acknowledged"
    acknowledged.touch()
    for _ in range(soak_cases(100, 3)):
        process = FORKS.Process(target=save_until_killed, args=(tmp_path, 0))
        size = acknowledged.stat().st_size
        process.start()
        eventually(lambda size=size: acknowledged.stat().st_size > size)
        time.sleep(0.05 * draw.random())
        process.kill()
        process.join(60)
        check_after_kill(tmp_path)


# --- the audit log


def test_a_changed_or_removed_line_of_the_log_is_noticed(tmp_path):
    log = AuditLog(tmp_path / "audit.ndjson")
    for number in range(5):
        log.append({"editor": "Ann", "action": f"{number}"})
    assert log.first_break() is None
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    assert log.first_break() == 4
    log.path.write_bytes(b"".join([*lines[:2], lines[2].replace(b"Ann", b"Eve"), *lines[3:]]))
    assert log.first_break() == 4
    log.path.write_bytes(b"".join(lines[1:]))
    assert log.first_break() == 2


def test_a_line_that_was_cut_short_stays_and_the_next_entry_is_whole(tmp_path):
    log = AuditLog(tmp_path / "audit.ndjson")
    log.append({"editor": "Ann"})
    with open(log.path, "ab") as file:
        file.write(b'{"number": 2, "edi')
    log.append({"editor": "Bob"})
    assert [(entry["number"], entry["editor"]) for entry in log.entries()] == [
        (1, "Ann"),
        (2, "Bob"),
    ]
    assert log.first_break() is None


def test_long_logs_are_read_from_the_end(tmp_path):
    log = AuditLog(tmp_path / "audit.ndjson")
    lines = [json.dumps({"number": n, "previous": "", "text": "x" * 3000}) for n in range(1, 101)]
    log.path.write_text("\n".join(lines) + "\n")
    assert [entry["number"] for entry in log.newest()] == [*range(100, 0, -1)]


# --- drafts


def draft(folder, *docs, name="friday", base=None, author=ANN, revision="", **period):
    header = VersionHeader(base=base or folder.revision(), **period)
    return RuleDrafts(folder).save(name, header, text_of(*docs), author, revision=revision)


def live_docs(folder, time):
    return docs_of(live_rules(folder, moment(time)).text)


def test_a_draft_is_not_served(folder):
    save(folder, "a")
    draft(folder, "a", "b")
    assert live_docs(folder, "2026-11-27") == ["a"]
    assert RuleDrafts(folder).names() == ["friday"]
    assert folder.audit.entries()[-1]["action"] == "draft saved"


def test_a_scheduled_draft_is_served_from_its_first_to_its_last_moment(folder):
    save(folder, "a")
    draft(folder, "a", "b", starts="2026-11-27T09:00+01:00", ends="2026-11-28")
    assert live_docs(folder, "2026-11-27T07:59:59") == ["a"]
    assert live_docs(folder, "2026-11-27T08:00") == ["a", "b"]
    assert live_docs(folder, "2026-11-27T23:59:59") == ["a", "b"]
    assert live_docs(folder, "2026-11-28") == ["a"]
    before, during = (live_signature(folder, moment(f"2026-11-2{day}T12:00")) for day in (6, 7))
    assert before != during


def test_a_save_during_a_campaign_is_served_with_it(folder):
    save(folder, "a")
    draft(folder, "b", starts="2026-11-27")  # without a
    save(folder, "a", "c")
    assert sorted(live_docs(folder, "2026-11-27")) == ["b", "c"]
    other = draft(folder, "a", "c", "d", name="other", starts="2026-11-26")
    assert sorted(live_docs(folder, "2026-11-27")) == ["b", "c", "d"]
    RuleDrafts(folder).remove("other", BOB, revision=other.revision)
    assert sorted(live_docs(folder, "2026-11-27")) == ["b", "c"]
    assert folder.audit.entries()[-1] | {"number": 0, "previous": "", "time": ""} == {
        "number": 0, "previous": "", "time": "", "editor": "Bob", "action": "draft removed", "draft": "other",
        "base": "", "reason": "",
    }  # fmt: skip


def test_a_draft_that_cannot_be_read_does_not_stop_the_others(folder):
    save(folder, "a")
    draft(folder, "a", "b", starts="2026-11-27")
    bad = VersionHeader("Eve", starts="2026-11-01").lines("draft bad") + "no rules"
    (folder.folder / "drafts" / "bad.yaml").write_text(bad)
    live = live_rules(folder, NOON)
    assert docs_of(live.text) == ["a", "b"]
    assert live.drafts == ("friday",)
    assert "draft bad: bad.yaml:" in live.reasons[0]


def test_two_people_do_not_overwrite_each_others_draft(folder):
    first = draft(folder, "a")
    draft(folder, "b", author=BOB, revision=first.revision)
    with pytest.raises(EditConflictError, match="Bob changed the draft 'friday'"):
        draft(folder, "c", revision=first.revision)
    with pytest.raises(EditConflictError):
        draft(folder, "c")  # a new one of the same name
    with pytest.raises(EditConflictError):
        RuleDrafts(folder).remove("friday", ANN, revision=first.revision)


@pytest.mark.parametrize(
    ("name", "period", "message"),
    [
        ("../000009", {}, "expected a name of letters"),
        ("x" * 61, {}, "expected a name of letters"),
        ("a", {"starts": "soon"}, "expected a date or a time"),
        ("a", {"ends": "2026-11-28"}, "expected from together with until"),
        ("a", {"starts": "2026-11-28", "ends": "2026-11-28"}, "expected until after from"),
    ],
)
def test_wrong_drafts_are_refused(folder, name, period, message):
    with pytest.raises(UsageError, match=message):
        draft(folder, "a", name=name, **period)
    assert RuleDrafts(folder).names() == []


# --- git


def git(folder, *words):
    return subprocess.run(
        ["git", *words], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


def test_in_a_work_tree_each_save_is_a_commit_by_its_author(tmp_path):
    git(tmp_path, "init", "-q", ".")
    (tmp_path / "other").write_text("not committed")
    folder = RuleFolder(tmp_path / "rules")
    save(folder, "a", reason="sold out")
    save(folder, "b", author=BOB)
    log = git(tmp_path, "log", "--format=%an <%ae> %s").splitlines()
    assert log == [
        "Bob <unknown> rules: version 2: save",
        "Ann Baker <ann@shop.example> rules: version 1: sold out",
    ]
    assert git(tmp_path, "status", "--porcelain").splitlines() == [
        "?? other",
        "?? rules/.podium.lock",
    ]


def test_a_commit_that_a_kill_prevented_is_made_later_by_its_author(tmp_path, monkeypatch):
    git(tmp_path, "init", "-q", ".")
    folder = RuleFolder(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(RuleFolder, "_commit", lambda self: None)
        save(folder, "a")
    save(folder, "b", author=BOB)
    assert git(tmp_path, "log", "--format=%an").splitlines() == ["Bob", "Ann Baker"]


def test_a_commit_that_fails_is_logged_and_the_save_stands(tmp_path):
    git(tmp_path, "init", "-q", ".")
    (tmp_path / ".git" / "index.lock").touch()
    folder = RuleFolder(tmp_path)
    save(folder, "a")
    assert docs_of(folder.newest().text) == ["a"]
    last = folder.audit.entries()[-1]
    assert last["action"] == "commit failed"
    assert "index.lock" in last["reason"]
    assert str(Path.home()) not in last["reason"] or str(tmp_path).startswith(str(Path.home()))


def test_times_without_a_zone_are_utc():
    assert moment("2026-11-27T12:00").tzinfo is datetime.UTC
