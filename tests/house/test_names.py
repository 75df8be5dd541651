"""Names and sizes in the source: no banned name, no class or type twice, short bodies, no import cycle.

Each checker takes syntax trees by path, so that a test can show it a violation.
"""

import ast
from collections import defaultdict

import pytest

from tests.support.paths import ROOT
from tests.support.source_trees import syntax_tree, walk

BANNED_NAMES = {
    "found", "told", "known", "given", "said", "against", "along", "under", "telling", "weighty", "asked",
    "made", "taken", "shown", "seen", "kept", "held", "met", "meant", "wanted", "named", "called", "posed",
    "settled", "heard", "above", "below", "among", "within", "over", "beyond",
}  # fmt: skip
"""Bare participles and prepositions, which do not say what they hold."""
ALLOWED_NAMES = {
    ("podium/apps/serving/body_types.py", "known"): "a field of the service's error answers",
    ("podium_papers/records.py", "found"): "a field of the papers' result files",
    ("podium_papers/rankopt/claims.py", "found"): "a field of the papers' result files",
    ("podium_papers/rankopt/convergence.py", "within"): "a field of the papers' result files",
    ("podium_papers/rankopt/convergence.py", "settled"): "a field of the papers' result files",
    ("podium_papers/toprank/claims.py", "above"): "a field of the papers' result files",
    ("podium_papers/toprank/claims.py", "below"): "a field of the papers' result files",
}
"""(File in src, name) -> why the name stays: it is a field of JSON, HTTP or a file."""
MAX_BODY_LINES = 40
NAMEDTUPLE_METHODS = {"_replace", "_asdict", "_fields", "_make"}


@pytest.fixture(scope="module")
def sources():
    """Path in src -> syntax tree of every source file."""
    root = ROOT / "src"
    return {str(path.relative_to(root)): syntax_tree(path) for path in sorted(root.rglob("*.py"))}


def parse(texts):
    """Path -> syntax tree of each text."""
    return {path: ast.parse(text) for path, text in texts.items()}


def nodes(sources):
    """Path and node of every node of the syntax trees."""
    for path, tree in sources.items():
        for node in walk(tree):
            yield path, node


def is_function(node):
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


# --- class names


def repeated_classes(sources):
    """Class names that several classes share, with their places."""
    places = defaultdict(list)
    for path, node in nodes(sources):
        if isinstance(node, ast.ClassDef):
            places[node.name].append(f"{path}:{node.lineno}")
    return {name: where for name, where in places.items() if len(where) > 1}


def test_no_two_classes_share_a_name(sources):
    assert repeated_classes(sources) == {}


def test_a_class_name_used_twice_is_noticed():
    pair = {"a.py": "class Tally: ...", "b.py": "class Tally: ..."}
    assert repeated_classes(parse(pair)) == {"Tally": ["a.py:1", "b.py:1"]}
    assert repeated_classes(parse({"a.py": "class Tally: ...", "b.py": "class Score: ..."})) == {}


TYPES_OF_TWO_ROOMS = {"Document"}
"""A document of a ranking is any id; features has documents with texts."""


def is_type_name(name):
    """Whether a name is written as types are: Grid, not GRID or grid."""
    return name.strip("_")[:1].isupper() and not name.isupper()


def type_names(tree):
    """Names of the types that a module defines at its top: (name, line, whether it is a variable)."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name, node.lineno, False
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            is_variable = node.value is not None and "TypeVar(" in ast.unparse(node.value)
            for target in targets:
                if isinstance(target, ast.Name) and is_type_name(target.id):
                    yield target.id, node.lineno, is_variable


def repeated_types(sources):
    """Names of types that several modules define, with their places.

    Modules may share a name for a variable of types, if it is not the name of a type.
    """
    types, variables = defaultdict(list), defaultdict(list)
    for path, tree in sources.items():
        for name, line, is_variable in type_names(tree):
            (variables if is_variable else types)[name].append(f"{path}:{line}")
    places = {name: where + variables.get(name, []) for name, where in types.items()}
    return {
        name: where
        for name, where in places.items()
        if len(where) > 1 and name not in TYPES_OF_TWO_ROOMS
    }


def test_no_two_types_share_a_name(sources):
    assert repeated_types(sources) == {}


@pytest.mark.parametrize(
    "second", ["_Grid: TypeAlias = list[int]", "_Grid = TypeVar('_Grid')", "class _Grid: ..."]
)
def test_a_type_name_used_twice_is_noticed(second):
    files = {"a.py": "_Grid = dict[str, int]", "b.py": second}
    assert repeated_types(parse(files)) == {"_Grid": ["a.py:1", "b.py:1"]}


def test_constants_and_variables_of_types_may_share_names():
    files = {"a.py": "GRID = 1\nT = TypeVar('T')", "b.py": "GRID = 2\nT = TypeVar('T')"}
    assert repeated_types(parse(files)) == {}


# --- names


def bound_names(node):
    """Names that a node binds: functions, parameters, variables, attributes, aliases."""
    if is_function(node):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs) and node.name:
        yield node.name
    elif isinstance(node, ast.alias) and node.asname:
        yield node.asname


def banned_names(sources, allowed=ALLOWED_NAMES):
    """Places where a banned name is bound."""
    return [
        f"{path}:{node.lineno} {name}"
        for path, node in nodes(sources)
        for name in bound_names(node)
        if name.strip("_") in BANNED_NAMES and (path, name) not in allowed
    ]


def test_no_banned_name_is_bound(sources):
    assert banned_names(sources) == []


@pytest.mark.parametrize(
    "code",
    [
        "found = 1", "for found in []: ...", "[found for found in []]", "x.found = 1", "found: int = 1",
        "def found(): ...", "async def _found(): ...", "def f(found): ...", "def f(*, found=1): ...",
        "def f(*found): ...", "lambda found: 1", "with open('x') as found: ...", "import x as found",
        "try: ...\nexcept ValueError as found: ...", "(found := 1)", "class A:\n    found: int",
        "match 1:\n    case found: ...",
    ],
)  # fmt: skip
def test_a_banned_name_is_noticed(code):
    assert len(set(banned_names(parse({"a.py": code})))) == 1
    assert banned_names(parse({"a.py": code.replace("found", "rows")})) == []


def test_reading_a_banned_name_binds_nothing():
    assert banned_names(parse({"a.py": "print(record.found, 'told')"})) == []


def test_every_allowed_name_is_still_there(sources):
    bound = {(path, name) for path, node in nodes(sources) for name in bound_names(node)}
    assert set(ALLOWED_NAMES) <= bound


# --- bodies


def has_docstring(function):
    first = function.body[0]
    is_constant = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return is_constant and isinstance(first.value.value, str)


def body_lines(function):
    """Number of lines of a function's body, without its docstring."""
    first = function.body[0]
    start = first.end_lineno if has_docstring(function) else first.lineno - 1
    return function.end_lineno - start


def long_bodies(sources):
    """Functions whose body is too long."""
    return [
        f"{path}:{node.lineno} {node.name}: {body_lines(node)} lines"
        for path, node in nodes(sources)
        if is_function(node) and body_lines(node) > MAX_BODY_LINES
    ]


def test_no_body_is_too_long(sources):
    assert long_bodies(sources) == []


def test_a_long_body_is_noticed():
    def code(lines):
        doc = '    """One.\n\n    Two.\n    """\n'
        return "def f():\n" + doc + "    x = 1\n" * lines

    assert long_bodies(parse({"a.py": code(MAX_BODY_LINES)})) == []
    assert long_bodies(parse({"a.py": code(MAX_BODY_LINES + 1)})) == ["a.py:1 f: 41 lines"]
    assert long_bodies(parse({"a.py": "def f():\n" + "    x = 1\n" * 41})) == ["a.py:1 f: 41 lines"]


# --- imports


def module_name(path):
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imported_modules(node, modules):
    """Modules of the project that a node imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in modules)
    elif isinstance(node, ast.ImportFrom) and node.level == 0:
        for alias in node.names:
            submodule = f"{node.module}.{alias.name}"
            module = submodule if submodule in modules else node.module
            if module in modules:
                yield module


def import_graph(sources):
    """Module -> the modules it imports, lazily and for types only included."""
    modules = {module_name(path) for path in sources}
    graph = {module: set() for module in modules}
    for path, node in nodes(sources):
        graph[module_name(path)] |= set(imported_modules(node, modules)) - {module_name(path)}
    return graph


def reachable(graph, start):
    """Modules that imports lead to from a module."""
    visited, left = set(), [start]
    while left:
        for module in graph[left.pop()] - visited:
            visited.add(module)
            left.append(module)
    return visited


def import_cycles(sources):
    """Groups of modules that import each other."""
    graph = import_graph(sources)
    targets = {module: reachable(graph, module) for module in graph}
    groups = {
        frozenset(other for other in targets[module] if module in targets[other])
        for module in graph
        if module in targets[module]
    }
    return sorted(sorted(group) for group in groups)


def test_no_modules_import_each_other(sources):
    assert import_cycles(sources) == []


@pytest.mark.parametrize(
    "back",
    [
        "import p.a", "from p import a", "from p.a import x", "def f():\n    from p.a import x",
        "if TYPE_CHECKING:\n    from p.a import x",
    ],
)  # fmt: skip
def test_an_import_cycle_is_noticed(back):
    files = {"p/__init__.py": "", "p/a.py": "from p.b import y", "p/b.py": "import p.c"}
    assert import_cycles(parse({**files, "p/c.py": back})) == [["p.a", "p.b", "p.c"]]
    assert import_cycles(parse({**files, "p/c.py": "import os"})) == []


# --- private members


ALLOWED_PRIVATE_MEMBERS = {
    ("podium/rankers/binned_features.py", f"dataset.{name}")
    for name in ("_create_sample_indices", "_init_from_sample", "_push_rows")
}
"""LightGBM has no public way to bin rows in batches; a test fits with the lowest and the newest version."""


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in NAMEDTUPLE_METHODS


def foreign_private_members(sources):
    """Places that use a private member of something else than `self`, `cls` or `super()`."""
    return [
        f"{path}:{node.lineno} {ast.unparse(node)}"
        for path, node in nodes(sources)
        if isinstance(node, ast.Attribute)
        and is_private(node.attr)
        and ast.unparse(node.value) not in ("self", "cls", "super()", "os")
        and (path, ast.unparse(node)) not in ALLOWED_PRIVATE_MEMBERS
    ]


def test_no_private_member_of_another_class_is_used(sources):
    assert foreign_private_members(sources) == []


def test_a_foreign_private_member_is_noticed():
    assert foreign_private_members(parse({"a.py": "other._rows"})) == ["a.py:1 other._rows"]
    assert foreign_private_members(parse({"a.py": "self.ranker._fit(x)"})) == [
        "a.py:1 self.ranker._fit"
    ]
    own = "self._rows\ncls._make\nsuper()._fit()\nvariant._replace(k=1)\nX.__len__()\nos._exit(1)"
    assert foreign_private_members(parse({"a.py": own})) == []
