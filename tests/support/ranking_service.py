"""What the tests of the ranking service share: model files, a service in this process or in its own."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np

from podium.apps.serving.app import make_service
from podium.apps.serving.settings import ServingSettings
from podium.data import RankingData
from tests.support.small_rankers import cheap, small
from tools.forks import ForkedCommand

NAMES = ("bm25", "price", "clicks", "age")
TOKEN = "a token that nobody can guess"


def named(**options):
    """Small data whose features have names."""
    data = small(**options)
    return RankingData.from_arrays(
        data.X, data.y, qid=np.repeat(data.qids, data.groups.sizes), feature_names=NAMES
    )


def save(folder, name="ranksvm", file="shop.podium", data=None, **parameters):
    """A fitted ranker and its file."""
    ranker = cheap(name, **parameters).fit(named() if data is None else data)
    path = folder / file
    ranker.save(path)
    return ranker, str(path)


def service(*models, **settings):
    return make_service(ServingSettings(tuple(map(str, models)), **settings))


def ask(app, method, path, **options):
    """An answer of a service in this process."""

    async def asking():
        # What the service does not catch is an error here, not an answer.
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url="http://podium") as client:
            return await client.request(method, path, **options)

    return asyncio.run(asking())


def get(app, path, **options):
    return ask(app, "GET", path, **options)


def post(app, path, body, **options):
    """An answer to a body: a value, or bytes as they are."""
    if isinstance(body, bytes):
        headers = {"content-type": "application/json", **options.pop("headers", {})}
        return ask(app, "POST", path, content=body, headers=headers, **options)
    return ask(app, "POST", path, json=body, **options)


def error(response, status, code):
    """What an error says; it has a code, and nothing of where the code is."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    told = response.json()["error"]
    assert told["code"] == code, told
    assert "Traceback" not in response.text
    assert ".py" not in response.text
    return told


def rows(n=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, len(NAMES)))


@contextmanager
def running(*arguments, env=None, fork=True):
    """`podium serve` in a process of its own: the process and its address.

    It is a fork, which starts at once; a test of the start or the end of a process takes a new one.
    """
    words = ["serve", *map(str, arguments), "--port", "0"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **(env or {})}
    with tempfile.TemporaryDirectory() as folder:
        # What it logs goes to a file: a pipe that nobody reads would stop it when it is full.
        log = Path(folder) / "stderr"
        log.touch()
        start = ForkedCommand if fork else new_command
        process = start(words, environment, log)
        with ending(process), log.open() as process.stderr:
            line = process.stdout.readline()
            assert line.startswith("serving on http://"), line + process.stderr.read()
            yield process, line.split()[2]


def new_command(words, environment, log):
    """A command in a process that has imported nothing yet."""
    with log.open("w") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "podium", *words],
            stdout=subprocess.PIPE, stderr=file, text=True, env=environment,
        )  # fmt: skip


@contextmanager
def ending(process):
    """At the end it is asked to end, and made to."""
    try:
        yield
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        process.stdout.close()


def eventually(check, seconds=20):
    """Wait until something holds; what it gives."""
    end = time.monotonic() + seconds
    while True:
        found = check()
        if found or time.monotonic() > end:
            assert found
            return found
        time.sleep(0.05)


def replace(path, data):
    """Another file in the place of one, at once."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(data if isinstance(data, bytes) else data.encode())
    new.replace(path)


def lines(text):
    return [json.loads(line) for line in text.splitlines()]
