"""The post-ranking paper's experiments: ``python -m benchmarks.quality_rankopt [--data DIR] [--docs]``.

MQ2008 and OHSUMED, five folds, LambdaMART below, every choice on validation queries only. Writes
results/quality_rankopt.json, docs/figures/rankopt-*.svg and the page docs/results.md; with --docs
only figures and page, from the results kept.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

import podium
from benchmarks.quality import HERE, options_of, p_text, table, write_page
from benchmarks.quality_toprank import size, word
from podium.data import Fold, rotate
from podium.experiments.papers.figures import save_figure
from podium.experiments.papers.outcomes import Comparison, Score
from podium.experiments.papers.rankopt import CONTENDERS, Progress, reproduce
from podium.experiments.papers.rankopt_claims import (
    BASE,
    COMBINATIONS,
    FORMS,
    HEURISTICS,
    NAMES,
    REPORTED,
    SHARES,
    TUNED,
    WHENS,
    Claim,
    Example,
    Reproduction,
    shares,
    wrong_cases,
)
from podium.experiments.papers.rankopt_figures import (
    combination_figure,
    depths_figure,
    examples_figure,
    types_figure,
    weights_figure,
    wrong_figure,
)
from podium.experiments.papers.rankopt_lists import MEASURES, Ranked
from podium.experiments.papers.rankopt_rules import Case
from podium.postranking import NotTopK, TopK, postrank
from podium.rankers import LambdaMART

RESULTS = HERE / "results" / "quality_rankopt.json"
PICTURES = HERE.parent / "docs" / "figures"
SETS = ("MQ2008", "OHSUMED")
DIGITS = 6
TABLE_2 = {"MQ2008": 4.24, "OHSUMED": 134.53}
"""Milliseconds a query, on the paper's laptop."""


def measure(data: Path, jobs: int) -> dict[str, Any]:
    """Every figure, test and claim, and times."""
    sets = {
        name: [podium.read_letor(data / name / f"S{i}.txt.xz") for i in range(1, 6)]
        for name in SETS
    }
    # Folds side by side, each on one thread: more threads within a fold would only wait.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    started = time.perf_counter()
    found = reproduce(sets, n_jobs=jobs, callback=tell)
    seconds = round(time.perf_counter() - started)
    # In a process of their own, which has one thread.
    times = Parallel(n_jobs=2)(delayed(timed)(rotate(parts)) for parts in sets.values())
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "podium": podium.__version__,
        "seconds": seconds,
        "sets": {name: size(parts) for name, parts in sets.items()},
        **summary(found),
        "times": dict(zip(sets, times, strict=True)),
    }


def tell(step: Progress) -> None:
    print(f"{step.done}/{step.total} {step.data} fold {step.fold}", flush=True)


def timed(folds: Sequence[Fold]) -> dict[str, float]:
    """Milliseconds a list, top-5 and not-top-10: the method on all lists, and `postrank` on each."""
    case, weights = Case(5, 10), (10.0, 10.0)
    found: dict[str, list[float]] = {}
    for fold in folds:
        scores = LambdaMART(seed=0).fit(fold.train, valid=fold.valid).predict(fold.test)
        ranked = Ranked.of(fold.test, scores)
        for form in FORMS:
            problems = list(ranked.problems(case, CONTENDERS[form], weights).values())
            best = min(_seconds(CONTENDERS[form].method.solve, problems) for _ in range(5))
            found.setdefault(form, []).extend([1000 * best / len(problems)] * len(problems))
        top, rest = ranked.rows(case)
        for q, (_, rows) in enumerate(fold.test.queries()):
            if rest[q] >= 0:
                docs = list(range(rows.stop - rows.start))
                rules = [
                    TopK(int(top[q]), 5, weight=10),
                    NotTopK(int(rest[q]), 10, weight=10),
                ]
                own = ranked.lists.scores[rows]
                spent = min(_seconds(postrank, docs, rules, own) for _ in range(3))
                found.setdefault("postrank", []).append(1000 * spent)
    return {name: statistics.fmean(values) for name, values in found.items()}


def _seconds(call: Any, *arguments: Any) -> float:
    started = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - started


def summary(found: Reproduction) -> dict[str, Any]:
    """What the page and the figures are made of."""
    bars, tests = found.types("margin")
    return {
        "means": {case: kept_scores(own) for case, own in found.means().items()},
        "tests": {
            str(case): {
                form: {when: kept_tests(found.comparisons(str(case), form, when)) for when in WHENS}
                for form in TUNED
            }
            for case in COMBINATIONS
        },
        "types": {"means": kept_scores(bars), "tests": kept_tests(tests)},
        "chosen": {
            form: {
                str(case): {d: found.outcome(d, str(case), form).settings["chosen"] for d in SETS}
                for case in COMBINATIONS
            }
            for form in TUNED
        },
        "claims": [asdict(claim) for claim in found.claims()],
        "examples": [asdict(example) for example in found.examples],
    }


def kept_scores(scores: Sequence[Score]) -> list[list[Any]]:
    return [
        [s.data, s.ranker, s.measure, round(s.mean, DIGITS), round(s.error, DIGITS)] for s in scores
    ]


def kept_tests(tests: Sequence[Comparison]) -> list[list[Any]]:
    rounded = ("difference", "error", "p_value", "adjusted")
    return [
        list(asdict(replace(t, **{f: round(getattr(t, f), DIGITS) for f in rounded})).values())
        for t in tests
    ]


Result = Mapping[str, Any]


def means(result: Result) -> dict[str, list[Score]]:
    return {case: [Score(*row) for row in rows] for case, rows in result["means"].items()}


def tests(result: Result, case: Case, form: str, when: str) -> list[Comparison]:
    return [Comparison(*row) for row in result["tests"][str(case)][form][when]]


def draw(result: Result) -> None:
    """docs/figures/."""
    found = means(result)
    drawn = {
        f"{case.top}-{case.rest}": combination_figure(
            case, [*found[""], *found[str(case)]], tests(result, case, "margin", "always")
        ).plot()
        for case in REPORTED
    }
    kinds = result["types"]
    drawn["types"] = types_figure(
        [Score(*row) for row in kinds["means"]], [Comparison(*row) for row in kinds["tests"]]
    ).plot()
    drawn["depths"] = depths_figure(found).plot()
    drawn["wrong"] = wrong_figure(found).plot()
    drawn["weights"] = weights_figure(found).plot()
    examples = [Example.from_dict(e) for e in result["examples"]]
    drawn["examples"] = examples_figure(examples)
    PICTURES.mkdir(exist_ok=True)
    for name, figure in drawn.items():
        save_figure(figure, PICTURES / f"rankopt-{name}.svg")


def section() -> list[str]:
    """The section of docs/results.md, from the results kept."""
    result = json.loads(RESULTS.read_text())
    sets = " and ".join(
        f"{name} ({n['queries']} queries, {n['documents']:,} documents)"
        for name, n in result["sets"].items()
    )
    return [
        "## Post-ranking: the paper's experiments",
        "",
        "Made by `python -m benchmarks.quality_rankopt` with podium "
        f"{result['podium']} on {result['date']}, in {result['seconds'] / 60:.0f} minutes. Wu, Xu, "
        "Li, Jiang, *Ranking optimization with constraints* (CIKM 2014), on "
        f"{sets}, each in its own five folds; the paper has MQ2007, TD2003 and a set of its own "
        f"besides. It prints bars, no table.{result.get('note', '')}",
        "",
        "LambdaMART ranks (leaves and trees by NDCG@10 of the validation queries). Every query has a "
        "top-k rule (k = 1, 3, 5) and a not-top-k rule (k = 5, 10), a document each drawn from a "
        "perfect ranking whose ties are broken at random, five times over; a query's value is its "
        "mean over the five. A rule of k at or beyond the end of the list is skipped, for everybody. "
        "rho_t and rho_n are chosen for each fold and combination on the post-ranked validation "
        "queries, by the mean of NDCG@1, @3 and @5, from 0.1, 0.3, 1, 3, 10, 30, 100 (for the two "
        "printed forms, which want more, from 1, 10, 100, 1000, 3000), of equal ones the larger; test "
        "queries are looked at once. NDCG is the bare one (see [conventions](conventions.md)).",
        "",
        "The paper's method in four forms: *Algorithm 1*, its gradient descent from a random start "
        "with its own pairs, stopped after 10 steps (its weights are chosen on one of the five draws, "
        "for it takes hundreds of times as long); *printed pairs*, the same problem with a prior so "
        "weak that the optimum exists and little else changes; *uniform*, Podium's default, whose "
        "pairs count ranks without the document and whose prior grows with the list; and *margin*, "
        "the same with base pairs weighted by LambdaMART's margins. The baselines move documents "
        "always, as printed, or only where their rule is violated.",
        "",
        *against(result),
        *claims(result),
        *values(result),
        *pictures(result),
        *weights(result),
        *speed(result),
    ]  # fmt: skip


def against(result: Result) -> list[str]:
    """The forms against the best of the four baselines."""
    found = {
        (case, s.data, s.ranker, s.measure): s.mean
        for case, own in means(result).items()
        for s in own
    }
    rows = []
    for data in result["sets"]:
        for case in map(str, COMBINATIONS):
            cells = []
            for form in TUNED:
                gaps = [
                    found[case, data, form, m] - max(found[case, data, o, m] for o in HEURISTICS)
                    for m in MEASURES
                ]
                cells.append(" ".join(f"{gap:+.4f}" for gap in gaps))
            rows.append([f"{data}, {case}", *cells])
    worst = {data: least(result, data, "margin") for data in result["sets"]}
    told = " and ".join(f"{gap:+.4f} on {data}" for data, gap in worst.items())
    return [
        "### Against the best baseline",
        "",
        "NDCG@1, @3 and @5 less that of the best of the four baselines as printed at that measure "
        "(the best one is seen on the test queries, which favours the baselines). The least for "
        f"margin: {told}.",
        "",
        *table(["", *(NAMES[form] for form in TUNED)], rows),
        "",
    ]


def least(result: Result, data: str, form: str) -> float:
    return min(
        c.difference
        for case in COMBINATIONS
        for c in tests(result, case, form, "always")
        if c.data == data and c.other != BASE
    )


def claims(result: Result) -> list[str]:
    """Which of the paper's claims hold, form by form."""
    found = [Claim(**claim) for claim in result["claims"]]
    rows = []
    for figure, text, when in dict.fromkeys((c.figure, c.text, c.when) for c in found):
        own = [c for c in found if (c.figure, c.text, c.when) == (figure, text, when)]
        for form in dict.fromkeys(c.form for c in own):
            told = {c.data: f"{word(c.holds)}: {c.found}" for c in own if c.form == form}
            baselines = {"always": "as printed", "violated": "if violated", "": ""}[when]
            rows.append([f"{number(figure)}: *{text}*", NAMES.get(form, ""), baselines,
                         *(told.get(data, "") for data in result["sets"])])  # fmt: skip
    return [
        "### Which of the paper's claims hold",
        "",
        *verdicts(found),
        "",
        "The same in numbers. Counts are of three combinations (top-3 with not-top-5 and with "
        "not-top-10, top-5 with not-top-10), NDCG@1, @3 and @5 and each other method: those at which "
        "the form is ahead; in brackets, at how many significantly, and at how many it is "
        "significantly behind. Significant: p < 0.05 in a paired t-test over queries, two-sided, by "
        "Holm's correction for the tests of a form in a combination, both data sets together. *As "
        "good* allows 0.001, *similar* and *not sensitive* 0.01: the paper says no numbers.",
        "",
        *table(["claim", "form", "baselines", *result["sets"]], rows),
        "",
    ]


def number(figure: str) -> str:
    return f"Figure{'s' if '-' in figure else ''} {figure}"


def verdicts(found: Sequence[Claim]) -> list[str]:
    """A line for each claim, against the baselines as printed: of which forms it is true."""
    lines = []
    for figure, text in dict.fromkeys((c.figure, c.text) for c in found):
        own = [c for c in found if (c.figure, c.text) == (figure, text) and c.when != "violated"]
        told = []
        for holds in (True, False):
            forms: dict[str, list[str]] = {}
            for claim in own:
                if claim.holds == holds:
                    forms.setdefault(NAMES.get(claim.form, ""), []).append(claim.data)
            if forms:
                where = (f"{form} on {' and '.join(data)}".strip() for form, data in forms.items())
                told.append(f"{word(holds)}: {', '.join(where)}")
        lines.append(f"- {number(figure)}: *{text}*. {'; '.join(told)}.")
    return lines


def values(result: Result) -> list[str]:
    """A table of means for each data set."""
    found = means(result)
    lines = ["### Means", "", "NDCG@1, @3, @5 over all test queries.", ""]
    for data in result["sets"]:
        rows = []
        for method, name in NAMES.items():
            cells = []
            for case in map(str, COMBINATIONS):
                own = found["" if method == BASE else case]
                cells.append(
                    " ".join(
                        f"{s.mean:.4f}"[1:] if s.mean < 1 else f"{s.mean:.3f}"
                        for s in own
                        if (s.data, s.ranker) == (data, method)
                    )
                )
            rows.append([name, *cells])
        lines += [*table([data, *map(str, COMBINATIONS)], rows), ""]
    lines += [
        "Differences of margin and p by Holm's correction, at NDCG@1, @3, @5 (significant ones bold):",
        "",
    ]
    rows = []
    for data in result["sets"]:
        for case in REPORTED:
            for when, others in WHENS.items():
                own = [c for c in tests(result, case, "margin", when) if c.data == data]
                for other in (BASE, *others) if when == "always" else others:
                    row = [c for c in own if c.other == other]
                    cells = [f"{c.difference:+.4f} ({p_text(c.adjusted)})" for c in row]
                    marked = zip(cells, row, strict=True)
                    rows.append([f"{data}, {case}: {NAMES[other]}",
                                 *(f"**{x}**" if c.significant else x for x, c in marked)])  # fmt: skip
    return [*lines, *table(["RankOpt (margin) less", *MEASURES], rows), ""]


def pictures(result: Result) -> list[str]:
    """The figures."""
    lines = ["### Figures", ""]
    told = {
        **{
            f"{case.top}-{case.rest}": f"Figures 3 and 5, {case}. Bars: means. Below: margin less the "
            "other, two standard errors either side; filled where significant."
            for case in REPORTED
        },
        "examples": "Figure 8: two lists before and after, the first test list in which margin is "
        "ahead of Moderate, Conservative and Proportional at NDCG@5 and the document to promote is "
        "relevant, and the first in which it is not relevant and margin is ahead of Radical and "
        "Moderate (lists of 8 to 16 documents). They show how the method works, not how often.",
        "depths": "Figure 9: either rule by itself, along k.",
        "types": "Figure 10: types of rules.",
        "weights": "Figure 11: one weight along the grid, the other as chosen.",
        "wrong": f"Wrong rules: a share of them ({shares()}) names a document that is not relevant to "
        "be promoted, or one that is relevant to be demoted; weights are chosen on validation "
        "queries with as many wrong rules.",
    }
    for name, text in told.items():
        lines += [f"![{re.split('[.:]', text)[0]}](figures/rankopt-{name}.svg)", "", text, ""]
    found = {
        (case, s.data, s.ranker): s.mean
        for case, own in means(result).items()
        for s in own
        if s.measure == "NDCG@1"
    }
    rows = []
    for data in result["sets"]:
        for method in (BASE, *HEURISTICS, *(f"{h}-violated" for h in HEURISTICS), *FORMS):
            cases = [""] * len(SHARES) if method == BASE else wrong_cases()
            rows.append([f"{data}, {NAMES[method]}",
                         *(f"{found[case, data, method]:.4f}" for case in cases)])  # fmt: skip
    heads = ["NDCG@1, share of wrong rules", *(f"{share:.0%}" for share in SHARES)]
    return [*lines, *table(heads, rows), ""]


def weights(result: Result) -> list[str]:
    """What validation chose."""
    rows = [
        [f"{data}, {case}", *("; ".join(result["chosen"][form][str(case)][data]) for form in TUNED)]
        for data in result["sets"]
        for case in COMBINATIONS
    ]
    return [
        "### Weights chosen",
        "",
        "For the five folds, rho_t and rho_n. (A weight of Algorithm 1 and of printed pairs is that "
        "of every pair, as in the paper; one of the others is spread over the pairs of its rule.)",
        "",
        *table(["", *(NAMES[form] for form in TUNED)],
               [[r[0], *(c.replace("rho_t=", "").replace(", rho_n=", "/") for c in r[1:])]
                for r in rows]),
        "",
    ]  # fmt: skip


def speed(result: Result) -> list[str]:
    """Beside Table 2 of the paper."""
    rows = [
        [
            data,
            f"{TABLE_2[data]:g}",
            *(f"{own[name]:.4f} ({TABLE_2[data] / own[name]:,.0f}x)"
              for name in ("uniform", "margin", "postrank")),
        ]
        for data, own in result["times"].items()
    ]  # fmt: skip
    return [
        "### Time",
        "",
        "Milliseconds a query with a top-5 and a not-top-10 rule, mean over the test queries that are "
        "long enough for one (of `postrank` for both), one thread, beside the paper's Table 2 (a "
        "laptop of 2014): the method on the lists of a fold at once, and the whole call `postrank` on "
        "one list at a time, reasons included.",
        "",
        *table(["", "Table 2", "uniform", "margin", "`postrank`"], rows),
        "",
    ]


def main() -> None:
    """Measure, draw and write the page."""
    options = options_of("quality_rankopt", __doc__)
    if not options.docs:
        found = measure(options.data, options.jobs)
        RESULTS.write_text(lines_of(found))
    draw(json.loads(RESULTS.read_text()))
    write_page()


def lines_of(found: Mapping[str, Any]) -> str:
    """JSON with a line for each list of plain values: short, and a change shows where it is."""

    def text(value: Any, indent: int) -> str:
        inner = "\n" + " " * (indent + 1)
        if isinstance(value, Mapping):
            items = [f"{json.dumps(k)}: {text(v, indent + 1)}" for k, v in value.items()]
            return (
                "{" + inner + f",{inner}".join(items) + "\n" + " " * indent + "}" if items else "{}"
            )
        if isinstance(value, list | tuple) and any(isinstance(v, list | Mapping) for v in value):
            items = [text(v, indent + 1) for v in value]
            return "[" + inner + f",{inner}".join(items) + "\n" + " " * indent + "]"
        return json.dumps(value)

    return text(found, 0) + "\n"


if __name__ == "__main__":
    main()
