"""Personal links: signed tokens that say who a member is, in which role, until when."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, get_args

from itsdangerous import BadData, URLSafeSerializer

from podium.errors import UsageError
from podium.labelling.store.members import Role

LINK_DAYS = 60.0
"""How long a link works by default."""

MIN_SECRET_BYTES = 16
"""The shortest secret."""

ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True)
class Credential:
    """The content of a link or a cookie.

    Parameters
    ----------
    member, role
        The member, and what the member may do.
    expires
        When it ends, in seconds since 1970.
    generation
        How often the member's links were renewed; see ``Store.renew_links``.
    """

    member: str
    role: Role
    expires: int
    generation: int = 0


def make_secret() -> str:
    """Return a new secret for signing."""
    return secrets.token_urlsafe(32)


class Links:
    """Signs and reads links, cookies and tokens against forged requests, all with one secret.

    Parameters
    ----------
    secret
        At least 16 bytes that nobody else knows. With another secret all links are void.

    Examples
    --------
    >>> links = Links("a secret that nobody knows")
    >>> token = links.token("ann", "assessor")
    >>> links.read(token).member
    'ann'
    >>> links.read(token.swapcase()) is None
    True
    """

    def __init__(self, secret: bytes | str) -> None:
        raw = secret.encode() if isinstance(secret, str) else bytes(secret)
        if len(raw) < MIN_SECRET_BYTES:
            raise UsageError(
                f"expected a secret of {MIN_SECRET_BYTES} bytes or more, got {len(raw)}"
            )
        self._secret = raw
        self._serializers = {
            use: URLSafeSerializer(
                raw,
                salt=f"podium.judging.{use}",
                signer_kwargs={"digest_method": hashlib.sha256, "key_derivation": "hmac"},
            )
            for use in ("link", "cookie")
        }

    def key(self, use: str) -> bytes:
        """Return the key for one use of the secret; each use has its own."""
        return hmac.digest(self._secret, f"podium.judging.{use}".encode(), "sha256")

    def token(
        self, member: str, role: Role, lifetime: timedelta | None = None, generation: int = 0
    ) -> str:
        """Return the token of a personal link; `generation` is the member's in the store."""
        lifetime = timedelta(days=LINK_DAYS) if lifetime is None else lifetime
        expires = int(time.time() + lifetime.total_seconds())
        return self._sign("link", Credential(member, role, expires, generation))

    def url(
        self,
        base_url: str,
        member: str,
        role: Role,
        lifetime: timedelta | None = None,
        generation: int = 0,
    ) -> str:
        """Return a personal link."""
        return f"{base_url.rstrip('/')}/enter/{self.token(member, role, lifetime, generation)}"

    def read(self, token: str) -> Credential | None:
        """Return the content of a link's token; None if it is forged, of another server, or too old."""
        return self._read("link", token)

    def cookie_value(self, holder: Credential) -> str:
        """Return the cookie that the browser keeps after signing in; it ends with the link."""
        return self._sign("cookie", holder)

    def read_cookie(self, value: str) -> Credential | None:
        """Return the content of a cookie; None in the same cases as for links."""
        return self._read("cookie", value)

    def csrf_token(self, holder: Credential) -> str:
        """Return the token that a page must send with every change, and that other sites cannot know.

        It is the same for every cookie of a member: a page that was open before the link was opened again
        can still send its events.
        """
        identity = f"{holder.role}:{holder.member}".encode()
        return hmac.new(self.key("csrf"), identity, "sha256").hexdigest()[:40]

    def is_csrf_token(self, holder: Credential, token: str) -> bool:
        """Return whether a token is the one that our pages send for this member."""
        return hmac.compare_digest(
            self.csrf_token(holder).encode(), token.encode("utf-8", "replace")
        )

    def form_token(self, visit: str, token: str) -> str:
        """Return the token of the sign-in form, for this link and this visit of the browser."""
        return hmac.new(self.key("form"), f"{visit}:{token}".encode(), "sha256").hexdigest()

    def is_form_token(self, visit: str, token: str, form_token: str) -> bool:
        """Return whether the sign-in page of this link sent a form, in the same browser."""
        expected = self.form_token(visit, token).encode()
        return bool(visit) and hmac.compare_digest(expected, form_token.encode("utf-8", "replace"))

    def _sign(self, use: str, holder: Credential) -> str:
        content = [holder.member, holder.role, holder.expires, holder.generation]
        signed = self._serializers[use].dumps(content)
        return signed.decode() if isinstance(signed, bytes) else signed

    def _read(self, use: str, text: str) -> Credential | None:
        try:
            content: Any = self._serializers[use].loads(text)
            if len(content) == 3:  # older links have no generation
                content = [*content, 0]
            member, role, expires, generation = content
        except (BadData, ValueError, TypeError):
            return None
        if role not in ROLES or not isinstance(expires, int) or expires <= time.time():
            return None
        return Credential(str(member), role, expires, generation)
