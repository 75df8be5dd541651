"""Requests as JSON lines, as ``podium rank`` answers them: the same answers without a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from podium.apps.http.refusals import Refusal
from podium.apps.serving.body_types import RankAnswer, RankRequest
from podium.apps.serving.decoding import BodyDecoder
from podium.apps.serving.error_answers import error_body, refusal_of
from podium.apps.serving.ranking import rank_answer
from podium.apps.serving.reloaded_files import ServedState
from podium.errors import PodiumError

_decode = BodyDecoder(RankRequest).decode
_encode = msgspec.json.Encoder().encode


def filter_lines(
    lines: Iterable[bytes], state: ServedState
) -> Iterator[tuple[bytes, Refusal | None]]:
    """Yield the answer to each line, and its refusal or None; empty lines stay empty."""
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
