"""The judging web app, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from podium.apps.http.gate import Gate
from podium.apps.http.head_requests import HeadRequests
from podium.apps.judging.admin import admin_routes
from podium.apps.judging.api import api_routes
from podium.apps.judging.desk import Desk
from podium.apps.judging.entry import entry_routes
from podium.apps.judging.gatekeeper import Gatekeeper
from podium.apps.judging.headers import SecurityHeaders
from podium.apps.judging.images import Images
from podium.apps.judging.links import Links
from podium.apps.judging.people import people_routes
from podium.apps.judging.questions import Questions
from podium.apps.judging.refusals import Refuser
from podium.apps.judging.rendering import HERE, Pages
from podium.apps.judging.roster import Roster
from podium.apps.judging.security import Guard
from podium.apps.judging.settings import JudgingSettings
from podium.labelling.store import Store


class _Static(StaticFiles):
    """Scripts and styles, asked for anew each time: after an update no page has an old one."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


def make_app(
    store: Store, *, secret: bytes | str, settings: JudgingSettings | None = None
) -> FastAPI:
    """The judging web app on a store.

    Parameters
    ----------
    store
        Where queries, tasks and members are, and events go; the app does not close it.
    secret
        Signs links, cookies and questions: keep it, or all of them are void.
    settings
        See JudgingSettings.

    Examples
    --------
    >>> import tempfile
    >>> store = Store.open(tempfile.mkdtemp() + "/judgments.db")
    >>> make_app(store, secret="a secret that nobody knows").title
    'Podium'
    >>> store.close()
    """
    settings = JudgingSettings() if settings is None else settings
    links = Links(secret)
    pages = Pages(settings.title)
    refuser = Refuser(pages)
    guard = Guard(links, Roster(store, settings.members_seconds), settings)
    questions = Questions(links.key("question"), settings.repeats, settings.repeat_gap)
    images = None if settings.images is None else Images(settings.images, links.key("image"))
    desk = Desk(store, questions, settings, images)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        desk.close()

    app = FastAPI(
        title=settings.title,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        exception_handlers=dict(refuser.handlers),
    )
    gate = Gate(settings.access, settings.own_hosts)
    app.add_middleware(HeadRequests)
    app.add_middleware(Gatekeeper, gate=gate, refuser=refuser)
    app.add_middleware(SecurityHeaders, secure=settings.secure)
    app.include_router(api_routes(desk, guard, settings))
    app.include_router(entry_routes(guard, pages, settings))
    app.include_router(people_routes(desk, guard, pages, images))
    app.include_router(admin_routes(store, guard, pages, settings))
    # The app's own, and what all pages share.
    static = _Static(directory=HERE / "static", packages=[("podium.apps", "static")])
    app.mount("/static", static, name="static")
    return app
