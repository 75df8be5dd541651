"""Index files: the same index after a round trip, a clear error for anything else."""

import hashlib
import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium import errors
from podium.features import FormulaParameters, Index, Tokenizer, make_features
from tests.support.paths import GOLDEN

DOCS = [
    {"id": "d1", "title": "wing lift", "body": "the lift of a wing and the drag of a wing"},
    {"id": "d2", "title": "heat", "body": "heat of a slab"},
    {"id": "d3", "title": "", "body": ""},
]
TEXT = st.text(max_size=30)


def small(**settings):
    return Index.build(DOCS, **settings)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "docs.index"
    small().save(path)
    return path


@given(
    st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=5),
    st.sampled_from(["none", "s", "porter"]),
    st.sampled_from(["keep", "split", "both"]),
    st.booleans(),
)
def test_round_trip(tmp_path_factory, texts, stemmer, identifiers, keep):
    docs = [{"id": f"ö{i}", "title": t, "body": b} for i, (t, b) in enumerate(texts)]
    index = Index.build(
        docs, tokenizer=Tokenizer("english", stemmer, identifiers),
        parameters=FormulaParameters(k1=0.9, jm=0.5), keep=["title"] if keep else [],
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("index")
    index.save(folder / "a")
    again = Index.load(folder / "a")
    again.save(folder / "b")
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()
    assert (again.tokenizer, again.parameters) == (index.tokenizer, index.parameters)
    assert again.docids == index.docids
    assert again.texts == index.texts
    query, candidates = {"q": " ".join(texts[0])}, {"q": list(index.docids)}
    assert make_features(again, query, candidates).equals(make_features(index, query, candidates))
    assert repr(again.search(query["q"])) == repr(index.search(query["q"]))


def test_files_of_version_1_are_read_for_ever():
    """How the file was made is in golden/make.py."""
    expected = json.loads((GOLDEN / "index-v1.json").read_text())
    index = Index.load(GOLDEN / "index-v1.index")
    assert (list(index.docids), list(index.texts["title"])) == (
        ["d1", "d2", "ö3"], ["Wing lift", "Heat", ""],
    )  # fmt: skip
    found = make_features(index, {"q": expected["query"]}, {"q": list(index.docids)})
    assert list(found.names()) == expected["names"]
    np.testing.assert_allclose(found.X, expected["features"], rtol=1e-12)


def test_the_same_documents_give_the_same_bytes(tmp_path):
    for name in "ab":
        small(keep=["title"]).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_counts_of_any_size(tmp_path):
    Index.build([{"id": 1, "body": "x " * 70_000 + "y"}]).save(tmp_path / "i")
    assert Index.load(tmp_path / "i").postings["body"].counts.toarray().tolist() == [[0, 70_000, 1]]


def test_every_truncation_is_an_error(path):
    whole = path.read_bytes()
    for size in [*range(0, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(
            errors.CorruptFileError, match="not a podium index, or it is truncated or damaged"
        ):
            Index.load(path)


def test_no_changed_byte_changes_an_index_in_silence(path):
    whole = path.read_bytes()
    before = contents(Index.load(path))
    refused = 0
    for at in range(0, len(whole), 13):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1 :])
        try:
            found = contents(Index.load(path))
        except errors.CorruptFileError:
            refused += 1
        else:
            assert found == before, at  # a date, an attribute: not read
    assert refused > 0.7 * len(whole) / 13


def contents(index):
    counts = {name: p.counts.toarray().tolist() for name, p in index.postings.items()}
    return list(index.docids), list(index.vocabulary), counts, index.tokenizer, index.parameters


def npy(values, dtype):
    buffer = io.BytesIO()
    np.save(buffer, np.array(values, dtype=dtype))
    return buffer.getvalue()


def forge(path, parts=(), manifest=(), packing=zipfile.ZIP_STORED):
    """The index in `path` with other parts or another manifest, digests made to fit."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    told = json.loads(files.pop("manifest.json")) | dict(manifest)
    files |= dict(parts)
    told["parts"] = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    told.pop("digest")
    told["digest"] = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, data in {"manifest.json": json.dumps(told).encode(), **files}.items():
            archive.writestr(name, data)


def test_a_forged_index_that_is_sound_is_read(path):
    before = contents(Index.load(path))
    forge(path)
    assert contents(Index.load(path)) == before


@pytest.mark.parametrize(
    "parts",
    [
        {"field0.terms.npy": npy([1, 2, 99], np.int32)},
        {"field0.terms.npy": npy([0, 2, 8], np.int32)},
        {"field0.terms.npy": npy([2, 1, 8], np.int32)},
        {"field0.terms.npy": npy([1, 1, 8], np.int32)},
        {"field0.terms.npy": npy([1, 2], np.int32)},
        {"field0.terms.npy": npy([1, 2, 8], np.int64)},
        {"field0.counts.npy": npy([1, 0, 1], np.uint8)},
        {"field0.counts.npy": npy([1, 1], np.uint8)},
        {"field0.counts.npy": npy([1, -1, 1], np.int8)},
        {"field0.counts.npy": npy([1, 2**32 - 1, 1], np.uint32)},
        {"field0.counts.npy": npy([[1, 1, 1]], np.uint8)},
        {"field0.counts.npy": npy([1.0, 1.0, 1.0], np.float64)},
        {"field0.counts.npy": npy([1, 1, 1], np.uint8) + b"more"},
        {"field0.counts.npy": npy([1, 1, 1], np.uint8).replace(b"(3,)", b"(1e9,)")},
        {"field0.counts.npy": b"\x93NUMPY"},
        {"field0.starts.npy": npy([0, 2, 3], np.int64)},
        {"field0.starts.npy": npy([0, 3, 2, 3], np.int64)},
        {"field0.starts.npy": npy([0, 2, 3, 2**62], np.int64)},
        {"field0.starts.npy": npy([], np.int64)},
        {"docids.starts.npy": npy([0, 2, 4], np.int64)},
        {"docids.starts.npy": npy([0, 2, 2, 9], np.int64)},
        {"docids.text.npy": npy(list(b"d1d1d3"), np.uint8)},
        {"docids.text.npy": npy(list(b"d1d2d3"), np.int8)},
        {"docids.starts.npy": npy([0], np.int64), "docids.text.npy": npy([], np.uint8)},
        {"terms.starts.npy": npy([0], np.int64), "terms.text.npy": npy([], np.uint8)},
    ],
)
def test_forged_parts(path, parts):
    forge(path, parts)
    with pytest.raises(errors.CorruptFileError, match="not a podium index, or it is"):
        Index.load(path)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"format": "podium-model"}, "another kind of zip"),
        ({"version": 2}, "a newer podium reads it"),
        ({"version": True}, "a newer podium reads it"),
        ({"fields": []}, "no fields"),
        ({"fields": ["title", "title"]}, "occur twice"),
        ({"fields": ["title", "whole"]}, "no fields"),
        ({"fields": ["title", "body", "more"]}, "field2"),
        ({"fields": {"title": 1}}, "not names"),
        ({"texts": ["title"]}, "text0"),
        ({"tokenizer": {"stemmer": "snow"}}, "unknown stemmer 'snow'"),
        ({"tokenizer": {"code": "import os"}}, "code"),
        ({"tokenizer": {"stemmer": ["s"]}}, "unhashable"),
        ({"parameters": {"k1": -1}}, "k1"),
        ({"parameters": {"k1": "1"}}, "'<='"),
        ({"parameters": None}, "damaged"),
    ],
)
def test_forged_manifests(path, manifest, message):
    forge(path, manifest=manifest)
    with pytest.raises(errors.CorruptFileError) as error:
        Index.load(path)
    assert message in str(error.value)


def test_packed_parts_are_refused_before_they_are_unpacked(path):
    forge(path, packing=zipfile.ZIP_DEFLATED)
    with pytest.raises(errors.CorruptFileError, match="compressed parts"):
        Index.load(path)


def test_overlapping_parts_are_refused(path):
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        size = max(member.file_size for member in archive.infolist())
    # Sizes in the directory at the end of the file say more than there is.
    head, mark, tail = whole.rpartition(b"PK\x01\x02")
    entry = bytearray(tail)
    entry[16:24] = (10**9).to_bytes(4, "little") * 2
    path.write_bytes(head + mark + bytes(entry))
    with pytest.raises(errors.CorruptFileError, match="larger than the file"):
        Index.load(path)
    assert size < 10**9


def test_what_is_no_index(tmp_path):
    (tmp_path / "text").write_text("hello")
    (tmp_path / "folder").mkdir()
    np.savez(tmp_path / "arrays.npz", a=np.arange(3))
    for name in ("text", "folder", "arrays.npz"):
        with pytest.raises(
            errors.CorruptFileError, match=r"not a podium index|expected a file, got a folder"
        ):
            Index.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        Index.load(tmp_path / "nothing")


def test_nothing_is_written_where_nothing_can_be(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        small().save(tmp_path / "no" / "index")
    assert list(tmp_path.iterdir()) == []
