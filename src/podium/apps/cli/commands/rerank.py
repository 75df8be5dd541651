"""``podium rerank``: order the head of each list of a run by a machine's comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from podium.apps.cli.inputs.machine_client import (
    check_consent,
    open_client,
    open_endpoint,
    read_prices,
    read_templates,
)
from podium.apps.cli.options.rerank import RerankOptions
from podium.apps.cli.outputs.machine_price import print_price
from podium.apps.cli.outputs.printing import print_json, print_notes
from podium.apps.cli.outputs.progress import counting_bar
from podium.apps.cli.outputs.ranking_data_files import check_not_replaced
from podium.apps.cli.outputs.spooled_output import spooled_stdout
from podium.counted_nouns import count_text
from podium.data.atomic_files import atomic_writer, check_target
from podium.data.trec import Run, read_run, run_lines
from podium.labelling import read_trec_pool
from podium.labelling.machines.campaign_price import price_lists
from podium.labelling.machines.machine_client import MachineClient
from podium.labelling.machines.question_prompts import QuestionPrompts
from podium.labelling.machines.reranking import MachineReranker, RerankedList, RerankSettings

CAMPAIGN = "rerank"
"""The name of the calls in the cache."""


def run_rerank(options: RerankOptions) -> None:
    """Order the head of each list, or price it."""
    settings = RerankSettings(
        options.top, options.depth, options.questions, options.ask, options.set_size,
        options.both_orders, options.batch, options.threads, options.strategy, not options.no_prior,
        options.confidence,
    )  # fmt: skip
    if not options.dry_run:
        check_consent(options)
    if options.out is not None:
        texts = (path for path in (options.queries, options.documents) if path is not None)
        check_target(options.out, options.run, *texts)
        check_not_replaced([options.out], options.force)
    prompts = QuestionPrompts(
        read_templates(options, settings.judging.kind), None, options.document_chars
    )
    prices = read_prices(options)
    run = read_run(options.run)
    pool = read_trec_pool(options.run, options.documents, options.queries, depth=options.depth)
    if options.dry_run:
        price = price_lists(pool, prompts, settings, options.answer_tokens, prices)
        print_price(price, options.json, {"run": str(options.run)}, "lists")
        return
    cache = options.cache or Path(f"{options.run}.answers")
    with (
        open_endpoint(options) as endpoint,
        open_client(options, endpoint, cache, CAMPAIGN) as client,
        counting_bar("re-ranking") as progress,
    ):
        reranker = MachineReranker(client, prompts, settings)
        lists = list(reranker.rerank_all(pool, progress))
        _write(reranked_run(run, lists), options)
        _report(lists, client, options)


def reranked_run(run: Run, lists: Sequence[RerankedList]) -> Run:
    """Return a run whose lists begin with these documents; scores are places from the end."""
    values = run.values.copy()
    first = {ranked.query: ranked.order for ranked in lists}
    for qid, rows in zip(run.qids.tolist(), run.groups.slices(), strict=True):
        names = [run.docids[row] for row in range(rows.start, rows.stop)]
        place = {name: i for i, name in enumerate(first[qid])}
        old = values[rows]
        order = sorted(range(len(names)), key=lambda i: (place.get(names[i], len(names)), -old[i]))
        for at, i in enumerate(order):
            values[rows.start + i] = len(names) - at
    return Run(run.qids, run.groups, run.docids, values)


def _write(run: Run, options: RerankOptions) -> None:
    target = spooled_stdout(is_shown=not options.json)
    if options.out is not None:
        target = atomic_writer(options.out)
    with target as write:
        for line in run_lines(run):
            write(line.encode("utf-8", "surrogateescape"))


def _report(lists: Sequence[RerankedList], client: MachineClient, options: RerankOptions) -> None:
    stopped = [ranked for ranked in lists if ranked.stopped]
    spent, prices = client.cache.spending(client.campaign), read_prices(options)
    facts: dict[str, Any] = {
        "lists": len(lists), "certain": len(lists) - len(stopped),
        "questions": sum(ranked.questions for ranked in lists), "calls": spent.calls,
        "tokens_in": spent.tokens_in, "tokens_out": spent.tokens_out,
        "cost": None if prices is None else prices.cost(spent),
    }  # fmt: skip
    if options.json:
        rows = [
            {"query": r.query, "order": r.order, "questions": r.questions,
             "expected_recall": r.certainty, "stopped": r.stopped}
            for r in lists
        ]  # fmt: skip
        print_json({"run": str(options.run), **facts, "rankings": rows})
        return
    notes = [
        f"{count_text(facts['questions'], 'question')} about {count_text(len(lists), 'list')}; "
        f"{count_text(spent.calls, 'call')} in all runs of this cache"
    ]
    for reason in dict.fromkeys(ranked.stopped for ranked in stopped):
        n = sum(ranked.stopped == reason for ranked in stopped)
        notes.append(f"{count_text(n, 'list')} ended with a probable order: {reason}")
    print_notes(notes)
