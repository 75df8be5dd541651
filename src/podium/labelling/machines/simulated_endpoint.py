"""SimulatedEndpoint: a server on loopback that judges like a model, with errors of every kind.

It shows and tests campaigns without a model. What it answers depends on its settings and on the request,
not on the order of requests.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self, get_args

from podium.errors import UnknownNameError, UsageError

Fault = Literal[
    "rate limited", "server error", "slow", "cut off", "no JSON", "not a completion", "wrong words",
    "wrong choice", "other model",
]  # fmt: skip
"""What a simulated endpoint can do wrong."""

SLOW_SECONDS = 1.0
"""How long a slow reply takes."""

_FRAME = re.compile(r"<document-(\w+) (\w+)>\n(.*?)\n</document-\1>", re.DOTALL)
_QUERY = re.compile(r"^Query: (.*)$", re.MULTILINE)
_VALUES = re.compile(r'\{"(\w+)": VALUE\}\. VALUE is one of (.*)\.$', re.MULTILINE)


def count_common_words(query: str, text: str) -> float:
    """Return the share of the query's words that a text has.

    Examples
    --------
    >>> count_common_words("chess clock", "A clock, for chess"), count_common_words("chess clock", "Clock")
    (1.0, 0.5)
    """
    words = set(re.findall(r"\w+", query.lower()))
    return len(words & set(re.findall(r"\w+", text.lower()))) / max(1, len(words))


@dataclass(frozen=True)
class SimulatedModel:
    """How a simulated endpoint judges.

    Parameters
    ----------
    quality
        The quality of a document's text for a query; more is better.
    noise
        The probability of a random answer in place of the right one.
    left_share
        The share of random answers about pairs that prefer the first document.
    tie
        The difference in quality up to which two documents are tied.
    levels
        Bounds of qualities between grades, ascending; as many as there are grades, less one. By default
        they divide 0 to 1 evenly.
    name
        The model.
    seed
        The seed of random answers and of faults.
    faults
        The probability of each fault in a request. A request that is sent again may have no fault.
    """

    quality: Callable[[str, str], float] = count_common_words
    noise: float = 0.0
    left_share: float = 0.5
    tie: float = 0.0
    levels: tuple[float, ...] | None = None
    name: str = "simulated"
    seed: int = 0
    faults: Mapping[Fault, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for fault in self.faults:
            if fault not in get_args(Fault):
                raise UnknownNameError("fault", str(fault), get_args(Fault))
        shares = [self.noise, self.left_share, sum(self.faults.values())]
        if not all(0 <= share <= 1 for share in shares):
            raise UsageError(f"expected probabilities from 0 to 1, got {shares}")

    def answer(self, text: str, key: str) -> str:
        """Return the answer to a prompt; `key` decides about noise."""
        asked_form = _VALUES.search(text)
        if asked_form is None:
            return "What?"
        name, values = asked_form[1], json.loads(f"[{asked_form[2]}]")
        query = _QUERY.search(text)
        qualities = [
            self.quality("" if query is None else query[1], frame[3])
            for frame in _FRAME.finditer(text)
        ]
        return json.dumps({name: self._choose(name, values, qualities, key)})

    def _choose(self, name: str, values: list[str], qualities: list[float], key: str) -> str:
        is_wrong = draw(self.seed, key, "noise") < self.noise
        guess = draw(self.seed, key, "guess")
        if name == "better":
            if is_wrong:
                return "A" if guess < self.left_share else "B"
            gap = qualities[0] - qualities[1]
            return "tie" if abs(gap) <= self.tie else "A" if gap > 0 else "B"
        if is_wrong:
            return values[int(guess * len(values))]
        if name == "best":
            return values[max(range(len(qualities)), key=qualities.__getitem__)]
        n = len(values)
        levels = self.levels or [(i + 1) / n for i in range(n - 1)]
        return values[sum(qualities[0] >= level for level in levels)]

    def fault(self, key: str, attempt: int) -> Fault | None:
        """Return what goes wrong with a request."""
        place = draw(self.seed, key, attempt)
        for fault, share in self.faults.items():
            if place < share:
                return fault
            place -= share
        return None


class SimulatedEndpoint:
    """A server on loopback with a simulated model.

    Parameters
    ----------
    model
        How it judges.
    key
        The key that requests need; None for no key.

    Examples
    --------
    >>> with SimulatedEndpoint() as endpoint:
    ...     print(endpoint.url.startswith("http://127.0.0.1:"), endpoint.requests)
    True 0
    """

    def __init__(self, model: SimulatedModel | None = None, *, key: str | None = None) -> None:
        self.model, self.key = model or SimulatedModel(), key
        self.attempts: Counter[str] = Counter()
        """How often each request was sent, by a hash of its body."""
        self.faults: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._server = _EndpointServer(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """The base address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def requests(self) -> int:
        """How many requests there were."""
        return self.attempts.total()

    def begin(self, body: bytes) -> tuple[str, Fault | None]:
        """Count a request; return its key, and what goes wrong with it."""
        key = sha256(body).hexdigest()
        with self._lock:
            self.attempts[key] += 1
            fault = self.model.fault(key, self.attempts[key])
            if fault is not None:
                self.faults[fault] += 1
        return key, fault

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:  # fmt: skip
        self.close()


def draw(*key: object) -> float:
    """Return a number from 0 to 1 that looks random, and is the same for the same key."""
    return int.from_bytes(sha256(json.dumps(key).encode()).digest()[:7], "big") / 2**56


class _EndpointServer(ThreadingHTTPServer):
    """A server on loopback whose handlers find their endpoint."""

    daemon_threads = True

    def __init__(self, endpoint: SimulatedEndpoint) -> None:
        self.endpoint = endpoint
        super().__init__(("127.0.0.1", 0), _SimulatedHandler)


class _SimulatedHandler(BaseHTTPRequestHandler):
    """Answers requests for completions."""

    def do_POST(self) -> None:
        assert isinstance(self.server, _EndpointServer)
        endpoint = self.server.endpoint
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        key, fault = endpoint.begin(body)
        if endpoint.key and self.headers.get("Authorization") != f"Bearer {endpoint.key}":
            self._send(401, {"error": {"message": "wrong key"}})
        elif fault == "rate limited":
            self._send(429, {"error": {"message": "slow down"}}, {"Retry-After": "0"})
        elif fault == "server error":
            self._send(500, {"error": {"message": "try again"}})
        else:
            self._complete(endpoint.model, body, key, fault)

    def _complete(self, model: SimulatedModel, body: bytes, key: str, fault: Fault | None) -> None:
        if fault == "slow":
            time.sleep(SLOW_SECONDS)
        request = json.loads(body)
        text = "\n".join(message["content"] for message in request["messages"])
        answer = model.answer(text, key)
        answer = {
            "wrong words": f"I think that {answer}", "wrong choice": '{"better": "C"}',
        }.get(fault or "", answer)  # fmt: skip
        reply = {
            "object": "chat.completion",
            "model": "another-model" if fault == "other model" else request["model"],
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}
            ],
            "usage": {
                "prompt_tokens": len(text) // 4, "completion_tokens": len(answer) // 4 + 1,
            },
        }  # fmt: skip
        self._send(200, {"choices": "?"} if fault == "not a completion" else reply, fault=fault)

    def _send(
        self, status: int, value: Any, headers: Mapping[str, str] | None = None,
        fault: Fault | None = None,
    ) -> None:  # fmt: skip
        content = b"<html>" if fault == "no JSON" else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if fault == "cut off" else content)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in http.server
        pass  # the library prints nothing
