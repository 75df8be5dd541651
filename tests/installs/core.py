"""Run by .ci/run in an environment with podium's core dependencies and nothing else."""

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import podium
from podium.errors import MissingExtraError

EXTRAS = ("pyarrow", "matplotlib", "fastapi", "pandas", "polars", "pytest", "onnx", "catboost")


def main() -> None:
    present = [name for name in EXTRAS if importlib.util.find_spec(name)]
    assert not present, f"not a core install: {present}"
    folder = Path(tempfile.mkdtemp())
    data = podium.make_synthetic(n_queries=20, seed=0)
    podium.write_letor(data, folder / "data.txt.zst")
    again = podium.read_letor(folder / "data.txt.zst")
    assert again.equals(data.with_labels(data.y))
    np.savetxt(folder / "scores.txt", data.truth(data.X))
    podium_ = [sys.executable, "-c", "from podium.apps.cli import main; main()"]
    done = subprocess.run(
        [*podium_, "evaluate", folder / "data.txt.zst", folder / "scores.txt", "-m", "NDCG@10"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    mean = podium.evaluate(data, data.truth(data.X), "NDCG@10")["NDCG@10"].mean
    assert f"{mean:.4f}" in done.stdout, done.stdout
    for name in ("ranksvm", "focused-net", "lambdamart"):
        ranker = podium.registry.make_ranker(name).fit(data)
        ranker.save(folder / "model.podium")
        assert (podium.load(folder / "model.podium").predict(data) == ranker.predict(data)).all()
    try:
        data.to_parquet(folder / "data.parquet")
    except MissingExtraError as error:
        assert "pip install 'podium-ltr[arrow]'" in str(error)
    else:
        raise AssertionError("Parquet without pyarrow?")
    try:
        podium.CatBoostTrees().fit(data)
    except MissingExtraError as error:
        assert "pip install 'podium-ltr[catboost]'" in str(error)
    else:
        raise AssertionError("CatBoost's trees without CatBoost?")
    failed = subprocess.run(
        [*podium_, "data", "convert", folder / "data.txt.zst", folder / "out.parquet"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert failed.returncode == 2 and "podium-ltr[arrow]" in failed.stderr, failed
    assert not (folder / "out.parquet").exists()
    print(f"core install works, {podium.kernels.BACKEND} kernels")


if __name__ == "__main__":
    main()
