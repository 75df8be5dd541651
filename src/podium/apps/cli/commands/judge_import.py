"""``podium judge import``: put queries, documents, assessors and tasks into a store."""

from __future__ import annotations

from podium.apps.cli.inputs.judging_plan import plan_judging
from podium.apps.cli.inputs.judgment_store import choose_store, open_store, store_name
from podium.apps.cli.options.judge_import import JudgeImportOptions
from podium.apps.cli.outputs.printing import print_json, print_notes, print_table
from podium.apps.cli.outputs.progress import spinner
from podium.errors import UsageError


def run_judge_import(options: JudgeImportOptions) -> None:
    """Put queries, documents, assessors and tasks into a store."""
    store = choose_store(options.store, options.store_)
    has_queries = options.pool is not None or options.run is not None
    has_plan = has_queries or options.assessors or options.assign is not None
    if not has_plan and options.guidelines is None:
        raise UsageError("expected --pool or --run with queries to judge, got neither")
    with spinner("importing"):
        plan = plan_judging(store, options)
        with open_store(store, make=True) as opened:
            new = plan.add_to(opened)
    if options.json:
        print_json({"store": store_name(store), **new, "notes": list(plan.notes)})
        return
    print_table(store_name(store), ["new", "number"], [[kind, f"{n:,}"] for kind, n in new.items()])
    print_notes(plan.notes)
