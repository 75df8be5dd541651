"""MemberCache: the members of a store, read again every few seconds."""

from __future__ import annotations

import time

from starlette.concurrency import run_in_threadpool

from podium.apps.judging.links import Credential
from podium.labelling.store import Store, StoreMember


class MemberCache:
    """The members of a store, at most some seconds old; admins are always read again.

    Parameters
    ----------
    store
        The store that has the members.
    seconds
        How long an assessor whose link was renewed may go on judging.
    """

    def __init__(self, store: Store, seconds: float) -> None:
        self._store, self._seconds = store, seconds
        self._members: dict[str, StoreMember] = {}
        self._read_at = float("-inf")

    async def is_member(self, credential: Credential, refresh: bool = False) -> bool:
        """Return whether a credential names an enabled member, in its role, with the current generation.

        If the cache says no, the store is read again: a member who was just added need not wait.
        """
        is_fresh = time.monotonic() - self._read_at < self._seconds
        if is_fresh and not refresh and credential.role == "assessor" and self._has(credential):
            return True
        # Set before reading: one request reads, the others use the old members meanwhile.
        self._read_at = time.monotonic()
        members = await run_in_threadpool(self._store.members)
        self._members = {member.id: member for member in members}
        return self._has(credential)

    def forget(self) -> None:
        """Read the members again at the next request: an admin changed them."""
        self._read_at = float("-inf")

    def _has(self, credential: Credential) -> bool:
        member = self._members.get(credential.member)
        if member is None or member.disabled:
            return False
        return (member.role, member.generation) == (credential.role, credential.generation)
