"""Forged model files, with right digests: an error, or a model that works in little memory."""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

from podium.data.zip_archives import array_bytes
from podium.errors import ModelFileError, UsageError
from podium.rankers.models import MAX_STUMP_FEATURES, Stumps
from podium.registry import load
from tests.support.case_counts import IS_SOAK
from tests.support.forging import forgeries, read, write
from tests.support.paths import GOLDEN, ROOT
from tests.support.small_rankers import NAMES, cheap, small

SHARE = 0.5 if IS_SOAK else 0.03
"""Of the forgeries that are tried, drawn with a seed; all of them take three minutes."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, data = tmp_path_factory.mktemp("models"), small(8, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in NAMES:
            cheap(name).fit(data).save(folder / f"{name}.podium")
    return [*sorted(folder.iterdir()), *sorted(GOLDEN.glob("*.podium"))]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in /proc")
def test_a_forged_model_is_refused_or_works(files):
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.forged_models", str(SHARE), *map(str, files)],
        capture_output=True, text=True, timeout=280, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    came = json.loads(done.stdout)
    assert came["wrong"] == []
    assert came["refused"] > came["working"] > 50


def test_every_kind_of_value_is_forged(files):
    parts = read(files[NAMES.index("rankboost")])
    changed = {what.partition(" =")[0].partition(" shape")[0] for what, _ in forgeries(parts)}
    assert {"width.npy: [0]", "width.npy:", "features.npy: left out"} <= changed
    assert {"manifest.json: ['parameters', 'rounds']", "manifest.json: ['trained']"} <= changed


def test_a_width_that_no_part_bears_out_is_refused(files, tmp_path):
    """The file that froze a service: 2.5 KB that claim 10^10 features."""
    parts = read(files[NAMES.index("rankboost")])
    manifest = json.loads(parts["manifest.json"])
    manifest["trained"]["feature_names"] = None
    unnamed = {**parts, "manifest.json": json.dumps(manifest).encode()}

    def wide(width):
        changed = {**unnamed, "width.npy": array_bytes(np.array([width]))}
        return write(tmp_path / "wide.podium", changed)

    assert load(wide(MAX_STUMP_FEATURES)).n_features_in_ == MAX_STUMP_FEATURES
    for width in (MAX_STUMP_FEATURES + 1, 10**10):
        with pytest.raises(ModelFileError, match=r"stumps on at most 131,072 features"):
            load(wide(width))
    stumps = Stumps(MAX_STUMP_FEATURES + 1, np.array([0]), np.zeros(1), np.ones(1))
    with pytest.raises(UsageError, match="features of stumps to save"):
        stumps.parts()
