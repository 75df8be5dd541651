"""Options of both web servers: who may ask, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from podium.apps.http.settings import AccessSettings

AllowedHost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A host name by which the server may be asked, beside localhost; may be given several times; "
        "* allows all.",
    ),
]
TrustedProxy = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ADDRESS",
        help="A proxy, or a network of them, whose X-Forwarded-For is believed; may be given several times.",
    ),
]
ClientConnections = Annotated[
    int,
    typer.Option(
        min=0,
        help="Connections of one client at the same time, at most half of all; 0: half of all.",
    ),
]
ClientRequests = Annotated[
    float,
    typer.Option(
        min=0, help="Requests of one client per second, ten times as many at once; 0: no limit."
    ),
]
WrongTries = Annotated[
    int, typer.Option(min=0, help="Wrong tokens or links of one client per minute; 0: no limit.")
]


def access_settings(
    allowed_hosts: list[str] | None,
    trusted_proxies: list[str] | None,
    client_connections: int,
    client_requests: float,
    wrong_tries: int,
) -> AccessSettings:
    """Return the settings that these options ask for."""
    from podium.apps.http.settings import AccessSettings

    return AccessSettings(
        tuple(allowed_hosts or ()),
        tuple(trusted_proxies or ()),
        client_connections,
        client_requests,
        wrong_tries,
    )
