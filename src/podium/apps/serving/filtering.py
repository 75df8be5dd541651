"""Requests as JSON lines: the same answers without a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from podium.apps.http.json_keys import JsonDecoder, RepeatedKeyError
from podium.apps.serving.bodies import RankRequest
from podium.apps.serving.errors import Refusal, not_decoded, refusal_of, repeated_key
from podium.apps.serving.limits import check_depth
from podium.apps.serving.ranking import rank_answer
from podium.apps.serving.shelf import State
from podium.errors import PodiumError

_decode = JsonDecoder(RankRequest).decode
_encode = msgspec.json.Encoder().encode


def filter_lines(lines: Iterable[bytes], state: State) -> Iterator[tuple[bytes, Refusal | None]]:
    """The answer to each line, and what was wrong with the line, if anything was; empty lines stay so."""
    for line in lines:
        if not line.strip():
            yield b"", None
            continue
        try:
            yield _encode(_answer(line, state)), None
        except Refusal as refusal:
            yield refusal.body(), refusal


def _answer(line: bytes, state: State) -> object:
    check_depth(line)
    try:
        request = _decode(line)
    except RepeatedKeyError as error:
        raise repeated_key(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise not_decoded(error, line, RankRequest) from None
    try:
        return rank_answer(request, state.models.find(request.model), state.book)
    except PodiumError as error:
        raise refusal_of(error) from error
