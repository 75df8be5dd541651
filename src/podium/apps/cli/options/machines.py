"""Options of commands that ask a machine: the endpoint, caps, and how requests look."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from podium.apps.cli.options import file_option


@dataclass(frozen=True)
class MachineOptions:
    """Where a machine is asked, how, and how much it may take."""

    endpoint: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="The base address of an OpenAI-compatible interface, such as https://HOST/v1; or simulated, "
            "a model that only counts common words, to try a campaign out.",
        ),
    ]
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The model.")] = None
    key_variable: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The environment variable with the key. Keys come from nowhere else.",
        ),
    ] = "PODIUM_MACHINE_KEY"
    send_documents: Annotated[
        bool,
        typer.Option(
            "--send-documents",
            help="Consent that texts of queries and documents leave this machine.",
        ),
    ] = False
    prompt: Annotated[
        Path | None, file_option("A prompt template; podium's own by default.", "FILE")
    ] = None
    document_chars: Annotated[
        int, typer.Option(min=1, help="How much of a document the machine reads.")
    ] = 6_000
    answer_tokens: Annotated[int, typer.Option(min=1, help="The most tokens of an answer.")] = 200
    constrain: Annotated[
        Literal["schema", "json", "none"],
        typer.Option(help="How the endpoint is asked to keep to the form of an answer."),
    ] = "schema"
    set: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A field of every request, such as temperature=0.2; none leaves a field out.",
        ),
    ] = None
    max_calls: Annotated[
        int | None, typer.Option(min=0, help="The most calls, all runs together.")
    ] = None
    max_tokens: Annotated[
        int | None, typer.Option(min=0, help="The most tokens, all runs together.")
    ] = None
    max_cost: Annotated[
        float | None,
        typer.Option(
            min=0, help="The most money, all runs together; needs --price-in, --price-out."
        ),
    ] = None
    max_seconds: Annotated[
        float | None, typer.Option(min=0, help="The most seconds of this run.")
    ] = None
    price_in: Annotated[
        float | None, typer.Option(min=0, help="The price of a million tokens of prompts.")
    ] = None
    price_out: Annotated[
        float | None, typer.Option(min=0, help="The price of a million tokens of answers.")
    ] = None
    threads: Annotated[int, typer.Option(min=1, max=256, help="Calls at the same time.")] = 4
    per_minute: Annotated[
        float | None, typer.Option(min=0.01, help="The most calls per minute.")
    ] = None
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one call.")] = 60.0
    retries: Annotated[
        int, typer.Option(min=0, help="How often a call is repeated that failed on its way.")
    ] = 6
    asks: Annotated[
        int, typer.Option(min=1, help="How often a question is asked whose answer cannot be read.")
    ] = 3
    cache: Annotated[
        Path | None,
        typer.Option(dir_okay=False, metavar="FILE", help="The file with all calls and answers."),
    ] = None
