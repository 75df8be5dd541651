"""Who is a member: the store's answer, asked for every few seconds."""

from __future__ import annotations

import time

from starlette.concurrency import run_in_threadpool

from podium.apps.judging.links import Pass
from podium.labelling.store import Store, StoreMember


class Roster:
    """The members of a store, no older than some seconds; of admins, as they are now.

    Parameters
    ----------
    store
        Where members are.
    seconds
        For how long somebody who is out may go on judging.
    """

    def __init__(self, store: Store, seconds: float) -> None:
        self._store, self._seconds = store, seconds
        self._members: dict[str, StoreMember] = {}
        self._read = float("-inf")

    async def has(self, known: Pass, now: bool = False) -> bool:
        """Whether somebody is a member in this role, and the link of the generation that works.

        Who is not is looked for again: a member who was just added waits for nothing.
        """
        fresh = time.monotonic() - self._read < self._seconds
        if fresh and not now and known.role == "assessor" and self._knows(known):
            return True
        self._read = time.monotonic()  # one asks; the others go by what is known until it is back
        found = await run_in_threadpool(self._store.members)
        self._members = {member.id: member for member in found}
        return self._knows(known)

    def _knows(self, known: Pass) -> bool:
        member = self._members.get(known.member)
        return member is not None and (member.role, member.generation) == (
            known.role,
            known.generation,
        )
