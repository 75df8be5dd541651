"""A browser for tests of the judging server: cookies, the token of a page, and what its script sends."""

import asyncio
import itertools
import json
import re
from contextlib import contextmanager

import httpx

from podium.apps.judging import JudgingSettings, Links, make_app
from podium.labelling import Pool, PoolDocument, PoolQuery, make_tasks
from podium.labelling.store import Store, StoreMember

SECRET = "a secret of the tests"
DOCUMENTS = tuple(
    PoolDocument(f"d{i}", f"Miles and jazz, number {i}", title=f"Title {i}") for i in range(8)
)
POOL = Pool(
    (
        PoolQuery("q1", "cool jazz", "what is <b>cool</b>", DOCUMENTS),
        PoolQuery("q2", "folk & <script>alert(1)</script>", documents=DOCUMENTS[:4]),
    )
)


def fill(store, pool=POOL, k=3):
    """Ann judges q1 by pairs and grades q2, bob judges q1, the boss looks after them."""
    store.add_pool(pool)
    store.add_members([StoreMember("ann"), StoreMember("bob"), StoreMember("boss", role="admin")])
    plan = [("ann", "q1", "preference"), ("ann", "q2", "grade"), ("bob", "q1", "preference")]
    tasks = make_tasks(plan, pool, k=k)
    store.add_tasks(tasks)
    return {(task.assessor, task.query): task for task in tasks}


class Site:
    """A server in this process."""

    def __init__(self, store, **settings):
        self.store = store
        self.links = Links(SECRET)
        self.app = make_app(store, secret=SECRET, settings=JudgingSettings(**settings))
        self.loop = asyncio.new_event_loop()
        self._lifespan = self.app.router.lifespan_context(self.app)
        self.loop.run_until_complete(self._lifespan.__aenter__())

    def close(self):
        self.loop.run_until_complete(self._lifespan.__aexit__(None, None, None))
        self.loop.close()

    def browser(self, member=None, role="assessor"):
        browser = Browser(self)
        if member is not None:
            assert browser.enter(f"/enter/{self.links.token(member, role)}").status_code == 303
        return browser


class Browser:
    """Somebody's browser."""

    def __init__(self, site, base_url="http://judge.test"):
        self.site = site
        transport = httpx.ASGITransport(site.app, raise_app_exceptions=False)
        self.client = httpx.AsyncClient(transport=transport, base_url=base_url)
        self.ids = map("e{}".format, itertools.count())
        self.token = ""
        self.clock = 1_700_000_000_000

    def ask(self, method, path, **more):
        return self.site.loop.run_until_complete(self.client.request(method, path, **more))

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def enter(self, path, **more):
        """Open a personal link and press its button; the answer to that, or to the link if it has none."""
        page = self.get(path)
        if page.status_code != 200:
            return page
        return self.ask("POST", path, data={"form_token": form_token(page.text)}, **more)

    def open(self, task):
        """Load the page of a task, as people do; what its script then asks for."""
        page = self.get(f"/judge/{task.id}")
        assert page.status_code == 200, page.text
        self.token = re.search(r'name="podium-token" content="(\w+)"', page.text)[1]
        return self.get(f"/api/tasks/{task.id}").json()

    def event(self, kind="judgment", id=None, at=1_700_000_000_000, **data):  # noqa: A002
        return {
            "id": id or f"{id_prefix(self)}{next(self.ids)}",
            "kind": kind,
            "at": at,
            "data": data,
        }

    def send(self, task, *events, headers=None):
        kind = {"X-Podium-Token": self.token, "Content-Type": "application/json"}
        return self.ask(
            "POST", f"/api/tasks/{task.id}/events", content=json.dumps({"events": list(events)}),
            headers=kind | (headers or {}),
        )  # fmt: skip

    def tell(self, task, kind, **data):
        """An event that must be taken; where the task then stands."""
        answer = self.send(task, self.event(kind, **data))
        assert answer.status_code == 200, answer.text
        return answer.json()

    def judge(self, task, state, prefers):
        """Answer the question at hand: prefers(left, right) is an answer."""
        step = state["step"]
        answer = prefers(step["left"]["id"], step["right"]["id"])
        self.clock += 5_000
        segments = [[self.clock - 2_500, self.clock]]
        told = {"question": step["question"], "answer": answer, "segments": segments}
        event = self.event("judgment", at=self.clock, **told)
        response = self.send(task, event)
        assert response.status_code == 200, response.text
        return response.json()

    def undo(self, task, state):
        """Take the last judgment back."""
        return self.tell(task, "undo", judgment=state["last"])


def form_token(page):
    """What the form of a personal link's page sends."""
    return re.search(r'name="form_token" value="(\w+)"', page)[1]


def id_prefix(browser):
    return f"{id(browser)}-"


def lower_is_better(left, right):
    return "left" if left < right else "right"


@contextmanager
def serving(folder, pool=POOL, timeout=10.0, k=3, **settings):
    """A site with a store in a folder, and its tasks."""
    with Store.open(folder / "judgments.db", timeout=timeout) as store:
        tasks = fill(store, pool, k)
        site = Site(store, **settings)
        try:
            yield site, tasks
        finally:
            site.close()
