"""The token of the service: requests bring it in the header Authorization."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import NoReturn

from podium.apps.http.rate_limits import retry_seconds, wrong_try_allowance
from podium.apps.http.refusals import Refusal


class TokenCheck:
    """Checks the token of requests.

    Parameters
    ----------
    token
        The right one; None lets everybody in.
    wrong_tries
        Wrong tokens per minute that one client may try; 0: no limit.
    """

    def __init__(self, token: str | None, wrong_tries: int) -> None:
        self._digest = None if token is None else _digest(token.encode())
        self._wrong_tokens = wrong_try_allowance(wrong_tries)

    def check(self, headers: dict[bytes, bytes], client: str) -> None:
        """Raise 401 without the right token, in a time that does not depend on the token.

        The right token is always accepted; after too many wrong ones the answer is 429. So nobody is
        locked out by others behind the same address. A token has 16 or more characters: no guess works.
        """
        if self._digest is None:
            return
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        is_right = hmac.compare_digest(_digest(token.strip()), self._digest)
        if is_right and scheme.lower() == b"bearer":
            return
        self.refuse(
            headers,
            client,
            "expected the service's token in the header Authorization: Bearer TOKEN",
        )

    def refuse(self, headers: Mapping[bytes, bytes], client: str, message: str) -> NoReturn:
        """Raise 401, or 429 after too many wrong tokens."""
        _, _, token = headers.get(b"authorization", b"").partition(b" ")
        # A browser first sends a request without a token, which does not count as a wrong try.
        if token and (wait := self._wrong_tokens.take(client)):
            raise _too_many_wrong_tokens(wait)
        raise Refusal(401, "bad_token", message, headers={"WWW-Authenticate": "Bearer"})


def _too_many_wrong_tokens(wait: float) -> Refusal:
    seconds = retry_seconds(wait)
    message = f"expected fewer wrong tokens from this address; try again after {seconds} s"
    return Refusal(429, "too_many_wrong_tokens", message, retry_seconds=seconds)


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
