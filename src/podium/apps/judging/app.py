"""make_app: the judging web app from its parts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from podium.apps.http.access_gate import Gate
from podium.apps.http.head_requests import HeadRequests
from podium.apps.http.security_headers import SecurityHeaders
from podium.apps.judging.admin_actions import make_admin_actions
from podium.apps.judging.admin_pages import make_admin_pages
from podium.apps.judging.admin_routes import make_admin_routes
from podium.apps.judging.api_routes import make_api_routes
from podium.apps.judging.assessor_routes import make_assessor_routes
from podium.apps.judging.gate_middleware import GateMiddleware
from podium.apps.judging.images import ImageFolder
from podium.apps.judging.judging_service import JudgingService
from podium.apps.judging.links import Links
from podium.apps.judging.member_cache import MemberCache
from podium.apps.judging.openapi import make_openapi_routes
from podium.apps.judging.question_tokens import QuestionTokens
from podium.apps.judging.refusals import Refuser
from podium.apps.judging.rendering import HERE, Pages
from podium.apps.judging.settings import JudgingSettings
from podium.apps.judging.sign_in_checks import SignInChecks
from podium.apps.judging.sign_in_routes import make_sign_in_routes
from podium.labelling.store import Store


class _StaticFiles(StaticFiles):
    """Scripts and styles. Browsers check them each time, so that no page uses old ones after an update."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


def make_app(
    store: Store, *, secret: bytes | str, settings: JudgingSettings | None = None
) -> FastAPI:
    """Return the judging web app on a store.

    Parameters
    ----------
    store
        The store of queries, tasks, members and events; the app does not close it.
    secret
        Signs links, cookies and questions; with another secret all of them are void.
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
    checks = SignInChecks(links, MemberCache(store, settings.members_seconds), settings)
    tokens = QuestionTokens(links.key("question"))
    images = None if settings.images is None else ImageFolder(settings.images, links.key("image"))
    service = JudgingService(store, tokens, settings, images)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

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
    app.add_middleware(GateMiddleware, gate=gate, refuser=refuser)
    app.add_middleware(SecurityHeaders, is_https=settings.secure)
    app.include_router(make_api_routes(service, checks, settings))
    app.include_router(make_sign_in_routes(checks, pages, settings))
    app.include_router(make_assessor_routes(service, checks, pages, images))
    app.include_router(make_admin_routes(store, checks, pages, settings))
    app.include_router(make_admin_pages(service, checks, pages))
    app.include_router(make_admin_actions(store, checks, settings))
    app.include_router(make_openapi_routes())
    # The files of this app, and those that all apps share.
    static = _StaticFiles(directory=HERE / "static", packages=[("podium.apps", "static")])
    app.mount("/static", static, name="static")
    return app
