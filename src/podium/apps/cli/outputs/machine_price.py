"""The price of a machine's work, as a table or as JSON."""

from __future__ import annotations

from typing import Any

from podium.apps.cli.outputs.printing import print_json, print_notes, print_table
from podium.labelling.machines.campaign_price import CampaignPrice


def print_price(price: CampaignPrice, json: bool, source: dict[str, str], unit: str) -> None:
    """Print what is left to do; `source` names what the machine judges, `unit` what is counted."""
    facts: dict[str, Any] = {
        unit: price.tasks,
        "calls": price.spending.calls,
        "tokens of prompts": price.spending.tokens_in,
        "tokens of answers": price.spending.tokens_out,
        "cost": price.cost,
    }
    if json:
        print_json({**source, **{n.replace(" ", "_"): v for n, v in facts.items()}})
        return
    rows = [
        [what, f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"]
        for what, value in facts.items()
        if value is not None
    ]
    title = f"{next(iter(source.values()))}: about this much is left to do"
    print_table(title, ["what", "estimate"], rows)
    print_notes(["nothing was sent; the answers are counted at their longest"])
