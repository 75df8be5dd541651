"""Requests as JSON lines, as ``podium rank`` answers them: the same answers without a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from podium.apps.http.refusals import Refusal
from podium.apps.serving.body_types import RankAnswer, RankRequest
from podium.apps.serving.decoding import BodyDecoder
from podium.apps.serving.error_answers import error_body, refusal_of
from podium.apps.serving.ranking import rank_answer
from podium.apps.serving.reloaded_files import ServedState
from podium.errors import PodiumError
from podium.task_runner import current_runner, in_bunches, map_items

LINES_PER_CALL = 256
"""The number of lines that a worker of a cluster answers at a time."""
_decode = BodyDecoder(RankRequest).decode
_encode = msgspec.json.Encoder().encode


def filter_lines(
    lines: Iterable[bytes], state: ServedState
) -> Iterator[tuple[bytes, Refusal | None]]:
    """Yield the answer to each line, and its refusal or None; empty lines stay empty.

    On a cluster, workers answer the lines, some hundred at a time.
    """
    if current_runner() is None:
        yield from _answer_lines(state, lines)
        return
    for answers in map_items(_answer_bunch, [state], in_bunches(lines, LINES_PER_CALL)):
        yield from answers


def _answer_bunch(state: ServedState, lines: Sequence[bytes]) -> list[tuple[bytes, Refusal | None]]:
    """Answer some lines, on a worker."""
    return list(_answer_lines(state, lines))


def _answer_lines(
    state: ServedState, lines: Iterable[bytes]
) -> Iterator[tuple[bytes, Refusal | None]]:
    for line in lines:
        if not line.strip():
            yield b"", None
            continue
        try:
            yield _encode(_answer(line, state)), None
        except Refusal as refusal:
            yield error_body(refusal), refusal


def _answer(line: bytes, state: ServedState) -> RankAnswer:
    request = _decode(line)
    try:
        return rank_answer(request, state.models.find(request.model), state.rules)
    except PodiumError as error:
        raise refusal_of(error) from error
