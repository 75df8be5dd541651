"""Guidelines: files, versions in the store, and the version that each judgment was made with."""

import pytest

from podium.errors import DataError, EventError, UnknownNameError, UsageError
from podium.labelling import Guidelines, JudgingEvent, read_guidelines
from podium.labelling.export import judgment_columns
from podium.labelling.guidelines import MAX_DEFINITION_CHARACTERS, MAX_GUIDELINES_CHARACTERS
from podium.labelling.store import StoreAdmin
from tests.support.stores import CAT, judge_all, judgment


def test_a_file_has_text_and_grades(tmp_path):
    path = tmp_path / "guidelines.md"
    path.write_text(
        "---\ngrades:\n  Bad: Off topic.\n  Good: 'On: topic'\n---\n\n# Rules\n\nRead.\n"
    )
    guidelines = read_guidelines(path)
    assert guidelines.text == "# Rules\n\nRead."
    assert list(guidelines.grades.items()) == [("Bad", "Off topic."), ("Good", "On: topic")]
    path.write_text("---\nno end of this header")
    assert read_guidelines(path) == Guidelines("---\nno end of this header")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"---\ngrades: [Bad]\n---\n", "name: definition"),
        (b"---\ncolour: red\n---\n", "one field, grades"),
        (b"---\ngrades: {Bad: 3}\n---\n", "definition of grade 'Bad' as text"),
        (b"---\ngrades: {Bad: [\n---\n", "expected"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_a_wrong_file_is_named(tmp_path, content, message):
    path = tmp_path / "guidelines.md"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as error:
        read_guidelines(path)
    assert "guidelines.md" in str(error.value)


@pytest.mark.parametrize(
    "arguments",
    [
        ("x" * (MAX_GUIDELINES_CHARACTERS + 1), {}),
        ("nul \0", {}),
        ("", {"Bad": "x" * (MAX_DEFINITION_CHARACTERS + 1)}),
        ("", {"": "x"}),
        ("", {str(i): "x" for i in range(101)}),
    ],
)
def test_guidelines_are_bounded(arguments):
    with pytest.raises(UsageError):
        Guidelines(*arguments)


def test_versions_stay_and_each_judgment_has_its_own(store):
    admin = StoreAdmin(store, "bob")
    judge_all(store, CAT.id, at_most=2)
    first = admin.save_guidelines(Guidelines("one", {"Bad": "off"}))
    judge_all(store, CAT.id, at_most=3)
    second = admin.save_guidelines(Guidelines("two"))
    judge_all(store, CAT.id)
    assert (first.version, second.version) == (1, 2)
    assert store.guidelines() == second
    assert store.guidelines(1) == first
    assert store.guidelines(1).grades == {"Bad": "off"}
    versions = store.judgments(details=True).guidelines.tolist()
    assert versions == [0] * 2 + [1] * 3 + [2] * (len(CAT.documents) - 5)
    columns = judgment_columns(store.judgments(details=True))
    assert columns["guidelines"] == versions
    assert columns["a"] == list(CAT.documents)
    assert set(columns["b"]) == {""}
    assert columns["answer"][:2] == [CAT.grades[0], CAT.grades[1]]
    assert columns["at"] == [event.at for event in store.events(CAT.id)]
    with pytest.raises(UnknownNameError):
        store.guidelines(3)


def test_an_event_may_name_an_older_version_but_no_version_to_come(store):
    admin = StoreAdmin(store, "bob")
    admin.save_guidelines(Guidelines("one"))
    admin.save_guidelines(Guidelines("two"))
    event = judgment(CAT.id, store.session(CAT.id).step, 0)
    for version in (3, -1, True, "1", 1.0):
        wrong = JudgingEvent(event.id, CAT.id, "judgment", 1, {**event.data, "guidelines": version})
        with pytest.raises(EventError, match="from 0 to 2"):
            store.append(wrong)
    assert store.events(CAT.id) == []
    store.append(JudgingEvent(event.id, CAT.id, "judgment", 1, {**event.data, "guidelines": 1}))
    assert store.judgments(details=True).guidelines.tolist() == [1]


def test_the_same_text_is_no_new_version_and_a_file_takes_no_edit_back(store):
    admin = StoreAdmin(store, "bob")
    file = Guidelines("from the file", {"Bad": "off"})
    assert admin.import_guidelines(file).version == 1
    assert admin.save_guidelines(file).version == 1
    edited = admin.save_guidelines(Guidelines("edited"))
    assert admin.import_guidelines(file) == edited  # the server started again with the old file
    assert admin.import_guidelines(Guidelines("a new file")).version == 3
    assert [entry.subject for entry in store.audit_log()] == ["version 3", "version 2", "version 1"]
