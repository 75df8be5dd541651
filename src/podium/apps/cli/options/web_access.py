"""Options of both web servers: who may send requests, and how often."""

from typing import Annotated

import typer

AllowedHost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A host name that requests may use, beside localhost; may be given several times;"
        " * allows all.",
    ),
]
TrustedProxy = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ADDRESS",
        help="A proxy, or a network of proxies, whose X-Forwarded-For is trusted; may be given"
        " several times.",
    ),
]
ClientConnections = Annotated[
    int,
    typer.Option(
        min=0,
        help="How many connections one client may have at a time, at most half of all; 0 means"
        " half of all.",
    ),
]
ClientRequests = Annotated[
    float,
    typer.Option(
        min=0,
        help="Requests per second of one client, and ten times as many at once; 0 means no limit.",
    ),
]
WrongTries = Annotated[
    int,
    typer.Option(min=0, help="Wrong tokens or links per minute of one client; 0 means no limit."),
]
