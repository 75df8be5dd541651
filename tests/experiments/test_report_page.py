"""The report as tables and as a page, in a real browser: both themes, any width, nothing from outside."""

import base64
import csv
import hashlib
import io
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import podium
from podium.data import Fold, RankingData, kfold, make_synthetic
from podium.errors import MissingExtraError
from podium.experiments import svg_drawings
from podium.experiments.html_report import compare_rivals
from podium.experiments.report_pictures import front_rankers
from podium.experiments.report_tables import PAPER_NAMES
from podium.experiments.svg_drawings import shorten_name
from podium.metrics import paired_test
from podium.rankers import LambdaMART, RankSVM
from podium.registry import RANKERS
from tests.support.screens import check_screen

compare = partial(podium.compare, failures="report")
HOSTILE = "<script>alert('$x$')</script>"


class Fails(RankSVM):
    def learn(self, train, monitor, start):
        raise RuntimeError(f"a & b {HOSTILE}")


@pytest.fixture(scope="module")
def report():
    data = make_synthetic(n_queries=36, n_docs=(5, 12), n_features=5, noise=1.0, seed=1)
    rankers = {
        "regression": "regression",
        "ranksvm": "ranksvm",
        "focused-net": podium.FocusedNet(k=3),
        "lambdamart": LambdaMART(trees=8, min_leaf=2, leaves=4, threads=1, loss="lambdarank"),
        HOSTILE: Fails(),
    }
    return compare(
        data, rankers, ["NDCG@5", "MAP"], folds=3, baseline="ranksvm", name=f"Generated {HOSTILE}",
        tune={"lambdamart": {}, "ranksvm": {"C": (1e-4, 1e-2, 1.0)}},
    )  # fmt: skip


@pytest.fixture(scope="module")
def html(report):
    return report.to_html()


@pytest.fixture(scope="module")
def report_file(html, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html)
    return path


# --- tables


def test_the_text_has_a_line_for_each_ranker_and_says_what_failed(report):
    lines = str(report).splitlines()
    assert lines[0].startswith("Generated")
    assert "36 queries" in lines[0]
    for ranker in report.rankers[:-1]:
        [line] = [line for line in lines if line.startswith(f"{ranker} ")]
        assert f"{report.standing(ranker).mean:.4f} ±" in line
    assert sum("failed in all 3 folds: " in line for line in lines) == 1


def test_markdown_tables_are_rectangular(report):
    text = report.to_markdown()
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        widths = {len(re.split(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1
    assert f"{report.standing('ranksvm').mean:.4f}" in text
    assert "| failed | failed | failed |" in text


def test_latex_is_escaped_balanced_and_booktabs(report):
    text = report.to_latex()
    for rule in ("toprule", "midrule", "bottomrule"):
        assert text.count(f"\\{rule}") == 1
    rows = text.split("\\midrule")[1].split("\\bottomrule")[0].strip().splitlines()
    assert len(rows) == len(report.rankers)
    assert all(row.count(" & ") == 2 and row.endswith(r"\\") for row in rows)
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    assert re.sub(r"\\\$", "", text).count("$") % 2 == 0
    assert text.count("textbf") == 2
    assert f"\\textbf{{{report.standing(report.ranking('MAP')[0], 'MAP').mean:.4f}}}" in text


def test_latex_has_a_name_for_every_ranker():
    assert set(PAPER_NAMES) == set(RANKERS.own)


def test_csv_has_the_numbers_in_full(report):
    rows = list(csv.DictReader(io.StringIO(report.to_csv())))
    assert len(rows) == 2 * len(report.rankers)
    for row in rows:
        standing = report.standing(row["ranker"], row["metric"])
        assert row["measured"] == report.measured[row["metric"]]
        assert (float(row["mean"]) if row["mean"] else None) == standing.mean
        folds = [float(row[f"fold_{i}"]) if row[f"fold_{i}"] else None for i in (1, 2, 3)]
        assert tuple(folds) == standing.per_fold
        if standing.difference is not None:
            assert float(row["p_corrected"]) == standing.difference.adjusted
            assert int(row["losses"]) == standing.difference.losses
    assert rows[-1]["failed_folds"] == "1 2 3"


def test_marks_follow_the_corrected_p_values(report):
    for standing in report.standings:
        d = standing.difference
        expected = "" if d is None or d.adjusted >= 0.05 else "▲" if d.mean > 0 else "▼"
        assert standing.mark == expected
    truth = make_synthetic(n_queries=40, n_docs=8, n_features=3, noise=0.1, seed=0)
    noise = RankingData.from_arrays(
        np.column_stack([truth.X, np.random.default_rng(0).normal(size=len(truth))]), truth.y,
        qid=np.repeat(truth.qids, truth.groups.sizes),
    )  # fmt: skip
    found = compare(noise, {"weak": Constant(), "good": "regression"}, "NDCG@5", folds=3)
    assert found.standing("good").mark == "▲"
    assert found.with_baseline("good").standing("weak").mark == "▼"
    assert "▲" in str(found)
    assert r"$^{\uparrow}$" in found.to_latex()


class Constant(RankSVM):
    """Ranks by the last feature, which is noise."""

    def learn(self, train, monitor, start):
        from podium.rankers.fit_result import FitResult
        from podium.rankers.models import Linear

        return FitResult(Linear(np.eye(train.n_features)[-1]))


# --- the page


def test_the_page_needs_nothing_and_runs_its_own_script_only(html):
    assert HOSTILE not in html
    [script] = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in html
    assert html.count("<script") == 1
    assert not re.search(r"\son\w+=", html)
    outside = re.findall(r"(?:\b(?<!-)(?:href|src)=|url\()[\"']?([^\"'\s)>]+)", html)
    assert outside
    assert all(target.startswith("#") for target in outside)
    assert "http" not in re.sub(r'http-equiv="', "", html)


def test_pictures_have_words_ids_of_their_own_and_colours_of_the_page(report, html):
    alts = re.findall(r'role="img" aria-label="([^"]+)"', html)
    assert len(alts) == html.count("<figure>") > 10
    assert any("by beta from 0 to 1" in alt for alt in alts)
    assert any("by C from 0.0001 to 1" in alt for alt in alts)
    assert any("better" in alt and "worse" in alt for alt in alts)
    assert any("mean weight over folds" in alt for alt in alts)
    assert any("mean importance over folds" in alt for alt in alts)
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    targets = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', html)
    assert {a or b for a, b in targets} <= set(ids)
    pictures = "".join(re.findall(r"<svg.*?</svg>", html, re.DOTALL))
    assert "currentColor" in pictures
    assert "var(--s0)" in pictures
    assert not re.search(r"#[0-9a-f]{6}\b", pictures)


def test_the_same_report_gives_the_same_page(report, html):
    assert report.to_html() == html


def test_markdown_shows_names_as_they_are(report):
    text = report.to_markdown()
    assert "&lt;script&gt;alert('$x$')&lt;/script&gt;" in text
    assert not re.search(r"<\w", re.sub(r"(`+).*?\1", "", text))
    assert "a &amp; b" in text
    named = replace(
        report, rankers=("a|b", *report.rankers[1:]), baseline="a|b",
        cells=tuple(replace(c, ranker="a|b", chosen="R(x='`|`')") if c.ranker == "regression" else c
                    for c in report.cells),
        standings=tuple(replace(s, ranker="a|b") if s.ranker == "regression" else s
                        for s in report.standings),
    )  # fmt: skip
    assert "## Against a\\|b" in named.to_markdown()
    assert "`` R(x='`\\|`') ``" in named.to_markdown()


@pytest.mark.parametrize("label", ["[a]", "*a"])
def test_a_latex_row_begins_with_no_option_of_the_last_one(label):
    data = make_synthetic(n_queries=12, n_docs=5, n_features=2, seed=0)
    text = compare(data, {"b": "regression", label: "ranksvm"}, "MAP", folds=3, tune=False)
    assert f"    {{}}{label} & " in text.to_latex()
    assert "    b & " in text.to_latex()


def test_no_value_is_no_failure():
    data = make_synthetic(n_queries=12, n_docs=5, n_features=2, seed=0)
    empty = RankingData.from_arrays(data.X, data.y * 0, qid=np.repeat(data.qids, data.groups.sizes))
    folds = [
        Fold(a.train, a.valid, b.test) for a, b in zip(kfold(data, 3), kfold(empty, 3), strict=True)
    ]
    rankers = {"good": "regression", "bad": Fails()}
    found = compare(folds, rankers, ["NDCG(empty='skip')@5", "MAP"], tune=False)
    good, bad = str(found).splitlines()[2:4]
    assert good.split()[:4] == ["good", "no", "value", "0.0000"]
    assert bad.split()[:3] == ["bad!", "failed", "failed"]
    assert "no value & \\textbf{0.0000}" in found.to_latex()
    page = found.to_html()
    assert "NDCG(empty=&#39;skip&#39;)@5 has no value for any test query" in page
    assert '<td class="failed">no value</td>' in page
    assert "every cell failed" not in page


def test_names_in_any_script_and_control_characters_draw_without_a_word(recwarn):
    data = make_synthetic(n_queries=12, n_docs=5, n_features=3, seed=0)
    data = data.with_features(data.X, ("漢字", "bell\a", "two\nlines"))
    page = compare(data, {"漢字\x01": "regression"}, "MAP", folds=3, tune=False).to_html()
    assert [str(w.message) for w in recwarn if "Glyph" in str(w.message)] == []
    pictures = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    for shown in ("漢字", "bell\\x07", "two lines", "漢字\\x01"):
        assert shown in pictures
    assert not re.search("[\x00-\x08\x0b-\x1f]", page)


def test_the_legend_is_dashed_as_the_curves_are():
    assert [svg_drawings.dashes(i) for i in (0, 7, 8, 16, 24)] == [(), (), (4, 1.5), (1, 1.2), ()]
    data = make_synthetic(n_queries=12, n_docs=5, n_features=2, seed=0)
    rankers = {f"r{i}": RankSVM(C=10.0**-i) for i in range(9)}
    page = compare(data, rankers, "MAP", folds=3, tune=False).to_html()
    wide = {"12 4.5", "none"}  # 3 times what stands in svg_drawings.DASHES
    assert set(re.findall(r"stroke-width: 3; stroke-dasharray: ([^\"]+)\"", page)) == wide
    assert "stroke-dasharray: 6.4,2.4" in page  # 1.6 times


def test_a_report_in_which_everything_failed_is_a_page_too():
    data = make_synthetic(n_queries=12, n_docs=5, n_features=2, seed=0)
    found = compare(data, {"bad": Fails()}, "NDCG@5", folds=3)
    assert "every cell failed" in found.to_html()
    assert "failed" in str(found)
    assert "failed" in found.to_latex()


def test_names_that_are_no_utf8_are_shown_as_escapes(tmp_path):
    lines = [
        f"{(i + q) % 2} qid:{q} 1:{i} 2:{q} #docid = caf\xe9{i}" for q in range(9) for i in range(4)
    ]
    path = tmp_path / "latin.txt"
    path.write_bytes("\n".join(lines).encode("latin-1"))
    found = compare(path, "regression", "NDCG@5", folds=3, out=tmp_path / "out")
    assert found.save(tmp_path / "out")
    assert podium.Report.load(tmp_path / "out") == found
    assert "caf" in found.to_html()


def test_long_names_are_cut():
    assert shorten_name("a" * 30) == "a" * 21 + "…"


@pytest.mark.parametrize("library", ["jinja2", "matplotlib"])
def test_a_page_without_the_extra_names_it(report, monkeypatch, library):
    import builtins
    import sys

    real = builtins.__import__

    def missing(name, *rest):
        if name.split(".")[0] == library:
            raise ImportError(name)
        return real(name, *rest)

    for name in list(sys.modules):
        if name.split(".")[0] == library:
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtraError, match=r"podium-ltr\[report\]"):
        report.to_html()


@pytest.fixture(scope="module")
def only_page(browser):
    """The page of all tests: each new one is a new process."""
    page = browser.new_page()
    yield page
    page.close()


@pytest.fixture
def page(only_page):
    only_page.set_viewport_size({"width": 1280, "height": 900})
    only_page.emulate_media(color_scheme="light")
    yield only_page
    only_page.goto("about:blank")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_a_browser_shows_it_in_both_themes_at_any_width(report_file, page, tmp_path, theme, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=theme)
    said, asked = [], []
    listeners = {
        "console": lambda message: said.append(message.text),
        "pageerror": lambda error: said.append(str(error)),
        "request": lambda request: asked.append(request.url),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    page.goto(report_file.as_uri())
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    assert said == []
    assert asked == [report_file.as_uri()]
    # No wider than the window; tables scroll by themselves.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ink, paper = (
        _brightness(page.evaluate(f"getComputedStyle(document.body).{what}"))
        for what in ("color", "backgroundColor")
    )
    assert (ink > paper) == (theme == "dark")
    assert abs(ink - paper) > 150
    # What is written in pictures has the page's ink.
    label = page.locator("figure svg text").first
    assert _brightness(label.evaluate("e => getComputedStyle(e).fill")) == ink
    sizes = page.evaluate(
        "[...document.querySelectorAll('figure svg')].map(e => e.getBoundingClientRect().width)"
    )
    assert len(sizes) > 10
    assert min(sizes) > 150
    # Small print on a phone is still read.
    heights = page.evaluate(
        "[...document.querySelectorAll('figure svg text')].map(e => e.getBoundingClientRect())"
        ".map(r => Math.min(r.width, r.height))"
    )
    assert np.median(heights) > 8
    check_screen(page, tmp_path / "page.png", dark=theme == "dark", full_page=True)


def _brightness(colour):
    red, green, blue = (float(v) for v in re.findall(r"[\d.]+", colour)[:3])
    return 0.299 * red + 0.587 * green + 0.114 * blue


def test_the_page_is_used_by_keyboard(report_file, page):
    page.goto(report_file.as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.add(
            page.evaluate("document.activeElement.tagName + ' ' + document.activeElement.className")
        )
    assert {"A ", "DIV scroll", "SUMMARY "} <= seen


# --- many rankers


@pytest.fixture(scope="module")
def long_report():
    """A baseline and 21 rankers."""
    data = make_synthetic(n_queries=30, n_docs=(5, 12), n_features=6, noise=1.0, seed=2)
    rankers = {f"ranker-{i:02}": RankSVM(C=10.0 ** (-i / 3)) for i in range(21)}
    return compare(
        data, {"the-baseline": "regression", **rankers}, ["NDCG@5", "MAP"], folds=3, tune=False
    )


@pytest.fixture(scope="module")
def long_html(long_report):
    return long_report.to_html()


@pytest.fixture(scope="module")
def long_report_file(long_html, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "long.html"
    path.write_text(long_html)
    return path


@pytest.fixture
def long_page(long_report_file, page):
    page.goto(long_report_file.as_uri())
    return page


def test_a_table_is_sorted_by_any_column(long_report, long_page):
    table = long_page.locator("table.sortable").first
    heads = table.locator("thead button")
    assert heads.count() == table.locator("thead th").count() == 6

    def names():
        return [one.strip() for one in table.locator("tbody th").all_inner_texts()]

    heads.nth(2).click()
    column = [float(c.split()[0]) for c in table.locator("tbody td:nth-child(3)").all_inner_texts()]
    assert column == sorted(column, reverse=True)
    assert column[0] == round(
        max(long_report.standing(r, "MAP").mean for r in long_report.rankers), 4
    )
    assert table.locator("thead th").nth(2).get_attribute("aria-sort") == "descending"
    heads.nth(2).press("Enter")
    column = [float(c.split()[0]) for c in table.locator("tbody td:nth-child(3)").all_inner_texts()]
    assert column == sorted(column)
    assert table.locator("[aria-sort]").count() == 1
    heads.nth(0).click()
    assert names() == sorted(names())
    seconds = table.locator("tbody td:nth-child(5)")
    heads.nth(4).click()
    values = [float(v) for v in seconds.evaluate_all("cells => cells.map(c => c.dataset.value)")]
    assert values == sorted(values, reverse=True)


def test_rows_without_a_number_stay_at_the_end(report_file, page):
    page.goto(report_file.as_uri())
    table = page.locator("table.sortable").first
    for _ in ("descending", "ascending"):
        table.locator("thead button").nth(1).click()
        assert table.locator("tbody tr").last.inner_text().startswith(HOSTILE)


def test_of_many_curves_one_is_highlighted_and_the_others_are_dim(long_report, long_page):
    front = front_rankers(long_report)
    assert front == ("the-baseline", *long_report.ranking()[:3])
    clear = {str(long_report.rankers.index(ranker)) for ranker in front}
    dim = set(
        long_page.locator(".series.dim").evaluate_all("all => all.map(e => e.dataset.series)")
    )
    assert dim == {str(i) for i in range(22)} - clear

    def opacity(series):
        curves = long_page.locator(f'svg:has(.dim) .series[data-series="{series}"]').first
        return float(curves.evaluate("e => getComputedStyle(e).opacity"))

    chosen = sorted(dim)[0]
    assert opacity(chosen) < 0.5
    button = long_page.locator(f'.legend li[data-series="{chosen}"] button')
    button.click()
    long_page.mouse.move(0, 0)
    assert opacity(chosen) == 1
    assert opacity(long_report.rankers.index("the-baseline")) < 0.5
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    long_page.mouse.move(0, 0)
    assert opacity(chosen) < 0.5
    assert opacity(long_report.rankers.index("the-baseline")) == 1


def test_few_curves_are_all_clear(report, html):
    assert front_rankers(report) == report.rankers
    assert 'class="series dim"' not in html


def test_the_pointer_gets_the_values(report, html):
    standing = report.standing("ranksvm")
    text = f"{standing.mean:.4f} (95% interval {standing.low:.4f} to {standing.high:.4f})"
    assert f"<title>ranksvm: {text}</title>" in html
    for place, value in enumerate(report.curve_of("ranksvm"), start=1):
        assert re.search(rf"<title>ranksvm, NDCG[^<]* at {place}: {value:.4f}</title>", html)


def test_labels_of_pictures_do_not_overlap(long_page):
    overlaps = long_page.evaluate(
        """() => [...document.querySelectorAll("figure svg")].flatMap(svg => {
            const boxes = [...svg.querySelectorAll("text")]
                .map(e => [e.textContent, e.getBoundingClientRect()]);
            return boxes.flatMap(([name, a], i) => boxes.slice(0, i)
                .filter(([_, b]) => a.left < b.right - 1 && b.left < a.right - 1
                                    && a.top < b.bottom - 3 && b.top < a.bottom - 3)
                .map(([other]) => `${name} | ${other}`));
        })"""
    )
    assert overlaps == []


def test_the_headline_compares_the_best_with_its_rivals(long_report, long_html):
    best, second, third, fourth = long_report.ranking()[:4]
    text = compare_rivals(long_report)
    assert text.startswith(f"{best} against the next best: {second} (")
    assert text in long_html
    assert all(f"{rival} (" in text for rival in (second, third, fourth))
    values = [long_report.per_query(ranker) for ranker in (best, second)]
    test = paired_test(*values, seed=long_report.seed)
    assert f"{second} ({test.difference:+.4f}, p = " in text


def test_one_ranker_has_no_rivals():
    data = make_synthetic(n_queries=12, n_docs=5, n_features=2, seed=0)
    assert compare_rivals(compare(data, {"bad": Fails()}, "NDCG@5", folds=3)) == ""
    assert compare_rivals(compare(data, "regression", "NDCG@5", folds=3, tune=False)) == ""
