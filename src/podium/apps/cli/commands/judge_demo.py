"""``podium judge demo``: judge a ready pool in the browser."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path

from podium.apps.cli.inputs.judging_plan import JudgingPlan
from podium.apps.cli.inputs.judgment_store import open_store
from podium.apps.cli.options.judge import DEFAULT_STORE
from podium.apps.cli.options.judge_demo import JudgeDemoOptions
from podium.apps.cli.servers.judging_server import (
    ASSESSOR,
    STORE_TIMEOUT_SECONDS,
    add_admin,
    serve_store,
)
from podium.apps.judging import JudgingSettings
from podium.apps.judging.demo import DEMO_GUIDELINES, DEMO_K, demo_assignments, demo_pool
from podium.labelling import make_tasks


def run_judge_demo(options: JudgeDemoOptions) -> None:
    """Serve the judging web app with a ready pool."""
    pool, assignments = demo_pool(), demo_assignments(ASSESSOR)
    tasks = tuple(make_tasks(assignments, pool, k=DEMO_K))
    plan = JudgingPlan(pool, (ASSESSOR,), tasks, (), DEMO_GUIDELINES)
    with tempfile.TemporaryDirectory(prefix="podium-judge-") as folder:
        name = options.store or str(Path(folder) / DEFAULT_STORE)
        with open_store(name, make=True, timeout=STORE_TIMEOUT_SECONDS) as store:
            plan.add_to(store)
            add_admin(store)
            serve_store(
                store, name, JudgingSettings(), options, lifetime=timedelta(days=1),
                opens_browser=options.open_,
            )  # fmt: skip
