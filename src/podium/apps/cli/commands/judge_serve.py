"""``podium judge serve``: the judging web app."""

from __future__ import annotations

from datetime import timedelta

from podium.apps.cli.inputs.judging_plan import plan_judging
from podium.apps.cli.inputs.judgment_store import choose_store, open_store
from podium.apps.cli.options.judge_serve import JudgeServeOptions
from podium.apps.cli.servers.judging_server import (
    ASSESSOR,
    STORE_TIMEOUT_SECONDS,
    add_admin,
    serve_store,
)
from podium.apps.cli.servers.web_access import access_settings
from podium.apps.judging import JudgingSettings


def run_judge_serve(options: JudgeServeOptions) -> None:
    """Serve the judging web app, and print a personal link for everybody."""
    name = choose_store(options.store, options.store_)
    settings = JudgingSettings(
        base_url=options.base_url, images=options.images, repeats=options.repeats,
        access=access_settings(options), link_days=options.days,
    )  # fmt: skip
    plan = plan_judging(name, options, default_assessor=ASSESSOR)
    with open_store(name, make=plan.pool is not None, timeout=STORE_TIMEOUT_SECONDS) as store:
        plan.add_to(store)
        add_admin(store)
        notes = [*plan.notes]
        if not store.session_states():
            notes.append("the store has no tasks yet: name --pool and --assessors to make them")
        serve_store(
            store, name, settings, options, secret_file=options.secret,
            lifetime=timedelta(days=options.days), notes=notes,
        )  # fmt: skip
