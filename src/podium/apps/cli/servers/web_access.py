"""Who may send requests to the web servers, and how often: the settings that the options name."""

from __future__ import annotations

from podium.apps.cli.options.judge_serve import JudgeServeOptions
from podium.apps.cli.options.serve import ServeOptions
from podium.apps.http.settings import AccessSettings


def access_settings(options: JudgeServeOptions | ServeOptions) -> AccessSettings:
    """Return the access settings of a web server."""
    return AccessSettings(
        tuple(options.allowed_host or ()),
        tuple(options.trusted_proxy or ()),
        options.client_connections,
        options.client_requests,
        options.wrong_tries,
    )
