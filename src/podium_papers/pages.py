"""Pages of the papers: a record as Markdown, HTML, figures and tables in a folder."""

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
from podium_papers.json_values import json_lines
from podium_papers.markdown import code, table
from podium_papers.records import PaperRecord, RunFacts
from podium_papers.registry import PAPERS

FIGURES, TABLES = "figures", "tables"
"""Names of folders."""
CONTENT_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
QUICK_WARNING = (
    "**A quick run**: a few of the queries below and few settings, to see that everything works. What "
    'comes out, "holds" and "does not hold" included, says nothing about the paper.'
)


def section(record: PaperRecord, run: RunFacts) -> list[str]:
    """Return the record under a heading of the second level, for a page of several records."""
    paper = PAPERS[record.paper]
    times = (
        paper.time_sections(run.times, record.quick) if paper.time_sections and run.times else []
    )
    lines = [f"## {paper.title}", "", *_head(record, run), *paper.sections(record.found), *times]
    return lines if lines[-1] == "" else [*lines, ""]


def _head(record: PaperRecord, run: RunFacts) -> list[str]:
    paper = PAPERS[record.paper]
    rows = [
        [
            facts.name, f"{facts.n_queries:,}" if facts.n_queries else "", f"{facts.n_documents:,}",
            str(facts.n_features), "yes" if facts.name in record.own else "no",
            f"`{facts.fingerprint[:12]}`",
        ]
        for facts in record.data
    ]  # fmt: skip
    heads = ["data", "queries", "documents", "features", "the paper's own", "fingerprint"]
    missing = [f"- {data.name}: {data.needs}." for data in record.absent]
    return [
        f"{paper.citation}. Made by {code(run.command)} with podium {record.version} on {run.date}, "
        f"in {_duration(run.seconds)}.{run.note}",
        "",
        *([QUICK_WARNING, ""] if record.quick else []),
        *table(heads, rows),
        "",
        *(["Not available, with what each would need:", "", *missing, ""] if missing else []),
    ]


def _duration(seconds: int) -> str:
    return (
        f"{seconds} second{'s' * (seconds != 1)}"
        if seconds < 120
        else f"{seconds / 60:.0f} minutes"
    )


def page(record: PaperRecord, run: RunFacts) -> str:
    """Return the record as a Markdown page of its own: headings one level up, no links to other pages."""
    text = "\n".join(section(record, run))
    text = re.sub(r"^#(#+ )", r"\1", text, flags=re.MULTILINE)
    return re.sub(r"\[([^]]+)\]\([\w.-]+\.md\)", r"\1", text)


def html_page(text: str, folder: Path) -> str:
    """Return a Markdown page as HTML with its figures inside, so that it needs no other file."""
    markdown = require("markdown", "report", "writing a page")
    body: str = markdown.markdown(text, extensions=["tables", "sane_lists"], output_format="html")
    body = body.replace("<table>", '<div class="wide" tabindex="0"><table>')
    body = body.replace("</table>", "</table></div>")

    def embed_figure(match: re.Match[str]) -> str:
        picture = base64.b64encode((folder / match[1]).read_bytes()).decode()
        return f'src="data:image/svg+xml;base64,{picture}"'

    body = re.sub(rf'src="({FIGURES}/[\w.-]+\.svg)"', embed_figure, body)
    title = text.removeprefix("# ").partition("\n")[0]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_POLICY}">\n'
        f"<title>{title}</title>\n<style>{PAGE_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        "</body>\n</html>\n"
    )


def find_tables(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the tables of a Markdown page: the heading, and the rows with the column heads first.

    Examples
    --------
    >>> list(find_tables("## Means\\n\\n| a | b |\\n| --- | ---: |\\n| 1 | **2** |\\n"))
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


def write(record: PaperRecord, run: RunFacts, folder: Path) -> list[Path]:
    """Write the page, its figures, its tables and its JSON; replace those of an earlier run."""
    name, text = record.paper, page(record, run)
    for kind, suffix in ((FIGURES, "svg"), (TABLES, "csv")):
        make_folder(folder / kind)
        for old in (folder / kind).glob(f"{name}-*.{suffix}"):
            old.unlink()
    PAPERS[name].draw(record.found, folder / FIGURES)
    for number, (heading, rows) in enumerate(find_tables(text), start=1):
        _write(folder / TABLES / f"{name}-{number:02}-{_slug(heading)}.csv", _csv(rows))
    files = {
        f"{name}.html": html_page(text, folder),
        f"{name}.md": text,
        f"{name}.json": record.to_json(),
        f"{name}-run.json": json_lines(asdict(run)),
    }
    for file, content in files.items():
        _write(folder / file, content)
    return [folder / file for file in files]


def read_record(name: str, folder: Path) -> tuple[PaperRecord, RunFacts]:
    """Return the record of a paper, and the facts of its run, that `write` wrote into a folder."""
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


PAGE_STYLE = """
:root { color-scheme: light dark; --text: #1b1b1b; --back: #fff; --line: #d5d5d5; --soft: #f4f4f4;
  --link: #0b5cad; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e6e6; --back: #16181b; --line: #3a3d42;
  --soft: #202327; --link: #7db4f0; } }
body { margin: 0; background: var(--back); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-top: 1px solid var(--line);
  padding-top: 1.25rem; }
p, li { max-width: 46rem; } a { color: var(--link); }
code { background: var(--soft); padding: .1em .3em; border-radius: 3px; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: 1rem 0; } .wide:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left;
  vertical-align: top; }
thead th { background: var(--soft); } tbody tr:hover { background: var(--soft); }
img { max-width: 100%; height: auto; background: #fff; border-radius: 6px; }
"""
