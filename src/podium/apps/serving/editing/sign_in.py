"""Who edits: the editor of a request, and the checks that another site's page did not send it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from podium.apps.http.access_gate import client_of
from podium.apps.http.connections import PEER
from podium.apps.http.hosts import host_name
from podium.apps.http.refusals import Refusal
from podium.apps.serving.editing.editors_file import Editor, Editors
from podium.apps.serving.service_token import TokenCheck

EDITING_HEADER = b"x-podium-editing"
"""A header that only the page itself can send: a form cannot, and another site's script may not."""
Headers = Mapping[bytes, bytes]


def find_editor(editors: Editors, scope: Mapping[str, Any], headers: Headers) -> Editor | None:
    """Return the editor of a request, by token or by the user name of the proxy; None if there is none."""
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer" and token.strip():
        return editors.with_token(token.strip())
    if not editors.header:
        return None
    users = [value for name, value in scope["headers"] if name == editors.header]
    if len(users) != 1:  # with two of them, the proxy may have added only one
        return None
    return editors.with_user(users[0].decode("latin-1")[:300], peer_of(scope))


def peer_of(scope: Mapping[str, Any]) -> str:
    """Return the address that a connection comes from, whatever its headers say."""
    if PEER in scope:
        return str(scope[PEER])
    client = scope.get("client")
    return str(client[0]) if client else ""


def check_editing(
    editor: Editor | None, scope: Mapping[str, Any], headers: Headers, token_check: TokenCheck
) -> None:
    """Raise 401 without an editor, and 403 if another site may have sent the request."""
    if editor is None:
        token_check.refuse(headers, client_of(scope), "expected the token of an editor")
    check_same_site(headers)
    if EDITING_HEADER not in headers and b"authorization" not in headers:
        message = "expected the header X-Podium-Editing: 1 with the name of a proxy's user"
        raise Refusal(403, "no_editing_header", message)


def check_same_site(headers: Headers) -> None:
    """Raise 403 if a browser says that the page of another site sent the request.

    Examples
    --------
    >>> check_same_site({b"origin": b"https://shop.example.org", b"host": b"shop.example.org"})
    """
    site = headers.get(b"sec-fetch-site", b"").decode("latin-1")
    origin = headers.get(b"origin", b"").decode("latin-1")
    if site in ("same-origin", "none"):
        return
    host = headers.get(b"host", b"").decode("latin-1")
    if not site and (not origin or _is_host(origin, host)):
        return
    message = "expected a request of this service's own page, got one of another site"
    raise Refusal(403, "cross_site", message)


def _is_host(origin: str, host: str) -> bool:
    """Return whether an origin has the host of the request; programs send no origin."""
    try:
        place = urlsplit(origin).netloc
    except ValueError:
        return False
    own = host_name(host)
    return own is not None and host_name(place) == own and _port(place) == _port(host)


def _port(place: str) -> str:
    port = place.rpartition(":")[2]
    return port if port.isdigit() and port not in ("80", "443") else ""
