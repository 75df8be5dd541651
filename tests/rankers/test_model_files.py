"""Model files: read back for ever, and never trusted."""

import hashlib
import io
import json
import math
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from podium.data import zip_archives
from podium.errors import ModelFileError, UsageError
from podium.losses import FocusedLoss, ListMLELoss, QueryLoss
from podium.rankers import FocusedSVM, LambdaMART, RankSVM, model_files
from podium.rankers.lightgbm_checks import MAX_TREE_LEVELS, check_trees
from podium.rankers.tree_model import Trees
from podium.registry import MODELS, load
from tests.support.case_counts import soak_cases
from tests.support.paths import GOLDEN
from tests.support.small_rankers import cheap, small

KINDS = [
    "prepared",
    "linear",
    "stumps",
    "mlp",
    "trees",
    "ordinal",
    "reranked",
    "composed",
    "composed-linear",
    "combined",
    "score-sum",
]
DATA = small(8, seed=3)


def golden(kind):
    version = 2 if kind == "prepared" else 1
    expected = json.loads((GOLDEN / f"{kind}-v{version}.json").read_text())
    return (
        GOLDEN / f"{kind}-v{version}.podium",
        np.array(expected["X"]),
        np.array(expected["scores"]),
    )


def predict(ranker, X):
    """Scores of a golden file's rows."""
    if ranker.model_.kind in ("reranked", "composed"):
        return ranker.predict(X, qid=np.arange(60) // 10)
    return ranker.predict(X)


# --- golden files: how they were made is in golden/make.py ---


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_all_versions_are_read_for_ever(kind):
    path, X, scores = golden(kind)
    assert path.stat().st_size < 20_000
    ranker = load(path)
    assert ranker.model_.kind == kind
    assert ranker.feature_names_in_.tolist() == ["bm25", "age", "clicks"]
    assert len(ranker.history_) > 0
    assert ranker.converged_
    # Another processor may round the last bit of a product otherwise.
    np.testing.assert_allclose(predict(ranker, X), scores, rtol=1e-12, atol=1e-12)


def test_there_is_a_golden_file_of_every_kind_and_version():
    found = {path.name for path in GOLDEN.glob("*.podium")}
    assert (model_files.PLAIN_VERSION, model_files.NEWEST_VERSION) == (1, 2)
    kinds = {f"{k}-v{2 if k == 'prepared' else 1}.podium" for k in MODELS}
    assert found == kinds | {"categories-v2.podium"}


def test_a_file_with_categories_is_read_for_ever():
    expected = json.loads((GOLDEN / "categories-v2.json").read_text())
    ranker = load(GOLDEN / "categories-v2.podium")
    categories = ranker.model_.categories(ranker.feature_names_in_.tolist())
    assert categories["brand"].words == ("Acme", "Bolt", "Zenith")
    assert (categories["size"].words, categories["size"].is_ordered) == (("S", "L"), True)
    scores = ranker.model_.predict(np.array(expected["X"]))  # as the service does
    np.testing.assert_allclose(scores, expected["scores"], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_read_and_written_again_is_the_same(kind, tmp_path):
    path, X, _ = golden(kind)
    load(path).save(tmp_path / "again.podium")
    assert contents(tmp_path / "again.podium").keys() == contents(path).keys()
    again = load(tmp_path / "again.podium")
    np.testing.assert_array_equal(predict(again, X), predict(load(path), X))


# --- damage ---


def refused(path, match=None):
    with pytest.raises(ModelFileError, match=match) as error:
        load(path)
    assert str(path) in str(error.value)


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path, files, *, sign=True):
    """A zip of these files; its parts signed anew, as an attacker would."""
    files = dict(files)
    manifest = json.loads(files["manifest.json"]) if sign else {}
    if manifest.get("parts"):
        manifest["parts"] = {
            name: hashlib.sha256(files[name]).hexdigest() if name in files else digest
            for name, digest in manifest["parts"].items()
        }
        manifest["digest"] = zip_archives.digest(manifest)
        files["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("error", [MemoryError, OverflowError, RecursionError])
def test_a_model_that_asks_for_too_much_is_damaged(error, monkeypatch):
    def asking(parts):
        raise error("much")

    monkeypatch.setattr(MODELS["combined"], "from_parts", asking)
    refused(golden("combined")[0], "is not a podium model file, or it is truncated")


@pytest.fixture
def change(tmp_path):
    """A golden file with other contents: `change(kind, {name: bytes or None}, **manifest)`."""

    def made(kind, files=(), *, sign=True, drop=(), **manifest):
        parts = contents(golden(kind)[0])
        told = json.loads(parts["manifest.json"]) | manifest
        for key in drop:
            told.pop(key)
        told["digest"] = zip_archives.digest(told)
        parts["manifest.json"] = json.dumps(told).encode()
        parts.update(files)
        parts = {name: data for name, data in parts.items() if data is not None}
        return rewrite(tmp_path / "changed.podium", parts, sign=sign)

    return made


def test_the_change_that_changes_nothing_is_read(change):
    _, X, scores = golden("linear")
    np.testing.assert_allclose(load(change("linear")).predict(X), scores, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_truncated_files(kind, tmp_path):
    whole = golden(kind)[0].read_bytes()
    path = tmp_path / "cut.podium"
    for length in [*range(0, len(whole), max(1, len(whole) // 60)), len(whole) - 1]:
        path.write_bytes(whole[:length])
        refused(path, "is not a podium model file, or it is truncated")


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_byte_is_an_error_or_changes_nothing(kind, tmp_path):
    source, X, _ = golden(kind)
    whole, scores = source.read_bytes(), predict(load(source), X)
    rng = np.random.default_rng(0)
    places = rng.choice(len(whole), min(len(whole), 400), replace=False)
    path, errors = tmp_path / "flipped.podium", 0
    for place in places.tolist():
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        try:
            found = predict(load(path), X)
        except ModelFileError:
            errors += 1
        else:
            np.testing.assert_array_equal(found, scores)
    assert errors > 200


@pytest.mark.parametrize(("made", "message"), [
    (lambda p: p.write_bytes(b""), "is not a podium model file, or it is truncated"),
    (lambda p: p.write_text("hello, I am a model"), "is not a podium model file, or it is truncated"),
    (lambda p: p.mkdir(), "got a folder"),
    (lambda p: rewrite(p, {"a.txt": b"x"}, sign=False), "this zip file has no manifest"),
    (lambda p: rewrite(p, {"manifest.json": b"{"}, sign=False), "a manifest that is not JSON"),
    (lambda p: rewrite(p, {"manifest.json": b"\xff"}, sign=False), "a manifest that is not JSON"),
    (lambda p: rewrite(p, {"manifest.json": b"[" * 100_000}, sign=False), "recursion"),
    (lambda p: rewrite(p, {"manifest.json": b"[]"}, sign=False), "another kind of zip"),
    (lambda p: rewrite(p, {"manifest.json": b"{}"}, sign=False), "another kind of zip"),
], ids=["empty", "text", "folder", "no manifest", "no json", "no text", "deep", "list", "other"])  # fmt: skip
def test_what_is_no_model_file(made, message, tmp_path):
    path = tmp_path / "x.podium"
    made(path)
    refused(path, message)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.podium")


@pytest.mark.parametrize("version", [3, 99, 0, "1", None, 1.0, True])
def test_other_versions(version, change):
    refused(
        change("linear", version=version), "format version .* instead of 1 to 2.*a newer podium"
    )


@pytest.mark.parametrize(("manifest", "message"), [
    ({"ranker": "rank-svm"}, "unknown ranker 'rank-svm'; did you mean ranksvm"),
    ({"ranker": None}, "unknown ranker"),
    ({"ranker": ["ranksvm"]}, "unknown ranker"),
    ({"ranker": {}}, "unknown ranker"),
    ({"model": "forest"}, "unknown kind of model 'forest'"),
    ({"model": []}, "unknown kind of model"),
    ({"model": "stumps"}, "expected"),
    ({"model": "mlp"}, "expected"),
    ({"model": "trees"}, "expected"),
    ({"parts": None}, "the manifest does not list the model's parts"),
    ({"parts": {}}, "'weights'"),
    ({"parts": {"weights.npy": "0" * 64}}, None),
    ({"parameters": {"nonsense": 1}}, "not those of a ranksvm ranker.*nonsense"),
    ({"parameters": {"C": -1}}, "not those of a ranksvm ranker.*C of ranksvm"),
    ({"parameters": {"C": {"loss": {"name": "nothing"}}}}, "settings"),
    ({"parameters": {"C": {"mlp": {"nothing": 1}}}}, "settings"),
    ({"parameters": {"C": {}}}, "settings"),
    ({"parameters": []}, "settings"),
    ({"trained": {}}, "settings"),
    ({"trained": []}, "settings"),
    ({"history": {}}, "settings"),
    ({"history": {"ranker": "", "metric": "", "total": 1, "objective": [1], "valid": [], "best": 1}},
     "settings"),
], ids=str)  # fmt: skip
def test_other_manifests(manifest, message, change):
    path = change("linear", **manifest)
    if message is None:  # signed anew: as it was
        assert load(path).name == "ranksvm"
    else:
        refused(path, message)


@pytest.mark.parametrize("key", ["ranker", "model", "parts", "parameters", "trained", "history"])
def test_missing_entries(key, change, tmp_path):
    path = change("linear", sign=False, drop=[key])
    refused(path)


def test_parts_that_are_missing_or_changed(change):
    other = npy(np.array([1.0, 2.0, 3.0]))
    refused(change("linear", {"weights.npy": None}), r"the model file has no part 'weights\.npy'")
    refused(
        change("linear", {"weights.npy": other}, sign=False),
        r"'weights\.npy' of the model file is damaged \(a changed weights\.npy\)",
    )
    assert load(change("linear", {"weights.npy": other})).model_.weights.tolist() == [1, 2, 3]


class Bomb:
    def __reduce__(self):
        return print, ("code was run",)


def header(text):
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


@pytest.mark.parametrize("data", [
    npy(np.array([Bomb()], dtype=object), allow_pickle=True),
    npy(np.array(["a", "b", "c"])), npy(np.zeros((3, 1))), npy(np.zeros(3, np.float32)),
    npy(np.zeros(3, ">f8")), npy(np.array([1.0, np.nan, 2.0])), npy(np.array([np.inf, 0.0, 1.0])),
    npy(np.zeros(2)), npy(np.zeros(0)), npy(np.array(1.0)), npy(np.zeros(3))[:-1],
    npy(np.zeros(3)) + b"x", b"", b"\x93NUMPY", b"\x93NUMPY\x03\x00",
    header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }\n"),
    header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }\n"),
    header("{'descr': '<f8', 'fortran_order': False, 'shape': (2**70,), }\n"),
    header("__import__('os').system('echo code was run')\n"),
    header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n") + b"12345678",
    header("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }\n") + b"12345678",
    b"PK\x03\x04", b"\x80\x04K\x01.",
], ids=lambda d: repr(d[:40]) + str(len(d)))  # fmt: skip
def test_arrays_that_are_none(data, change, capfd):
    refused(change("linear", {"weights.npy": data}))
    assert "code was run" not in capfd.readouterr().out


@pytest.mark.parametrize(("kind", "files"), [
    ("stumps", {"width.npy": npy(np.array([], dtype=np.int64))}),
    ("stumps", {"width.npy": npy(np.array([0]))}),
    ("stumps", {"width.npy": npy(np.array([2]))}),
    ("stumps", {"width.npy": npy(np.array([-(2**63)]))}),
    ("stumps", {"features.npy": npy(np.full(10, 3))}),
    ("stumps", {"features.npy": npy(np.full(10, -1))}),
    ("stumps", {"alphas.npy": npy(np.zeros(2))}),
    ("stumps", {"thresholds.npy": npy(np.full(10, np.nan))}),
    ("mlp", {"scale.npy": npy(np.zeros(3))}),
    ("mlp", {"scale.npy": npy(np.ones(2))}),
    ("mlp", {"mean.npy": npy(np.zeros(4))}),
    ("mlp", {"weights0.npy": npy(np.zeros((3, 5)))}),
    ("mlp", {"weights0.npy": npy(np.full((3, 4), np.inf))}),
    ("mlp", {"weights0.npy": npy(np.zeros((3, 4), np.float32))}),
    ("mlp", {"biases1.npy": npy(np.zeros(4))}),
    ("mlp", {"activation.txt": b"step"}),
    ("mlp", {"activation.txt": b"\xff\xfe"}),
    ("trees", {"width.npy": npy(np.array([2]))}),
    ("trees", {"width.npy": npy(np.array([np.nan]))}),
    ("trees", {"width.npy": npy(np.array([3, 3]))}),
    ("trees", {"trees.txt": b""}),
    ("trees", {"trees.txt": b"tree\xff"}),
    ("trees", {"trees.txt": b"tree\nversion=v4\nend of trees\n"}),
])  # fmt: skip
def test_parts_that_do_not_fit(kind, files, change):
    refused(change(kind, files))


def test_a_focused_svm_written_before_scale_pairs_is_read(tmp_path):
    ranker = FocusedSVM(k=3).fit(DATA)
    ranker.save(tmp_path / "new.podium")
    parts = contents(tmp_path / "new.podium")
    manifest = json.loads(parts["manifest.json"])
    assert manifest["parameters"].pop("scale_pairs") is False
    manifest["digest"] = zip_archives.digest(manifest)
    parts["manifest.json"] = json.dumps(manifest).encode()
    old = load(rewrite(tmp_path / "old.podium", parts))
    assert old.scale_pairs is False
    assert (old.predict(DATA) == ranker.predict(DATA)).all()


def test_names_that_do_not_fit(change):
    trained = json.loads(contents(golden("linear")[0])["manifest.json"])["trained"]
    refused(change("linear", trained={**trained, "feature_names": ["a"]}), "one name per feature")


def test_nothing_is_ever_written(tmp_path):
    """Names of members that climb out of a folder are names like any other."""
    parts = contents(golden("linear")[0])
    manifest = json.loads(parts["manifest.json"])
    inside = tmp_path / "inside"
    inside.mkdir()
    for name in ("../escaped.npy", "/tmp/podium-escaped.npy", "..\\escaped.npy", "a/../../b.npy"):
        files = {**parts, name: parts["weights.npy"]}
        digest = hashlib.sha256(parts["weights.npy"]).hexdigest()
        files["manifest.json"] = json.dumps(
            {**manifest, "parts": {**manifest["parts"], name: digest}}
        ).encode()
        path = rewrite(inside / "x.podium", files)
        assert load(path).name == "ranksvm"
        assert [p.name for p in tmp_path.rglob("*")] == ["inside", "x.podium"]
    assert not Path("/tmp/podium-escaped.npy").exists()


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressed_parts_are_refused(packing, tmp_path):
    path = tmp_path / "bomb.podium"
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, data in contents(golden("linear")[0]).items():
            archive.writestr(name, data)
    refused(path, "compressed parts")


def test_files_and_sizes_that_are_too_large(tmp_path, monkeypatch):
    source = golden("linear")[0]
    path = tmp_path / "large.podium"
    # A size that is only claimed: the directory says 3 GiB.
    raw = bytearray(source.read_bytes())
    directory = raw.index(b"PK\x01\x02")
    raw[directory + 24 : directory + 28] = struct.pack("<I", 3 << 30)
    path.write_bytes(raw)
    refused(path, "parts larger than the file")
    monkeypatch.setattr(model_files, "MAX_FILE_BYTES", 100)
    refused(source, "bytes instead of at most 100")


def test_a_large_manifest_is_neither_read_nor_written(change, tmp_path, monkeypatch):
    path = change("linear", podium="x" * 5000)
    assert load(path).name == "ranksvm"
    monkeypatch.setattr(zip_archives, "MAX_MANIFEST_BYTES", 4000)
    refused(path, r"bytes in manifest\.json instead of at most 4,000")
    ranker = RankSVM().fit(DATA)
    ranker.stopped_ = "x" * 5000
    with pytest.raises(UsageError, match="settings and names of at most"):
        ranker.save(tmp_path / "x.podium")


@pytest.mark.parametrize("name", ["pipe", "device", "folder"])
def test_what_is_no_regular_file_is_refused_at_once(name, tmp_path):
    path = tmp_path / name
    {"pipe": os.mkfifo, "device": lambda p: p.symlink_to("/dev/zero"), "folder": Path.mkdir}[name](
        path
    )
    refused(path, f"expected a file, got a {name}")


@pytest.mark.parametrize("text", ["Infinity", "-Infinity", "NaN", "1e999"])
def test_numbers_that_are_not_finite_are_refused(text, tmp_path):
    """Else the model would load, and could not be saved again."""
    parts = contents(golden("linear")[0])
    manifest = json.loads(parts["manifest.json"])
    manifest["parameters"]["C"] = math.inf
    manifest["digest"] = zip_archives.digest(manifest)
    data = json.dumps(manifest).replace("Infinity", text).encode()
    path = rewrite(tmp_path / "x.podium", {**parts, "manifest.json": data}, sign=False)
    refused(path, "which is not a finite number")


# --- hostile trees ---

TEXT = contents(golden("trees")[0])["trees.txt"].decode()


def resized(text):
    """The text with the right tree_sizes."""
    head, *blocks = text.partition("end of trees\n")[0].split("\nTree=")
    sizes = [len(f"Tree={b}") + (i < len(blocks) - 1) for i, b in enumerate(blocks)]
    lines = [
        f"tree_sizes={' '.join(map(str, sizes))}" if line.startswith("tree_sizes=") else line
        for line in head.split("\n")
    ]
    return "\nTree=".join(["\n".join(lines), *blocks]) + "end of trees\n"


def with_field(name, value, text=TEXT):
    """The first line name=... with another value."""
    lines = text.split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith(f"{name}="))
    lines[at] = value if "=" in value and value.startswith(name) else f"{name}={value}"
    return resized("\n".join(lines))


def field(name):
    return next(line for line in TEXT.split("\n") if line.startswith(f"{name}=")).split("=")[1]


def test_the_text_is_sound():
    check_trees(TEXT, 3)
    assert resized(TEXT) == TEXT
    assert field("num_leaves") == "4"
    assert "parameters" not in TEXT


HOSTILE = {
    "a circle": with_field("left_child", "0 -1 -2"),
    "a child that is its parent": with_field("left_child", "1 1 -2"),
    "a child that is not there": with_field("left_child", "1 7 -2"),
    "a leaf that is not there": with_field("left_child", "1 -9 -2"),
    "a leaf twice": with_field("right_child", "2 -1 -1"),
    "a feature that is not there": with_field("split_feature", "0 3 1"),
    "a feature below 0": with_field("split_feature", "0 -1 1"),
    "a huge feature": with_field("split_feature", "0 99999999999 1"),
    "huge num_leaves": with_field("num_leaves", "2000000000"),
    "num_leaves that overflow": with_field("num_leaves", "99999999999999999999"),
    "no leaves": with_field("num_leaves", "0"),
    "one leaf": with_field("num_leaves", "1"),
    "leaves below 0": with_field("num_leaves", "-4"),
    "leaves with an underscore": with_field("num_leaves", "0_4"),
    "leaves in other digits": with_field("num_leaves", "٤"),
    "too few leaf values": with_field("leaf_value", "0.1 0.2"),
    "leaf values that are none": with_field("leaf_value", "0.1 0.2 nan 0.3"),
    "infinite leaf values": with_field("leaf_value", "0.1 0.2 inf 0.3"),
    "leaf values beyond doubles": with_field("leaf_value", "0.1 0.2 1e999 0.3"),
    "thresholds that are none": with_field("threshold", "0.5 nan 0.5"),
    "thresholds beyond doubles": with_field("threshold", "0.5 -1e999 0.5"),
    "too few gains": with_field("split_gain", "1 2"),
    "gains that are none": with_field("split_gain", "1 2 x"),
    "too many counts": with_field("leaf_count", "1 2 3 4 5"),
    "no shrinkage": with_field("shrinkage", ""),
    "too few thresholds": with_field("threshold", "0.5"),
    "too many nodes": with_field("split_feature", "0 1 2 0"),
    "categories": with_field("num_cat", "1"),
    "a categorical split": with_field("decision_type", "1 2 2"),
    "a split below 0": with_field("decision_type", "-2 2 2"),
    "linear leaves": with_field("is_linear", "1"),
    "another number of features": with_field("max_feature_idx", "7"),
    "no number of features": with_field("max_feature_idx", "x"),
    "many classes": with_field("num_class", "2"),
    "many trees a round": with_field("num_tree_per_iteration", "3"),
    "another objective": with_field("objective", "multiclass num_class:1000000000"),
    "too few names": with_field("feature_names", "a"),
    "too few infos": with_field("feature_infos", "none"),
    "a line twice": with_field("num_leaves", "num_leaves=4\nnum_leaves=9"),
    "a line in disguise": with_field("num_leaves", "num_leaves=9\x0bnum_leaves=4"),
    "a carriage return": with_field("num_leaves", "4\r"),
    "a line without a value": with_field("num_leaves", "num_leaves=4\nnothing"),
    "a flag in the head": TEXT.replace("tree\nversion", "tree\naverage_output\nversion", 1),
    "an empty line": with_field("num_leaves", "num_leaves=4\n"),
    "wrong sizes": TEXT.replace("tree_sizes=", "tree_sizes=9"),
    "no sizes": TEXT.replace("tree_sizes=", "tree_size="),
    "sizes below 0": TEXT.replace("tree_sizes=", "tree_sizes=-"),
    "too many sizes": TEXT.replace("tree_sizes=", "tree_sizes=1 "),
    "no end": TEXT.replace("end of trees", ""),
    "something behind the end": TEXT + "parameters:\n[num_threads: x]\n",
    "no trees": TEXT.split("\nTree=")[0] + "\nend of trees\n",
    "no left children": TEXT.replace("left_child=", "left_children=", 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_trees(name, change):
    assert HOSTILE[name] != TEXT
    refused(
        change("trees", {"trees.txt": HOSTILE[name].encode()}),
        "LightGBM model (is damaged|has characters)|not a complete LightGBM model",
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a feature that is not there", "tree 0 .*features 0 to 2, got 3 at node 1"),
        ("a feature below 0", "tree 0 .*features 0 to 2, got -1 at node 1"),
        ("a leaf twice", "tree 0 .*one parent for each node"),
        ("infinite leaf values", "tree 0 .*leaf_value"),
        ("too few thresholds", "tree 0 .*threshold"),
        ("thresholds that are none", "tree 0 .*threshold"),
        ("huge num_leaves", "tree 0 .*num_leaves"),
    ],
)
def test_the_place_of_hostile_trees(name, message):
    with pytest.raises(ModelFileError, match=message):
        check_trees(HOSTILE[name], 3)


def test_a_chain_of_a_tree_is_not_walked_to_the_end_of_the_stack():
    n = 3 * MAX_TREE_LEVELS
    chain = {
        "num_leaves": str(n + 1), "split_feature": " ".join(["0"] * n),
        "threshold": " ".join(["0"] * n), "decision_type": " ".join(["2"] * n),
        "left_child": " ".join([*map(str, range(1, n)), str(-n - 1)]),
        "right_child": " ".join(str(-i) for i in range(1, n + 1)),
        **{name: " ".join(["0"] * n) for name in ("split_gain", "internal_value")},
        **{name: " ".join(["0"] * n) for name in ("internal_weight", "internal_count")},
        **{f"leaf_{name}": " ".join(["0"] * (n + 1)) for name in ("value", "weight", "count")},
    }  # fmt: skip
    text = TEXT
    for name, value in chain.items():
        text = with_field(name, value, text)
    with pytest.raises(
        ModelFileError,
        match=f"tree 0 of the LightGBM model is damaged: expected at most 4096 levels, got {n}",
    ):
        check_trees(text, 3)


def test_trees_with_random_damage_never_end_the_process(tmp_path):
    """In a process of its own: what LightGBM would not survive must not reach it."""
    code = """
import sys, numpy as np
from podium.errors import ModelFileError
from podium.rankers.tree_model import Trees
text, rng, read = open(sys.argv[1]).read(), np.random.default_rng(0), 0
signs = list("0123456789-+=. e\\n")
for _ in range(int(sys.argv[2])):
    changed = list(text)
    for place in rng.integers(len(text), size=rng.integers(1, 3)):
        changed[place] = signs[rng.integers(len(signs))]
    try:
        model = Trees.from_parts({"trees": "".join(changed), "width": np.array([3])})
    except ModelFileError:
        continue
    X = rng.standard_normal((5, 3))
    assert model.predict(X).shape == (5,)
    model.contributions(X)
    read += 1
print("alive", read > 0)
"""
    (tmp_path / "trees.txt").write_text(TEXT)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "trees.txt"), str(soak_cases(1500))],
        capture_output=True, text=True, env={"OMP_NUM_THREADS": "1", "PATH": ""}, timeout=120,
    )  # fmt: skip
    assert done.stdout.endswith("alive True\n"), (done.returncode, done.stderr[-500:])


# --- writing ---


def test_writing_is_atomic(tmp_path, monkeypatch):
    path = tmp_path / "model.podium"
    ranker = RankSVM().fit(DATA)
    ranker.save(path)
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError("no space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(OSError, match="no space"):
        RankSVM(C=1.0).fit(DATA).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.podium"]
    monkeypatch.undo()
    RankSVM(C=1.0).fit(DATA).save(path)
    assert load(path).C == 1.0


def test_a_loss_of_your_own_is_kept_by_name(tmp_path):
    class Mine(QueryLoss):
        name = "mine"

        def query(self, scores, labels):
            gap = scores - labels
            return gap @ gap, 2 * gap

    ranker = LambdaMART(loss=Mine(), trees=2, min_leaf=2, threads=1).fit(DATA)
    for loss in (Mine(), FocusedLoss(list=Mine(), k=3)):
        ranker.set_params(loss=loss).fit(DATA).save(tmp_path / "x.podium")
        again = load(tmp_path / "x.podium")
        np.testing.assert_array_equal(again.predict(DATA), ranker.predict(DATA))
        assert again.loss == loss.name
    ranker.set_params(loss=Mine()).save(tmp_path / "x.podium")
    with pytest.raises(UsageError, match="unknown loss 'mine'"):  # it is code: give it again
        load(tmp_path / "x.podium").fit(DATA)


def test_parameters_of_every_kind_come_back(tmp_path):
    loss = FocusedLoss(list=ListMLELoss(), k=3, beta=0.25)
    ranker = cheap("lambdamart", loss=loss, monotone={"f2": -1}, seed=np.int64(3)).fit(DATA)
    ranker.save(tmp_path / "x.podium")
    loaded = load(tmp_path / "x.podium")
    assert loaded.loss == loss
    assert loaded.monotone == {"f2": -1}
    assert loaded.seed == 3
    assert isinstance(loaded.model_, Trees)


def test_the_manifest_says_where_a_model_came_from(tmp_path):
    cheap("ranksvm").fit(DATA).save(tmp_path / "x.podium")
    manifest = json.loads(contents(tmp_path / "x.podium")["manifest.json"])
    assert manifest["format"] == "podium-model"
    assert manifest["version"] == model_files.PLAIN_VERSION
    assert manifest["trained"]["n_queries"] == 8
    assert len(manifest["trained"]["fingerprint"]) == 64
    assert manifest["parameters"]["C"] == 1e-3
