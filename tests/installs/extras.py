"""Each extra alone: python tests/installs/extras.py WHEEL [EXTRA...], with the Python of the wheel.

A core environment is made once. Each extra goes into an environment of its own that sees the packages
of the core, so that pip adds only those of the extra. In the core environment, what the extra gives must
fail with its name.
"""

import argparse
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

DATA = "import podium; data = podium.make_synthetic(n_queries=20, n_features=3, seed=0)\n"
RANKER = DATA + "ranker = podium.RankSVM().fit(data)\n"
CODE = {
    "arrow": DATA + "data.to_parquet('d.parquet'); assert podium.read_parquet('d.parquet').equals(data)",
    "report": DATA
    + "r = podium.compare(data, ['regression', 'ranksvm'], 'NDCG@5', folds=2, tune=False)\n"
    "assert '<svg' in r.to_html()",
    "web": "import podium.apps.http.connections, podium.apps.serving.app, podium.apps.judging.app",
    "export": RANKER + "podium.export_model(ranker, 'onnx')",
    "dask": DATA
    + "if __name__ == '__main__':\n"
    "    with podium.use('local:1'):\n"
    "        assert podium.compare(data, ['regression', 'ranksvm'], 'NDCG@5', folds=2, tune=False)",
    "catboost": DATA + "podium.CatBoostTrees(trees=3, threads=1).fit(data).predict(data)",
    "torch": "import podium.connectors.torch_losses",
    "pyterrier": "import podium.connectors.pyterrier_transformers",
    "ir-datasets": "import podium.connectors.ir_datasets_source",
    "mlflow": "import podium.connectors.mlflow_models",
}  # fmt: skip
"""What each extra gives, in a few lines; they fail without the extra."""
MADE_OF_OTHERS = {"all", "connectors", "bench", "dev"}


def extras_of(wheel: Path) -> set[str]:
    """The extras that the wheel's metadata names."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode()
    return set(re.findall(r"^Provides-Extra: (\S+)$", text, re.MULTILINE))


def make_environment(folder: Path, requirement: str, core: Path | None = None) -> Path:
    """An environment with a requirement; its Python. With `core`, it sees the packages there."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if core is not None:
        (packages_of(folder) / "core.pth").write_text(str(packages_of(core)))
    install = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        requirement,
    ]
    subprocess.run(install, check=True)
    return python


def packages_of(folder: Path) -> Path:
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))


def run(python: Path, code: str) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.py")
        script.write_text(code)
        return subprocess.run(
            [python, script], cwd=folder, capture_output=True, text=True, check=False
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("extras", nargs="*")
    options = parser.parse_args()
    wheel = options.wheel.resolve()
    unknown = extras_of(wheel) - set(CODE) - MADE_OF_OTHERS
    assert not unknown, f"extras without a check: {unknown}"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        core = make_environment(folder / "core", str(wheel))
        for extra in options.extras or CODE:
            without = run(core, CODE[extra])
            assert without.returncode, f"{extra}: works without it"
            named = "podium-ltr[" + extra + "]"
            assert named in without.stderr, f"{extra}: not named in {without.stderr}"
            python = make_environment(folder / extra, f"{wheel}[{extra}]", folder / "core")
            done = run(python, CODE[extra])
            assert done.returncode == 0, f"{extra}: {done.stderr}"
            print(f"{extra} works alone", flush=True)


if __name__ == "__main__":
    main()
