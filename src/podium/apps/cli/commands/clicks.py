"""``podium clicks``: sessions, click models, propensities, counterfactual estimates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from podium.apps.cli.error_reports import warnings_in_one_line
from podium.apps.cli.inputs.input_files import reading_bar
from podium.apps.cli.options.clicks import (
    ClicksEvaluateOptions,
    ClicksFitOptions,
    ClicksPropensityOptions,
    ClicksReportOptions,
    ClicksSessionsOptions,
)
from podium.apps.cli.outputs.printing import print_json, print_notes, print_table
from podium.apps.cli.outputs.progress import spinner
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced
from podium.clicks import (
    CLICK_MODELS,
    ClickModel,
    ClickSessions,
    PolicyEstimate,
    PolicySettings,
    PropensityEstimate,
    SessionChecks,
    compare_policies,
    estimate_propensities,
    evaluate_policy,
    fit_click_model,
    load_click_model,
    read_sessions,
    save_click_model,
    save_sessions,
)
from podium.counted_nouns import count_text
from podium.data import read_data, read_scores
from podium.data.atomic_files import atomic_path, check_target
from podium.errors import UnknownNameError, UsageError
from podium.experiments.click_log_page import render_click_log
from podium.feedback import ACTIONS
from podium.typing import Floats


def run_clicks_sessions(options: ClicksSessionsOptions) -> None:
    """Print what is in logs, and save the sessions."""
    _check_out(options.out, options.logs, options.force)
    with reading_bar(options.logs) as progress:
        sessions = read_sessions(
            options.logs, actions={**ACTIONS, **_pairs(options.action, "--action NAME=KIND")},
            variant=options.variant, user_class=options.user_class,
            columns=_pairs(options.column, "--column ROLE=NAME"),
            checks=SessionChecks(options.max_position, options.max_user_sessions, options.visible),
            progress=progress,
        )  # fmt: skip
    sessions.require_sessions()
    if options.out is not None:
        save_sessions(sessions, options.out)
    if options.json:
        print_json({**_facts(sessions), "counts": sessions.counts.to_dict(),
                    "messages": sessions.counts.messages})  # fmt: skip
        return
    rows = [[name, f"{n:,}"] for name, n in _facts(sessions).items() if isinstance(n, int)]
    rows += [[f"set aside: {reason.replace('_', ' ')}", f"{n:,}"]
             for reason, n in sessions.counts.set_aside.items()]  # fmt: skip
    print_table(" ".join(map(str, options.logs)), ["what", "number"], rows)
    print_notes(sessions.counts.messages)


def run_clicks_fit(options: ClicksFitOptions) -> None:
    """Print the fit of click models on held-out sessions, and save the model."""
    names = list(dict.fromkeys(options.model or CLICK_MODELS))
    for name in names:
        if name not in CLICK_MODELS:
            raise UnknownNameError("click model", name, CLICK_MODELS)
    _check_out(options.out, options.logs, options.force)
    if options.out is not None and len(names) != 1:
        raise UsageError("expected one --model together with --out, got several; name one")
    sessions = _read(options.logs)
    train, test = sessions.split(1 - options.holdout, seed=options.seed)
    measured = []
    for name in names:
        with warnings_in_one_line(), spinner(f"fitting {name}"):
            model = fit_click_model(train, name)
        measured.append((name, float(model.log_likelihood(test).mean()), model.perplexity(test)))
    if options.out is not None:
        with warnings_in_one_line(), spinner(f"fitting {names[0]} to all sessions"):
            save_click_model(fit_click_model(sessions, names[0]), options.out)
    if options.json:
        facts = [
            {"model": name, "log_likelihood": value, "perplexity": perplexity.tolist()}
            for name, value, perplexity in measured
        ]
        print_json(facts)
        return
    _print_fits(
        measured, f"Fitted to {count_text(len(train), 'session')}, measured on {len(test):,}"
    )


def _print_fits(measured: Sequence[tuple[str, float, Floats]], title: str) -> None:
    """Print a row for each model, the best first, with the perplexity at the first ranks."""
    n_ranks = min(5, *(len(perplexity) for _, _, perplexity in measured))
    rows = []
    for name, value, perplexity in sorted(measured, key=lambda row: -row[1]):
        by_rank = [f"{p:.3f}" for p in perplexity[:n_ranks].tolist()]
        rows.append([name, f"{value:.4f}", f"{float(perplexity.mean()):.4f}", *by_rank])
    ranks = [f"rank {rank}" for rank in range(1, n_ranks + 1)]
    print_table(title, ["model", "log-likelihood", "perplexity", *ranks], rows)


def run_clicks_propensity(options: ClicksPropensityOptions) -> None:
    """Print propensities by rank, with intervals."""
    sessions = _read(options.logs)
    data = None if options.data is None else read_data([options.data])
    with spinner("estimating"):
        estimate = estimate_propensities(sessions, options.method, level=options.level, data=data)
    if options.json:
        print_json(estimate.to_dict())
        return
    clicks = estimate.identification.clicks
    rows = [
        [f"{rank + 1}", *(_number(column[rank]) for column in (estimate.values, estimate.low, estimate.high)),
         f"{clicks[rank]:,.0f}"]
        for rank in range(len(estimate.values))
    ]  # fmt: skip
    title = (
        f"{estimate.method}, {count_text(len(sessions), 'session')}, {options.level:.0%} intervals"
    )
    print_table(
        title, ["rank", "propensity", "low", "high", "clicks compared"], rows, text_columns=0
    )
    print_notes(estimate.messages)


def run_clicks_evaluate(options: ClicksEvaluateOptions) -> None:
    """Print the estimated value of rankings."""
    if len(options.scores) > 2:
        raise UsageError(f"expected one or two --scores, got {len(options.scores)}")
    sessions, data = _read(options.logs), read_data([options.data])
    policies = [read_scores(path) for path in options.scores]
    settings = PolicySettings(
        metric=options.metric, estimator=options.estimator, depth=options.depth, clip=options.clip,
        level=options.level, seed=options.seed,
    )  # fmt: skip
    examination = _examination(options.model, sessions)
    with spinner("evaluating"):
        estimates = {
            str(path): evaluate_policy(sessions, data, policy, examination, settings)
            for path, policy in zip(options.scores, policies, strict=True)
        }
        if len(policies) == 2:
            estimates["difference"] = compare_policies(
                sessions, data, policies[0], policies[1], examination, settings
            )
    if options.json:
        print_json({name: estimate.to_dict() for name, estimate in estimates.items()})
        return
    _print_estimates(estimates, options.metric, options.estimator, options.level)


def run_clicks_report(options: ClicksReportOptions) -> None:
    """Write the page of a log."""
    if bool(options.scores) != (options.data is not None):
        raise UsageError("expected --scores and --data together, got only one of them")
    _check_out(options.out, options.logs, options.force)
    sessions = _read(options.logs)
    estimates = {}
    if options.data is not None:
        data, examination = read_data([options.data]), estimate_propensities(sessions)
        settings = PolicySettings(seed=options.seed)
        for path in options.scores or ():
            estimates[str(path)] = evaluate_policy(
                sessions, data, read_scores(path), examination, settings
            )
    with warnings_in_one_line(), spinner("drawing"):
        page = render_click_log(sessions, options.title, estimates, seed=options.seed)
    with atomic_path(options.out) as temporary:
        temporary.write_text(page, encoding="utf-8")
    if options.json:
        values = {name: estimate.to_dict() for name, estimate in estimates.items()}
        print_json({**_facts(sessions), "page": str(options.out), "estimates": values})


def _print_estimates(
    estimates: dict[str, PolicyEstimate], metric: str, estimator: str, level: float
) -> None:
    rows = [
        [name, f"{e.value:.4f}", f"{e.interval.low:.4f}", f"{e.interval.high:.4f}",
         f"{e.effective_queries:,.0f}", f"{e.covered:.0%}"]
        for name, e in estimates.items()
    ]  # fmt: skip
    [first, *_] = estimates.values()
    what = "mean weight of a relevant document" if estimator == "snips" else f"{metric} per session"
    title = (
        f"{what} by {estimator}, {count_text(first.n_sessions, 'session')}, {level:.0%} intervals"
    )
    print_table(title, ["ranking", metric, "low", "high", "effective queries", "covered"], rows)
    print_notes(
        list(dict.fromkeys(m for e in estimates.values() for m in e.messages)), kind="warning"
    )


def _read(logs: Sequence[Path]) -> ClickSessions:
    """Read sessions; what is wrong with them is printed as notes."""
    with reading_bar(logs) as progress:
        sessions = read_sessions(logs, progress=progress)
    sessions.require_sessions()
    print_notes(sessions.counts.messages)
    return sessions


def _examination(model: Path | None, sessions: ClickSessions) -> ClickModel | PropensityEstimate:
    if model is not None:
        return load_click_model(model)
    estimate = estimate_propensities(sessions)
    print_notes(estimate.messages, kind="warning")
    return estimate


def _facts(sessions: ClickSessions) -> dict[str, Any]:
    return {
        "sessions": len(sessions), "queries": len(sessions.query.table),
        "documents": len(sessions.doc.table), "impressions": sessions.groups.n_rows,
        "clicks": int(sessions.clicked.sum()), "longest list": sessions.depth,
        "records": sessions.counts.records, "variants": list(sessions.variant.table),
        "user_classes": list(sessions.user_class.table),
    }  # fmt: skip


def _pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    pairs = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not (equals and name and value):
            raise UsageError(f"expected {option}, got {text!r}")
        pairs[name] = value
    return pairs


def _check_out(out: Path | None, logs: Sequence[Path], force: bool) -> None:
    if out is not None:
        check_target(out, *logs)
        check_not_replaced([out], force)


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.3f}"
