"""The house rules: public names, cheap imports, extras on demand, no generated file stale."""

import ast
import importlib
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec

import pytest

import podium
from podium.errors import MissingExtraError, require
from tests.support.paths import ROOT
from tests.support.source_trees import syntax_tree, walk
from tools import generate, lowest

ROOMS = [
    "typing", "errors", "task_runner", "work_budget", "counted_nouns", "html_tables", "figure_style",
    "plugins", "kernels", "optim", "data", "features", "metrics", "losses", "aggregation", "feedback",
    "clicks", "labelling", "rankers", "ensemble", "multitask", "postranking", "rule_history",
    "registry", "exchange", "testing", "cluster", "experiments", "connectors", "apps", "__main__",
]  # fmt: skip


def python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={"PATH": "", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_public_names_are_pinned():
    assert podium.__all__ == [
        "AGGREGATORS", "AdaRank", "Apart", "AtLeast", "AtMost", "AutoRanker", "Bagged", "Before", "CFBRS",
        "CatBoostTrees",
        "Collection", "CoordinateAscent", "EXPORTERS", "Each", "FocusedBoost", "FocusedNet", "FocusedSVM",
        "Groups", "Hide", "IMPORTERS", "LOSSES", "LambdaMART", "LeastSquares", "ListMLE",
        "ListNet", "METRICS", "MLP", "NotTopK", "Ordinal", "Pin", "PodiumError", "PostRanker",
        "PostRanking", "Prepared", "Qrels", "RANKERS", "RPCMTL", "RULES", "RankBoost", "RankNet", "RankSVM",
        "RankingData", "Regression", "Report", "Run", "SVMMAP", "Together", "TopK", "TopMargin",
        "TopRank", "TopSlack", "TopkListMLE", "Where", "aggregate", "aggregation", "clicks", "compare",
        "data", "ensemble", "errors", "evaluate", "exchange", "experiments", "explain", "export_model",
        "features", "feedback", "import_model", "kernels", "labelling", "load", "losses",
        "make_opposed", "make_synthetic", "metrics", "multitask", "open_collection",
        "optim", "partition", "postrank",
        "postrank_batch", "postranking", "rankers", "read_letor",
        "read_parquet", "read_qrels", "read_rules", "read_run", "read_table", "registry", "testing", "tune",
        "use", "write_letor",
        "write_qrels", "write_rules", "write_run",
    ]  # fmt: skip
    assert all(getattr(podium, name) is not None for name in podium.__all__)
    assert set(podium.__all__) <= set(dir(podium))


def test_an_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"podium has no 'nothing'$"):
        _ = podium.nothing
    for name, near in (
        ("Listnet", "ListNet"),
        ("evalute", "evaluate"),
        ("LambdaMart", "LambdaMART"),
    ):
        with pytest.raises(
            AttributeError, match=f"podium has no '{name}'; did you mean podium.{near}?"
        ):
            getattr(podium, name)
    assert not hasattr(podium, "__wrapped__")


@pytest.mark.parametrize(
    "room",
    [
        "podium.aggregation",
        "podium.clicks",
        "podium.data",
        "podium.features",
        "podium.ensemble",
        "podium.exchange",
        "podium.experiments",
        "podium.feedback",
        "podium.labelling",
        "podium.losses",
        "podium.metrics",
        "podium.multitask",
        "podium.postranking",
        "podium.rankers",
    ],
)
def test_every_exported_name_of_a_room_is_there(room):
    module = importlib.import_module(room)
    assert all(hasattr(module, name) for name in module.__all__)


def test_import_is_light():
    heavy = ("numpy", "scipy", "sklearn", "lightgbm", "matplotlib", "pandas", "rich", "typer")
    out = python(f"import sys, podium; print([m for m in {heavy!r} if m in sys.modules])")
    assert out == "[]\n"


def test_evaluating_needs_neither_scikit_learn_nor_lightgbm_nor_dask():
    heavy = ("sklearn", "lightgbm", "matplotlib", "pandas", "polars", "pyarrow", "fastapi")
    out = python(
        "import sys, podium; d = podium.make_synthetic(5); podium.evaluate(d, d.y, 'NDCG@10')\n"
        f"print([m for m in {heavy!r} if m in sys.modules]); podium.use; podium.tune; podium.compare\n"
        "print([m for m in ('dask', 'distributed') if m in sys.modules])"
    )
    assert out == "[]\n[]\n"


def test_the_command_line_starts_without_numpy():
    code = (
        "import sys\nfrom podium.apps.cli import main\nsys.argv = ['podium', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    names = set(sys.modules)\n"
        "folders = ('podium.apps.cli.commands', 'podium.apps.cli.options')\n"
        "print('numpy' in names, [name for name in names if name.startswith(folders)])"
    )
    out = python(code)
    assert "Usage: podium" in out
    assert out.endswith("False []\n"), "a list of commands imports none of them"


def imported_rooms(path):
    """(room, rooms it imports, lazily or not) of a source file."""
    for node in walk(syntax_tree(path)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "podium":
                yield parts[1] if len(parts) > 1 else "podium"


def test_rooms_import_only_from_rooms_above():
    source = ROOT / "src" / "podium"
    for path in source.rglob("*.py"):
        room = path.relative_to(source).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        for other in imported_rooms(path):
            if other == "podium":  # "import podium" for the version, in the shells only
                assert room == "apps", f"{path} imports podium itself"
            elif other in ROOMS:
                assert ROOMS.index(other) <= ROOMS.index(room), f"{path} imports podium.{other}"
            else:
                assert other == "__version__", f"{path} imports podium.{other}"


def test_the_picture_of_the_architecture_has_every_room_in_order():
    picture = (ROOT / "docs/architecture.md").read_text().split("```text\n")[1].split("```")[0]
    rooms = [line.split()[0] for line in picture.splitlines()]
    assert rooms == [*(room for room in ROOMS if room != "__main__"), "podium_papers"]


def imports_of(source):
    """(where, module, name or "") of every import, lazy or not, in a folder's source files."""
    for path in sorted(source.rglob("*.py*")):
        if path.suffix not in (".py", ".pyi"):
            continue
        for node in walk(syntax_tree(path)):
            where = f"{path.relative_to(source.parent)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Import):
                yield from ((where, alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((where, node.module or "", alias.name) for alias in node.names)


def public_names(module):
    """The names in `__all__` of podium or of a room; of a room that is one file, those it defines."""
    room = importlib.import_module(module)
    if hasattr(room, "__all__"):
        return set(room.__all__)
    own = {n for n, value in vars(room).items() if getattr(value, "__module__", module) == module}
    return {name for name in own if not name.startswith("_")}


def test_podium_does_not_import_podium_papers():
    modules = {module.split(".")[0] for _, module, _ in imports_of(ROOT / "src" / "podium")}
    assert "numpy" in modules
    assert "podium_papers" not in modules


def test_podium_papers_uses_only_public_names():
    rooms = {"podium", *(f"podium.{room}" for room in ROOMS if room != "__main__")}
    used = [
        (where, module, name)
        for where, module, name in imports_of(ROOT / "src" / "podium_papers")
        if module.split(".")[0] == "podium"
    ]
    assert used
    private = [
        f"{where}: {module} {name}"
        for where, module, name in used
        if module not in rooms or (name and name not in public_names(module))
    ]
    assert private == []


def test_a_missing_extra_is_named():
    with pytest.raises(MissingExtraError, match=r"pip install 'podium-ltr\[web\]'"):
        require("no_such_module_anywhere", "web", "serving")


def test_parquet_without_pyarrow_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="arrow"):
        podium.make_synthetic(3).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(MissingExtraError, match="arrow"):
        podium.read_parquet(tmp_path / "x.parquet")


@pytest.mark.parametrize("backend", ["native", "reference"])
def test_the_backend_can_be_chosen(backend):
    if backend == "native" and find_spec("podium.kernels._native") is None:
        assert os.environ.get("CI") != "true", "CI must build the native kernels"
        pytest.skip("no native kernels here: no compiler was at hand")
    code = "from podium import kernels; print(kernels.BACKEND, kernels.order.__module__)"
    out = python(code, PODIUM_BACKEND=backend)
    assert out.split()[0] == backend


def test_a_wrong_backend_is_refused():
    code = (
        "from podium.errors import BackendError\n"
        "try:\n    import podium.kernels\nexcept BackendError as e:\n    print(e)\n"
    )
    assert "native or reference, got 'fast'" in python(code, PODIUM_BACKEND="fast")


def test_native_kernels_that_cannot_be_loaded_are_named():
    code = (
        "import importlib, warnings\n"
        "load = importlib.import_module\n"
        "def broken(name, *rest):\n"
        "    if name.endswith('_native'): raise ImportError('libstdc++.so.6: no version GLIBCXX_9')\n"
        "    return load(name, *rest)\n"
        "importlib.import_module = broken\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    from podium import kernels\n"
        "print(kernels.BACKEND, [str(w.message) for w in caught])\n"
    )
    out = python(code, PODIUM_BACKEND="")
    assert out.startswith("reference ")
    assert "cannot be loaded (libstdc++.so.6: no version GLIBCXX_9)" in out
    assert "slow kernels in NumPy run; reinstall podium-ltr" in out


def test_the_command_reference_is_fresh():
    assert (ROOT / "docs/cli.md").read_text() == generate.cli_reference()


def test_lowest_versions_cover_every_core_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert len(lowest.lowest()) >= len(project["dependencies"])
    assert all("==" in line for line in lowest.lowest())


def test_no_pickle_anywhere():
    for path in (ROOT / "src").rglob("*.py"):
        assert "import pickle" not in path.read_text(), path


def test_a_forked_child_does_not_wait_for_threads_it_has_not():
    code = (
        "import os, numpy as np, podium\n"
        "d = podium.RankingData.from_arrays(np.zeros((60_000, 1)), np.arange(60_000) % 3,"
        " qid=np.arange(60_000) // 30)\n"
        "s = np.random.default_rng(0).random(60_000)\n"
        "mean = podium.evaluate(d, s, 'NDCG')['NDCG'].mean\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if podium.evaluate(d, s, 'NDCG')['NDCG'].mean == mean else 1)\n"
        "print(os.waitpid(child, 0)[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60
    )  # fmt: skip
    assert done.stdout == "0\n", done.stderr


def test_means_do_not_depend_on_the_threads_of_blas():
    code = (
        "import numpy as np; from podium.metrics import mean_over_queries as m\n"
        "r = np.random.default_rng(0); print(repr(m(r.random(20_001), r.random(20_001))))"
    )
    assert python(code, OPENBLAS_NUM_THREADS="1") == python(code, OPENBLAS_NUM_THREADS="2")


# Who else may write: the log that is appended to, the lock of the server, a new store, and copies that
# end with the service.
OWN_WRITERS = {
    "data/atomic_files.py", "apps/serving/event_log.py", "apps/serving/list_log.py",
    "apps/serving/reloaded_files.py",
    "apps/cli/servers/store_lock.py", "apps/cli/error_reports.py",
    "rule_history/audit_log.py", "rule_history/rule_folder.py",  # a log that grows, and a lock
    "labelling/machines/answer_cache.py",  # an empty file with its mode, and one to lock
    "labelling/store/database.py",  # an empty file with its mode, which SQLite then fills
}  # fmt: skip
TARGETS = {"temporary", "out"}
"""What atomic_path gives is called temporary; out is a buffer in memory."""


def careless_writes(tree):
    """Calls that write a file, but for those to a temporary one that atomic_path gave."""
    for node in walk(tree):
        if not isinstance(node, ast.Call):
            continue
        call, names = ast.unparse(node.func), {ast.unparse(one) for one in node.args[:1]}
        name = call.rpartition(".")[2]
        modes = [ast.unparse(one.value) for one in node.keywords if one.arg == "mode"]
        modes += [ast.unparse(one) for one in node.args[1:2]]
        if call.endswith((".write_text", ".write_bytes")):
            is_careless = call.rpartition(".")[0] not in TARGETS
        elif call == "open":
            is_careless = bool(set("".join(modes)) & set("wax+")) and not names & TARGETS
        elif name in ("savefig", "savez", "savez_compressed", "write_table"):
            is_careless = not names & {*TARGETS, "file"} and "temporary" not in ast.unparse(node)
        elif call == "os.open":
            is_careless = bool(re.search("O_(WRONLY|RDWR|CREAT|APPEND)", ast.unparse(node)))
        else:
            is_careless = call in ("os.replace", "os.rename", "os.link", "shutil.copyfile")
        if is_careless:
            yield ast.unparse(node)


def test_every_file_is_written_by_atomic_path():
    source = ROOT / "src" / "podium"
    careless = {
        f"{path}: {call}"
        for path in (ROOT / "src").rglob("*.py")
        if str(path).removeprefix(f"{source}/") not in OWN_WRITERS
        for call in careless_writes(syntax_tree(path))
    }
    assert careless == set()


@pytest.mark.parametrize(
    "code",
    ["open(path, 'w')", "open(path, mode='ab')", "path.write_text('')", "os.replace(a, b)",
     "figure.savefig(path)", "pq.write_table(table, path)"],
)  # fmt: skip
def test_a_careless_write_is_noticed(code):
    assert list(careless_writes(ast.parse(code))) == [code]
