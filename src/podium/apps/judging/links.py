"""Signed links: who somebody is, in which role, until when; nobody needs a password."""

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
from podium.labelling.store.contents import Role

LINK_DAYS = 60.0
"""How long a link works unless something else is said."""

MIN_SECRET = 16
"""Bytes of a secret at least."""

ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True)
class Pass:
    """What a link or a cookie says.

    Parameters
    ----------
    member, role
        Who somebody is.
    expires
        When it ends, in seconds since 1970.
    generation
        Which of the member's links it is; see ``Store.renew_links``.
    """

    member: str
    role: Role
    expires: int
    generation: int = 0


def make_secret() -> str:
    """A new secret for signing."""
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
        if len(raw) < MIN_SECRET:
            raise UsageError(f"expected a secret of {MIN_SECRET} bytes or more, got {len(raw)}")
        self._secret = raw
        self._signed = {
            what: URLSafeSerializer(
                raw,
                salt=f"podium.judging.{what}",
                signer_kwargs={"digest_method": hashlib.sha256, "key_derivation": "hmac"},
            )
            for what in ("link", "cookie")
        }

    def key(self, what: str) -> bytes:
        """A key of its own for each use of the secret."""
        return hmac.digest(self._secret, f"podium.judging.{what}".encode(), "sha256")

    def token(
        self, member: str, role: Role, lifetime: timedelta | None = None, generation: int = 0
    ) -> str:
        """What stands in a personal link; `generation` is the member's in the store."""
        lifetime = timedelta(days=LINK_DAYS) if lifetime is None else lifetime
        expires = int(time.time() + lifetime.total_seconds())
        return self._sign("link", Pass(member, role, expires, generation))

    def url(
        self,
        base_url: str,
        member: str,
        role: Role,
        lifetime: timedelta | None = None,
        generation: int = 0,
    ) -> str:
        """A personal link."""
        return f"{base_url.rstrip('/')}/enter/{self.token(member, role, lifetime, generation)}"

    def read(self, token: str) -> Pass | None:
        """What a link says; None if it is forged, of another server, or too old."""
        return self._read("link", token)

    def cookie(self, known: Pass) -> str:
        """What the browser keeps once a link was opened; it ends with the link."""
        return self._sign("cookie", known)

    def read_cookie(self, value: str) -> Pass | None:
        """What a cookie says; None as with links."""
        return self._read("cookie", value)

    def csrf(self, known: Pass) -> str:
        """What a page must send with every change, and other sites cannot know.

        The same for every cookie of a member: a page that was open before the link was opened again can
        still send what it kept.
        """
        who = f"{known.role}:{known.member}".encode()
        return hmac.new(self.key("csrf"), who, "sha256").hexdigest()[:40]

    def is_csrf(self, known: Pass, token: str) -> bool:
        """Whether a request comes from one of our pages."""
        return hmac.compare_digest(self.csrf(known).encode(), token.encode("utf-8", "replace"))

    def form_token(self, visit: str, token: str) -> str:
        """Return what the form of a link's page must send; it belongs to the link and a browser's visit."""
        return hmac.new(self.key("form"), f"{visit}:{token}".encode(), "sha256").hexdigest()

    def is_form_token(self, visit: str, token: str, form_token: str) -> bool:
        """Return whether a form was sent by the page of this link, in the same browser."""
        expected = self.form_token(visit, token).encode()
        return bool(visit) and hmac.compare_digest(expected, form_token.encode("utf-8", "replace"))

    def _sign(self, what: str, known: Pass) -> str:
        said = [known.member, known.role, known.expires, known.generation]
        signed = self._signed[what].dumps(said)
        return signed.decode() if isinstance(signed, bytes) else signed

    def _read(self, what: str, text: str) -> Pass | None:
        try:
            said: Any = self._signed[what].loads(text)
            member, role, expires, generation = said if len(said) == 4 else [*said, 0]  # once three
        except (BadData, ValueError, TypeError):
            return None
        if role not in ROLES or not isinstance(expires, int) or expires <= time.time():
            return None
        return Pass(str(member), role, expires, generation)
