"""How uvicorn serves the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.apps.connections import (
    HEADER_SECONDS,
    KEEP_SECONDS,
    connection_limit,
    http_protocol,
    proxy_options,
)
from podium.apps.http.settings import AccessSettings
from podium.errors import require

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI


def uvicorn_config(
    app: FastAPI, header_seconds: float = HEADER_SECONDS, access: AccessSettings | None = None
) -> uvicorn.Config:
    """The settings under which uvicorn serves the app.

    There is no log of requests, for links are secrets. New connections are closed once there are as many
    as this process may have files, so that those who are there are served; one on which no whole header
    arrives in time is closed. `access` is that of the app's settings.
    """
    require("uvicorn", "web", "serving")
    import uvicorn

    access = AccessSettings() if access is None else access
    most = connection_limit()
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_SECONDS,
        limit_concurrency=most,
        http=http_protocol(header_seconds, access, most),
        **proxy_options(access),
        ws="none",
    )
