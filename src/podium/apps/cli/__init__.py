"""The command line: ``podium COMMAND``. Commands import what they need when they run."""

from __future__ import annotations

from typing import Annotated

import typer

from podium.apps.cli import (
    aggregate,
    aggregators,
    compare,
    data,
    demo,
    evaluate,
    exchange,
    explain,
    features,
    feedback,
    judge,
    metrics,
    postrank,
    predict,
    rank,
    rankers,
    reproduce,
    rules,
    serve,
    train,
    tune,
    update,
)
from podium.apps.cli.console import reports_errors

app = typer.Typer(
    name="podium",
    help="Top-k learning to rank: who gets on the podium, and in which order.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@reports_errors
def _print_version(wanted: bool) -> None:
    if wanted:
        import platform

        import podium
        from podium import kernels

        typer.echo(
            f"podium {podium.__version__} ({kernels.BACKEND} kernels, Python {platform.python_version()})"
        )
        raise typer.Exit


@app.callback()
def _podium(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Version and kernels."
        ),
    ] = False,
) -> None:
    pass


app.add_typer(data.app, name="data")
app.add_typer(features.app, name="features")
app.command("evaluate", epilog=evaluate.EXAMPLE)(evaluate.evaluate)
app.command("metrics", epilog=metrics.EXAMPLE)(metrics.metrics)
app.command("rankers", epilog=rankers.EXAMPLE)(rankers.rankers)
app.command("train", epilog=train.EXAMPLE)(train.train)
app.command("tune", epilog=tune.EXAMPLE)(tune.tune)
app.command("predict", epilog=predict.EXAMPLE)(predict.predict)
app.command("update", epilog=update.EXAMPLE)(update.update)
app.command("explain", epilog=explain.EXAMPLE)(explain.explain)
app.command("compare", epilog=compare.EXAMPLE)(compare.compare)
app.command("reproduce", epilog=reproduce.EXAMPLE)(reproduce.reproduce)
app.command("aggregators", epilog=aggregators.EXAMPLE)(aggregators.aggregators)
app.command("aggregate", epilog=aggregate.EXAMPLE)(aggregate.aggregate)
app.command("postrank", epilog=postrank.EXAMPLE)(postrank.postrank)
app.command("export", epilog=exchange.EXPORT_EXAMPLE)(exchange.export)
app.command("import", epilog=exchange.IMPORT_EXAMPLE)(exchange.import_)
app.add_typer(rules.app, name="rules")
app.add_typer(feedback.app, name="feedback")
app.add_typer(judge.app, name="judge")
app.command("serve", epilog=serve.EXAMPLE)(serve.serve)
app.command("rank", epilog=rank.EXAMPLE)(rank.rank)
app.command("demo", epilog=demo.EXAMPLE)(demo.demo)


def main() -> None:
    """Run the command line."""
    app()
