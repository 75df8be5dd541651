"""The judging pages as the tests use them: a page of a task, its parts, and keys."""

import re
from contextlib import contextmanager

from tests.support.browser_pages import new_page
from tests.support.true_assessors import true_top

LEVELS = {"d0": 3, "d1": 0, "d2": 2, "d3": 1, "d4": 2, "d5": 4}


@contextmanager
def judging(browser, site, task="pairs", strict=True, **options):
    """A page of a task in a browser that knows nothing yet; a script that fails fails the test."""
    with new_page(browser, **options) as (page, wrong):
        sign_in(page, site.link())
        page.goto(site.page(task))
        ready(page)
        yield page
    if strict:
        assert wrong == []


def sign_in(page, link):
    """What `enter` does, without drawing the two pages."""
    request = page.context.request
    token = re.search(r'name="form_token" value="([^"]+)"', request.get(link).text())[1]
    origin = {"Origin": link.partition("/enter/")[0]}
    answer = request.post(link, form={"form_token": token}, headers=origin, max_redirects=0)
    assert answer.status == 303


def enter(page, link):
    """Open a personal link and press its button."""
    page.goto(link)
    page.locator("form.enter button").click()
    page.wait_for_url(re.compile(r"/(admin)?$"))


def part(page, name):
    return page.locator(f"[data-ui={name}]")


def ready(page):
    """The next question is there, and longer than a double click takes."""
    page.wait_for_selector("[data-ui=work][aria-busy=false], [data-ui=done]:not([hidden])")
    page.wait_for_timeout(300)


def pair(page):
    """The two documents on screen, by their titles."""
    return [part(page, side).locator("h2").inner_text().split()[-1] for side in ("left", "right")]


def asked(page):
    return part(page, "work").inner_text()


def press(page, key):
    """A key that changes what is asked."""
    page.keyboard.press(key)
    ready(page)


def all_sent(page):
    page.wait_for_function(
        "() => !Object.keys(localStorage).some(k => k.startsWith('podium/event'))"
    )


def key_for(levels, left, right):
    if levels[left] == levels[right]:
        return "t"
    return "ArrowLeft" if levels[left] < levels[right] else "ArrowRight"


def judge_all(page, levels=LEVELS):
    """The rest of a query by keys; how many judgments it took."""
    for count in range(100):
        if part(page, "done").is_visible():
            return count
        press(page, key_for(levels, *pair(page)))
    raise AssertionError("no end")


def progress(page):
    return int(re.match(r"\d+", part(page, "progressText").inner_text())[0])


def check_truth(site, presses):
    """Every judgment is kept, each once, and they come to the truth; the clock had nothing to clean."""
    session = site.session()
    assert [set(level) for level in session.step.levels] == true_top(LEVELS, 2)
    assert len(session.judgments) == presses
    assert len(site.events("pairs", "judgment")) == presses
    assert sum(time.flaws for time in session.times) == 0
    assert all(0.2 < seconds < 60 for seconds in session.active_seconds)


def set_hidden(page, hidden):
    """As a browser does when another tab comes to the front."""
    page.evaluate(
        """(hidden) => {
            Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )
