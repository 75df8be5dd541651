"""Pictures of the gallery: what each example of docs/gallery.md draws.

python -m tools.gallery --write    writes docs/figures/gallery
python -m tools.gallery --check    fails if a picture is stale

An example is a python block, and the picture that follows it; its last axes are called ax.
"""

from __future__ import annotations

import argparse
import doctest
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "gallery.md"
FOLDER = ROOT / "docs" / "figures" / "gallery"
PIXELS = 0.5
"""Numbers in two drawings of the same picture differ by less: processors round differently."""
_EXAMPLE = re.compile(
    r"^```python\n(.*?)^```\n\n!\[([^]]+)\]\(figures/gallery/([\w-]+)\.svg\)$", re.M | re.S
)
_NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
_ID = re.compile(r"(?<=[\"#])[mpC]\w*[0-9a-f]{8,}\w*(?=[\")])")


@dataclass(frozen=True)
class Example:
    """The code of a picture, and the name of its file."""

    name: str
    alt: str
    code: str

    @property
    def n_lines(self) -> int:
        """The number of lines of code."""
        return len(self.code.splitlines())

    def draw(self) -> str:
        """Return the picture as SVG."""
        from podium.experiments import save_figure

        session: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(self.code, f"{PAGE.name}: {self.name}", "exec"), session)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "picture.svg"
            save_figure(session["ax"].figure, path)
            # Trailing blanks are matplotlib's; editors and linters would remove them.
            return re.sub(r" +$", "", path.read_text(), flags=re.M)

    @property
    def path(self) -> Path:
        """The file of the picture."""
        return FOLDER / f"{self.name}.svg"


def examples() -> list[Example]:
    """Return the examples of the page."""
    parser = doctest.DocTestParser()
    return [
        Example(name, alt, "".join(one.source for one in parser.get_examples(block)))
        for block, alt, name in _EXAMPLE.findall(PAGE.read_text())
    ]


def is_same(drawing: str, other: str) -> bool:
    """Whether two drawings are the same, but for rounding."""
    shapes, numbers = zip(*(_parse(text) for text in (drawing, other)), strict=True)
    if shapes[0] != shapes[1]:
        return False
    return all(abs(a - b) < PIXELS for a, b in zip(*numbers, strict=True))


def _parse(drawing: str) -> tuple[str, list[float]]:
    text = _ID.sub("id", drawing)
    return _NUMBER.sub("0", text), [float(number) for number in _NUMBER.findall(text)]


def main() -> None:
    """Write or check every picture of the gallery."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    stale = []
    for example in examples():
        print(f"picture {example.name} ...", flush=True)
        drawing = example.draw()
        if example.path.exists() and is_same(example.path.read_text(), drawing):
            continue
        if options.write:
            example.path.write_text(drawing)
        else:
            stale.append(example.path.name)
    if stale:
        sys.exit(f"stale: {', '.join(stale)}; run: python -m tools.gallery --write")


if __name__ == "__main__":
    main()
