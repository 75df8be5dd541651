"""The page of a record: Markdown, HTML, figures and tables in a folder."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from podium.data import atomic_writer, make_folder
from podium.errors import require
from podium_papers.markdown import code, table
from podium_papers.registry import PAPERS
from podium_papers.running import PaperRecord, RunFacts, json_lines
from podium_papers.style import STYLE

FIGURES, TABLES = "figures", "tables"
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
QUICK = (
    "**A quick run**: a few of the queries below and few settings, to see that everything works. What "
    'comes out, "holds" and "does not hold" included, says nothing about the paper.'
)


def section(record: PaperRecord, made: RunFacts) -> list[str]:
    """The record under a heading of the second level, for a page of several."""
    paper = PAPERS[record.paper]
    times = (
        paper.time_sections(made.times, record.quick) if paper.time_sections and made.times else []
    )
    lines = [f"## {paper.title}", "", *_head(record, made), *paper.sections(record.found), *times]
    return lines if lines[-1] == "" else [*lines, ""]


def _head(record: PaperRecord, made: RunFacts) -> list[str]:
    paper = PAPERS[record.paper]
    rows = [
        [
            one.name, f"{one.n_queries:,}" if one.n_queries else "", f"{one.n_documents:,}",
            str(one.n_features), "yes" if one.name in record.own else "no",
            f"`{one.fingerprint[:12]}`",
        ]
        for one in record.data
    ]  # fmt: skip
    heads = ["data", "queries", "documents", "features", "the paper's own", "fingerprint"]
    missing = [f"- {one.name}: {one.needs}." for one in record.absent]
    return [
        f"{paper.citation}. Made by {code(made.command)} with podium {record.version} on {made.date}, "
        f"in {_duration(made.seconds)}.{made.note}",
        "",
        *([QUICK, ""] if record.quick else []),
        *table(heads, rows),
        "",
        *(["Not at hand, with what each would need:", "", *missing, ""] if missing else []),
    ]


def _duration(seconds: int) -> str:
    return (
        f"{seconds} second{'s' * (seconds != 1)}"
        if seconds < 120
        else f"{seconds / 60:.0f} minutes"
    )


def page(record: PaperRecord, made: RunFacts) -> str:
    """The record as a page of its own, in Markdown: headings one level up, no links to other pages."""
    text = "\n".join(section(record, made))
    text = re.sub(r"^#(#+ )", r"\1", text, flags=re.MULTILINE)
    return re.sub(r"\[([^]]+)\]\([\w.-]+\.md\)", r"\1", text)


def html_page(text: str, folder: Path) -> str:
    """A page in Markdown as HTML that needs nothing beside it: the figures are in it."""
    markdown = require("markdown", "report", "writing a page")
    body: str = markdown.markdown(text, extensions=["tables", "sane_lists"], output_format="html")
    body = body.replace("<table>", '<div class="wide" tabindex="0"><table>')
    body = body.replace("</table>", "</table></div>")

    def with_picture(match: re.Match[str]) -> str:
        picture = base64.b64encode((folder / match[1]).read_bytes()).decode()
        return f'src="data:image/svg+xml;base64,{picture}"'

    body = re.sub(rf'src="({FIGURES}/[\w.-]+\.svg)"', with_picture, body)
    title = text.removeprefix("# ").partition("\n")[0]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        "</body>\n</html>\n"
    )


def tables_of(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """The tables of a page in Markdown: the heading above, and the rows, the first one the heads.

    Examples
    --------
    >>> list(tables_of("## Means\\n\\n| a | b |\\n| --- | ---: |\\n| 1 | **2** |\\n"))
    [('Means', [['a', 'b'], ['1', '2']])]
    """
    heading, rows = "", list[list[str]]()
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([re.sub("[*`]", "", cell).strip() for cell in line.strip("|").split(" | ")])
            continue
        if rows:
            yield heading, [row for i, row in enumerate(rows) if i != 1]
            rows = []
        if line.startswith("#"):
            heading = line.lstrip("# ")


def write(record: PaperRecord, made: RunFacts, folder: Path) -> list[Path]:
    """Everything: the page, its figures and tables, and JSON; those of an earlier run are replaced."""
    name, text = record.paper, page(record, made)
    for kind, suffix in ((FIGURES, "svg"), (TABLES, "csv")):
        make_folder(folder / kind)
        for old in (folder / kind).glob(f"{name}-*.{suffix}"):
            old.unlink()
    PAPERS[name].draw(record.found, folder / FIGURES)
    for number, (heading, rows) in enumerate(tables_of(text), start=1):
        _write(folder / TABLES / f"{name}-{number:02}-{_slug(heading)}.csv", _csv(rows))
    files = {
        f"{name}.html": html_page(text, folder),
        f"{name}.md": text,
        f"{name}.json": record.to_json(),
        f"{name}-run.json": json_lines(asdict(made)),
    }
    for file, content in files.items():
        _write(folder / file, content)
    return [folder / file for file in files]


def read_kept(name: str, folder: Path) -> tuple[PaperRecord, RunFacts]:
    """What `write` kept of a paper."""
    record = PaperRecord.from_json((folder / f"{name}.json").read_bytes())
    return record, RunFacts(**json.loads((folder / f"{name}-run.json").read_bytes()))


def _slug(heading: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")[:40].strip("-") or "table"


def _csv(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _write(path: Path, text: str) -> None:
    with atomic_writer(path) as write_bytes:
        write_bytes(text.encode())
