"""A judging server of its own for a test: a process that can be killed and started again."""

import os
import signal
import socket
import time
import urllib.request
import warnings
from pathlib import Path

from podium.labelling.pools import Pool, PoolDocument, PoolQuery
from podium.labelling.store import Store, StoreMember
from podium.labelling.tasks import GradeTask, PreferenceTask
from tools.forks import FORKS

SECRET = "a secret for tests and for nothing else"
DOCUMENTS = tuple(f"d{i}" for i in range(6))


def text_of(document):
    return f"Jazz began in New Orleans. This is what {document} says of it. " * 6


def jazz(documents=DOCUMENTS, **contents):
    """A query about jazz; `contents` has documents that are not texts."""
    return PoolQuery(
        "q1",
        "origins of jazz",
        "Where and when did jazz begin? Histories are good, sheet music is not.",
        tuple(
            contents.get(d) or PoolDocument(d, text_of(d), title=f"About {d}") for d in documents
        ),
    )


class Site:
    """A store with a query and an admin, and a server on it; each assessor has two tasks."""

    def __init__(self, folder, query=None, k=2, **settings):
        self.query = jazz() if query is None else query
        self.path = Path(folder) / "judgments.db"
        self.settings = {"repeats": 0.0, "statistics_seconds": 0.01, **settings}
        self.k = k
        self.process = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.store = Store.open(self.path)
        self.store.add_pool(Pool((self.query,)))
        self.store.add_members([StoreMember("eve", role="admin")])
        self.number = 0
        self.greet()

    def greet(self):
        """A new assessor, with tasks "pairs" and "grades"."""
        self.number += 1
        self.assessor = f"ann{self.number}"
        self.tasks = {tool: f"{tool}-{self.number}" for tool in ("pairs", "grades")}
        documents = tuple(document.id for document in self.query.documents)
        about = (self.query.id, self.assessor, documents)
        self.store.add_members([StoreMember(self.assessor)])
        self.store.add_tasks(
            [
                PreferenceTask(self.tasks["pairs"], *about, k=self.k),
                GradeTask(self.tasks["grades"], *about),
            ]
        )
        return self

    def start(self):
        arguments = (self.path, self.port, self.settings)
        self.process = FORKS.Process(target=serve, args=arguments, daemon=True)
        self.process.start()
        for _ in range(750):
            try:
                with urllib.request.urlopen(f"{self.address}/healthz", timeout=1):
                    return self
            except OSError:
                assert self.process.is_alive(), "the server ended"
                time.sleep(0.02)
        raise AssertionError("the server does not start")

    def kill(self):
        """As a crash or a lost machine would: no chance to finish anything."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()

    def close(self):
        if self.is_up:
            self.kill()
        self.store.close()

    @property
    def is_up(self):
        return self.process is not None and self.process.is_alive()

    def link(self, member=None, role="assessor"):
        """A personal link; the assessor's own unless somebody is named."""
        from podium.apps.judging import Links

        return Links(SECRET).url(self.address, member or self.assessor, role)

    def page(self, task="pairs"):
        return f"{self.address}/judge/{self.tasks[task]}"

    def session(self, task="pairs"):
        return self.store.session(self.tasks[task])

    def events(self, task="pairs", *kinds):
        events = self.store.events(self.tasks[task])
        return [event for event in events if not kinds or event.kind in kinds]


def serve(path, port, settings):
    """Serve a store until the process is killed."""
    import uvicorn

    from podium.apps.judging import JudgingSettings, make_app

    warnings.simplefilter("ignore")
    app = make_app(Store.open(path), secret=SECRET, settings=JudgingSettings(**settings))
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")
