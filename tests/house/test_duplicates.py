"""Duplicated code in the source: no ten lines stand in two places."""

from collections import defaultdict

from tests.support.paths import ROOT

MIN_LINES = 10
ENDINGS = (".py", ".cpp", ".hpp", ".js", ".css", ".html")
NO_CODE = ("#", "//", "/*", "*", "import ", "from ")


def code_lines(text):
    """(Line number, line) of the code: without blank lines, comments, imports and lone punctuation."""
    lines = ((number, " ".join(line.split())) for number, line in enumerate(text.split("\n"), 1))
    return [
        (number, line)
        for number, line in lines
        if any(map(str.isalnum, line)) and not line.startswith(NO_CODE)
    ]


def duplicates(texts):
    """Places that share so many lines of code, white space apart."""
    places = defaultdict(list)
    for path, text in texts.items():
        lines = code_lines(text)
        for start in range(len(lines) - MIN_LINES + 1):
            run = lines[start : start + MIN_LINES]
            places[tuple(line for _, line in run)].append(f"{path}:{run[0][0]}")
    return [where for where in places.values() if len(where) > 1]


def test_no_code_stands_in_two_places():
    root = ROOT / "src"
    files = [path for path in sorted(root.rglob("*")) if path.suffix in ENDINGS]
    assert len(files) > 500
    assert duplicates({str(path.relative_to(root)): path.read_text() for path in files}) == []


def test_a_duplicate_is_noticed():
    own = [f"x{i} = f({i})" for i in range(MIN_LINES)]
    again = ["import os", "", *(f"    {line}" for line in own), "# the end"]
    assert duplicates({"a.py": "\n".join(own), "b.py": "\n".join(again)}) == [["a.py:1", "b.py:3"]]
    assert duplicates({"a.py": "\n".join(own), "b.py": "\n".join(own[1:])}) == []
    assert duplicates({"a.py": "\n".join([*own, *own])}) == [["a.py:1", "a.py:11"]]
