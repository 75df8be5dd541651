"""The judging pages in a real browser: keys, clock, undo, crashes, lost networks, hostile documents."""

import os
import re
import shutil
import time
from contextlib import closing, contextmanager

import pytest
from conftest import absent
from judging import true_top
from judging_site import Site, jazz

from podium.labelling.pools import PoolDocument, PoolQuery

LEVELS = {"d0": 3, "d1": 0, "d2": 2, "d3": 1, "d4": 2, "d5": 4}
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        absent("no Playwright: pip install playwright")
    program = os.environ.get("PODIUM_CHROMIUM") or next(
        filter(None, map(shutil.which, NAMES)), None
    )
    if program is None:
        absent("no Chromium: install the package chromium, or name one in PODIUM_CHROMIUM")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with closing(Site(tmp_path_factory.mktemp("judging"))) as made:
        yield made


@pytest.fixture
def site(server):
    """A server with an assessor who has done nothing yet; a test may kill it."""
    return server.greet() if server.is_up else server.start().greet()


@contextmanager
def judging(browser, site, task="pairs", strict=True, **options):
    """A page of a task in a browser that knows nothing yet; a script that fails fails the test."""
    context = browser.new_context(reduced_motion="reduce", **options)
    page = context.new_page()
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if "Security" in said.text else None)
    page.goto(site.link())
    page.goto(site.page(task))
    ready(page)
    yield page
    context.close()
    if strict:
        assert wrong == []


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


# Judging


def test_a_whole_query_is_judged_by_keyboard(browser, site):
    with judging(browser, site) as page:
        assert page.locator("h1").inner_text() == "origins of jazz"
        assert {text.lower() for text in page.locator("mark").all_inner_texts()} == {"jazz"}
        assert progress(page) == 0
        presses = judge_all(page)
        assert progress(page) == presses
        lines = part(page, "result").locator("li").all_inner_texts()
        assert lines == ["About d1", "About d3"]
        check_truth(site, presses)
        assert len(site.events("pairs", "shown")) == presses
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{site.address}/")
        assert "Done" in page.locator(f"[data-task={site.tasks['pairs']}]").inner_text()


def test_both_bad_leave_the_race(browser, site):
    with judging(browser, site) as page:
        while not part(page, "done").is_visible():
            press(page, "b")
    assert site.session().step.levels == ()
    assert {event.data["answer"] for event in site.events("pairs", "judgment")} == {"bad"}


def test_buttons_do_what_keys_do(browser, site):
    with judging(browser, site) as page:
        for name in ("1 is better", "2 is better", "Tie", "Both bad"):
            sides = pair(page)
            page.get_by_role("button", name=name).click()
            ready(page)
            last = site.events("pairs", "judgment")[-1].data
            assert [last["a"], last["b"]] == sides
        answers = [event.data["answer"] for event in site.events("pairs", "judgment")]
        assert answers == [">", "<", "~", "bad"]


def test_documents_are_graded_by_keys(browser, site):
    with judging(browser, site, "grades") as page:
        names = page.locator(".grade span").all_inner_texts()
        assert names == ["Bad", "Fair", "Good", "Excellent", "Perfect"]
        postponed = part(page, "document").locator("h2").inner_text()
        press(page, "s")
        for key in "12345":
            page.keyboard.press("9")  # there is no ninth grade
            press(page, key)
        assert part(page, "document").locator("h2").inner_text() == postponed
        press(page, "u")
        press(page, "4")
        press(page, "1")
        assert part(page, "done").is_visible()
    labels = site.session("grades").step.labels
    assert list(labels.values()) == [0, 1, 2, 3, 3, 0]
    assert f"About {list(labels)[-1]}" == postponed


def test_undo_goes_back_as_far_as_one_likes(browser, site):
    with judging(browser, site) as page:
        questions = []
        for _ in range(3):
            questions.append(asked(page))
            press(page, "ArrowLeft")
        for question in questions[::-1]:
            press(page, "u")
            assert asked(page) == question
        assert progress(page) == 0
        assert part(page, "bar").locator("[data-do=undo]").is_disabled()
        page.keyboard.press("u")  # there is nothing more
        presses = judge_all(page)
        press(page, "u")  # of a finished query, too
        assert part(page, "work").is_visible()
        judge_all(page)
    session = site.session()
    assert [set(level) for level in session.step.levels] == true_top(LEVELS, 2)
    assert (len(session.judgments), len(session.undone)) == (presses, 4)


def test_a_held_key_and_a_double_click_are_one_judgment(browser, site):
    with judging(browser, site) as page:
        for _ in range(20):
            page.keyboard.down("ArrowLeft")  # the second and later ones repeat
            page.wait_for_timeout(20)
        page.keyboard.up("ArrowLeft")
        ready(page)
        assert progress(page) == 1
        page.get_by_role("button", name="Tie").dblclick()
        ready(page)
        assert progress(page) == 2
    assert len(site.events("pairs", "judgment")) == 2


def test_letters_in_a_comment_are_no_answers(browser, site):
    with judging(browser, site) as page:
        page.keyboard.press("c")
        page.keyboard.type("ptbu? <b>1</b>")
        page.keyboard.press("Control+Enter")
        all_sent(page)
        assert part(page, "comment").is_hidden()
        assert progress(page) == 0
    (comment,) = site.events("pairs", "comment")
    assert comment.data["text"] == "ptbu? <b>1</b>"
    assert site.events("pairs", "judgment") == []


def test_letter_keys_can_be_switched_off(browser, site):
    with judging(browser, site) as page:
        page.keyboard.press("?")
        page.get_by_label("Use letter and number keys").uncheck()
        page.keyboard.press("Escape")
        page.keyboard.press("t")
        page.wait_for_timeout(300)
        assert progress(page) == 0
        page.reload()
        ready(page)
        page.keyboard.press("t")
        press(page, "ArrowLeft")
        assert progress(page) == 1
    assert site.events("pairs", "judgment")[0].data["answer"] == ">"


# The clock


def seconds_of(site, place=-1):
    return site.session().active_seconds[place]


def test_a_pause_freezes_the_clock(browser, site):
    with judging(browser, site) as page:
        start = time.monotonic()
        page.wait_for_timeout(1000)
        page.keyboard.press("p")
        assert part(page, "paused").is_visible()
        before = part(page, "clock").inner_text()
        page.keyboard.press("ArrowLeft")  # no answer in a pause
        page.wait_for_timeout(2500)
        assert part(page, "clock").inner_text() == before
        page.reload()  # a pause is still one
        page.wait_for_selector("[data-ui=paused][open]")
        page.wait_for_timeout(500)
        page.keyboard.press("p")
        assert part(page, "paused").is_hidden()
        page.wait_for_timeout(300)
        press(page, "ArrowLeft")
        took = time.monotonic() - start
    kinds = [event.kind for event in site.events() if event.kind != "shown"]
    assert kinds == ["pause", "resume", "judgment"]
    assert 1.2 < seconds_of(site) < took - 3
    (timed,) = site.session().times
    assert timed.flaws == 0
    assert len(timed.segments) == 2


def set_hidden(page, hidden):
    """As a browser does when another tab comes to the front."""
    page.evaluate(
        """(hidden) => {
            Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def test_a_hidden_tab_stops_the_clock(browser, site):
    with judging(browser, site) as page:
        page.wait_for_timeout(500)
        set_hidden(page, True)
        page.wait_for_timeout(2000)
        set_hidden(page, False)
        page.wait_for_timeout(400)
        press(page, "ArrowLeft")
    assert 1.1 < seconds_of(site) < 2
    assert len(site.session().times[0].segments) == 2


def test_idleness_stops_the_clock_and_asks(browser, tmp_path):
    quick = {"idle_seconds": 0.8, "characters_per_second": 1e6}
    with (
        closing(Site(tmp_path, **quick)) as site,
        judging(browser, site.start()) as page,
    ):
        page.wait_for_selector("[data-ui=idle][open]")
        assert page.get_by_role("heading", name="Are you still there?").is_visible()
        page.wait_for_timeout(2000)
        page.mouse.move(200, 200)  # a bumped table is no answer
        assert part(page, "idle").is_visible()
        page.keyboard.press("ArrowLeft")  # neither is the key that ends it
        assert part(page, "idle").is_hidden()
        page.wait_for_timeout(100)
        assert progress(page) == 0
        press(page, "ArrowLeft")
        assert 0.8 < seconds_of(site) < 1.5
        for _ in range(8):  # signs of life keep it away
            page.mouse.wheel(0, 10)
            page.wait_for_timeout(200)
        assert part(page, "idle").is_hidden()


def test_a_comment_takes_no_time_of_the_judgment(browser, site):
    with judging(browser, site) as page:
        page.keyboard.press("c")
        page.wait_for_timeout(1500)
        page.keyboard.press("Escape")
        press(page, "ArrowLeft")
    assert seconds_of(site) < 1.2


# Nothing gets lost, nothing is doubled


def test_a_reload_goes_on_where_it_was(browser, site):
    with judging(browser, site) as page:
        press(page, "t")
        press(page, "ArrowRight")
        page.wait_for_timeout(1500)
        question = asked(page)
        page.reload()
        ready(page)
        assert asked(page) == question
        assert progress(page) == 2
        press(page, "ArrowLeft")
        assert seconds_of(site) > 1.5  # reading before the reload counts
        press(page, "u")
        press(page, "u")
        press(page, "u")
        presses = judge_all(page)
    assert len(site.session().judgments) == presses
    assert [set(level) for level in site.session().step.levels] == true_top(LEVELS, 2)


def test_a_killed_server_loses_and_doubles_nothing(browser, site):
    with judging(browser, site) as page:
        presses = 0
        while not part(page, "done").is_visible():
            key = key_for(LEVELS, *pair(page))
            if presses == 1:
                site.kill()  # before the judgment
            page.keyboard.press(key)
            if presses in (3, 4):
                page.wait_for_timeout(5 * (presses - 3))
                site.kill()  # while it is under way, or after
            if not site.is_up:
                page.wait_for_timeout(600)
                site.start()
            presses += 1
            ready(page)
        assert part(page, "net").is_hidden()
        check_truth(site, presses)


def test_an_answer_that_gets_lost_is_asked_for_again(browser, site):
    with judging(browser, site) as page:
        lost = []

        def lose(route):
            """The server keeps the judgment, the page never hears of it."""
            route.fetch()
            lost.append(route.request.post_data_json["events"])
            route.abort()

        page.route("**/events", lose, times=2)
        presses = judge_all(page)
        assert len(lost) == 2
        assert [event["id"] for event in lost[0]] == [event["id"] for event in lost[1]]
        check_truth(site, presses)


def test_without_a_network_judgments_wait_in_the_browser(browser, site):
    with judging(browser, site) as page:
        first = pair(page)
        page.context.set_offline(True)
        page.keyboard.press("ArrowLeft")
        page.get_by_text("Not sent yet: 1").wait_for()
        page.keyboard.press("ArrowLeft")  # this one is judged
        assert part(page, "left").is_visible()
        page.wait_for_timeout(1200)
        assert site.events("pairs", "judgment") == []
        page.context.set_offline(False)
        ready(page)
        assert part(page, "net").is_hidden()
        assert pair(page) != first
    (event,) = site.events("pairs", "judgment")
    assert [event.data["a"], event.data["b"], event.data["answer"]] == [*first, ">"]


def test_a_judgment_taken_back_offline_does_not_stand(browser, site):
    with judging(browser, site) as page:
        press(page, "t")
        question = asked(page)
        page.context.set_offline(True)
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("u")
        page.keyboard.press("u")  # one undo at a time
        page.get_by_text("Not sent yet: 2").wait_for()
        page.context.set_offline(False)
        ready(page)
        assert asked(page) == question
        assert progress(page) == 1
    kinds = [event.kind for event in site.events() if event.kind != "shown"]
    assert kinds == ["judgment", "judgment", "undo"]


def test_a_closed_page_sends_when_it_is_opened_again(browser, site):
    with judging(browser, site) as page:
        site.kill()
        page.keyboard.press("ArrowLeft")
        page.get_by_text("Not sent yet: 1").wait_for()
        context = page.context
        page.close()
        site.start()
        page = context.new_page()
        page.goto(site.page())
        ready(page)
        assert progress(page) == 1
    assert len(site.events("pairs", "judgment")) == 1


def test_the_list_of_queries_sends_what_is_left(browser, site):
    with judging(browser, site) as page:
        site.kill()
        page.keyboard.press("ArrowLeft")
        page.get_by_text("Not sent yet: 1").wait_for()
        site.start()
        page.goto(f"{site.address}/")
        page.get_by_text("1 judged").wait_for()
    assert len(site.events("pairs", "judgment")) == 1


def test_a_store_that_cannot_write_keeps_the_page_waiting(browser, site):
    tries = []

    def refuse(route):
        tries.append(route.request.post_data_json)
        full = {"error": {"code": "disk_full", "message": "The disk is full."}, "accepted": []}
        route.fulfill(status=503, json=full, headers={"Retry-After": "25"})

    with judging(browser, site) as page:
        page.route("**/events", refuse)
        page.keyboard.press("ArrowLeft")
        page.get_by_text("Not sent yet: 1").wait_for()
        page.wait_for_timeout(1500)
        assert len(tries) == 1  # when the server says so, not before
        page.reload()
        page.get_by_text("Not sent yet: 1").wait_for()
        assert part(page, "bar").locator("[data-do=left]").is_disabled()
        page.unroute("**/events")
        page.get_by_role("button", name="Try now").click()
        ready(page)
        assert progress(page) == 1
    assert len(site.events("pairs", "judgment")) == 1


def test_of_two_devices_one_judges_and_the_other_follows(browser, site):
    with judging(browser, site) as page, judging(browser, site) as other:
        assert asked(page) == asked(other)
        press(page, "ArrowLeft")
        other.keyboard.press("ArrowRight")
        other.get_by_text("answered already").wait_for()
        ready(other)
        assert asked(other) == asked(page)
        assert progress(other) == 1
        press(other, "t")
        page.keyboard.press("u")  # the last judgment, wherever it was made
        ready(page)
        assert progress(page) == 1
    judged = [event.data["answer"] for event in site.events("pairs", "judgment")]
    assert judged == [">", "~"]


def test_an_undo_of_a_refused_judgment_takes_back_no_other(browser, site):
    with judging(browser, site) as page, judging(browser, site) as other:
        press(page, "ArrowLeft")
        other.context.set_offline(True)
        other.keyboard.press("ArrowRight")
        other.keyboard.press("u")
        other.context.set_offline(False)
        other.get_by_text("answered already").wait_for()
        ready(other)
        assert progress(other) == 1
    assert [event.kind for event in site.events("pairs", "judgment", "undo")] == ["judgment"]


def test_two_tabs_of_one_task_stay_together(browser, site):
    with judging(browser, site) as page:
        other = page.context.new_page()
        other.goto(site.page())
        ready(other)
        for turn in range(4):
            one, two = (page, other) if turn % 2 else (other, page)
            before = asked(one)
            press(one, "ArrowLeft")
            assert asked(one) != before
            two.wait_for_function("n => document.querySelector('[data-ui=progressText]').textContent"
                                  ".startsWith(String(n))", arg=turn + 1)  # fmt: skip
            ready(two)
            assert asked(two) == asked(one)
    assert len(site.events("pairs", "judgment")) == 4


def test_a_browser_that_keeps_nothing_still_judges(browser, site):
    context = browser.new_context()
    context.add_init_script(
        "for (const name of ['localStorage', 'sessionStorage'])"
        " Object.defineProperty(window, name, { get() { throw new Error('no storage'); } });"
        "delete Crypto.prototype.randomUUID;"
    )
    with closing(context):
        page = context.new_page()
        page.goto(site.link())
        page.goto(site.page())
        ready(page)
        press(page, "ArrowLeft")
        site.kill()
        page.keyboard.press("ArrowLeft")
        page.get_by_text("Do not close this window").wait_for()
        site.start()
        ready(page)
        assert progress(page) == 2
    assert len(site.events("pairs", "judgment")) == 2


def test_who_is_signed_out_is_told_and_loses_nothing(browser, site):
    with judging(browser, site) as page:
        page.context.clear_cookies()
        page.keyboard.press("ArrowLeft")
        page.get_by_text("You are not signed in").wait_for()
        assert site.events("pairs", "judgment") == []
        page.goto(site.link())
        page.goto(site.page())
        ready(page)
        assert progress(page) == 1
    assert len(site.events("pairs", "judgment")) == 1


# Hostile and odd documents

HOSTILE = (
    "<script>window.ran = 'script'</script>",
    "<img src=x onerror=\"window.ran = 'image'\">",
    "<svg onload=\"window.ran = 'svg'\"></svg><math><mtext></mtext></math>",
    '<a href="javascript:window.ran = 1">click</a><a href="https://example.org/">out</a>',
    "<form action=/enter><button data-do=bad class=answer>Tie</button><input autofocus></form>",
    '<p data-ui="query" id="main" data-body style="position:fixed;inset:0">cover</p><base href="/x/">',
)


def test_documents_run_nothing(browser, tmp_path):
    bad = tuple(
        PoolDocument(f"h{i}", text, "html", title="<script>window.ran = 'title'</script>")
        for i, text in enumerate(HOSTILE)
    )
    name = "<img src=x onerror=\"window.ran = 'query'\">"
    query = PoolQuery("q1", name, name, (*bad, PoolDocument("t", HOSTILE[0] + HOSTILE[1])))
    with closing(Site(tmp_path, query)) as site, judging(browser, site.start()) as page:
        shown = 0
        while not part(page, "done").is_visible():
            for link in page.locator(".body a").all():
                assert (link.get_attribute("href") or "https").startswith("https")
                assert link.get_attribute("target") == "_blank"
            assert (
                page.locator(".body :is(script, style, form, button, input, [style], [id])").count()
                == 0
            )
            assert page.evaluate("window.ran") is None
            press(page, "t")
            shown += 1
        assert shown >= len(HOSTILE)
        page.keyboard.press("Control")
        part(page, "done").get_by_role("button", name="Comment").click()
        page.keyboard.type(name)
        page.keyboard.press("Control+Enter")
        all_sent(page)
        page.goto(f"{site.address}/")
        assert page.evaluate("window.ran") is None
        page.goto(site.link("eve", "admin"))
        assert name in page.locator(".comments").inner_text()
        assert page.evaluate("window.ran") is None
    assert site.session().finished


def test_images_are_shown(browser, tmp_path):
    (tmp_path / "red.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><rect width="40" height="30"/></svg>'
    )
    image = PoolDocument("d0", "red.svg", "image", title="Red")
    empty = PoolDocument("d1", "")
    with (
        closing(
            Site(tmp_path, jazz(("d0", "d1"), d0=image, d1=empty), images=str(tmp_path))
        ) as site,
        judging(browser, site.start()) as page,
    ):
        found = page.get_by_alt_text("Red")
        assert found.evaluate("image => image.decode().then(() => image.naturalWidth)") == 40
        assert page.get_by_text("This document is empty.").is_visible()


# For everybody

CONTRAST = """
() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!text || !e.checkVisibility() || e.closest("svg, :disabled, .hidden-text, .skip")) continue;
    const pair = [light(parse(getComputedStyle(e).color)), light(ground(e))].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (ratio < 4.5) found.push([e.tagName, e.className, e.textContent.trim().slice(0, 30), ratio]);
  }
  return found;
}
"""

NAMELESS = """
() => [...document.querySelectorAll("a, button, input, textarea, progress, img, svg")]
  .filter((e) => e.checkVisibility() && !(e.textContent.trim() || e.labels?.length || e.ariaLabel
    || e.getAttribute("aria-labelledby") || e.alt)).map((e) => e.outerHTML)
"""

TWICE = "() => [...document.querySelectorAll('[id]')].map(e => e.id).filter((x, i, a) => a.indexOf(x) < i)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_have_contrast_names_and_fit_a_phone(browser, site, scheme):
    phone = {"width": 360, "height": 740}
    with judging(browser, site, color_scheme=scheme, viewport=phone, has_touch=True) as page:
        boxes = [part(page, side).bounding_box() for side in ("left", "right")]
        assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]  # stacked

        def check(where):
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, where
            assert page.evaluate(CONTRAST) == [], where
            assert page.evaluate(NAMELESS) == [], where
            assert page.evaluate(TWICE) == [], where
            small = "[...document.querySelectorAll('button')].filter(e => e.checkVisibility())" \
                ".filter(e => e.getBoundingClientRect().height < 24).length"  # fmt: skip
            assert page.evaluate(small) == 0, where

        check("judge")
        for key in "pc?":
            page.keyboard.press(key)
            check(key)
            page.keyboard.press("Escape")
        press(page, "ArrowLeft")
        page.set_viewport_size({"width": 1280, "height": 800})
        boxes = [part(page, side).bounding_box() for side in ("left", "right")]
        assert boxes[0]["y"] == boxes[1]["y"]  # side by side
        page.set_viewport_size(phone)
        judge_all(page)
        check("done")
        for path in (site.page("grades"), "/", "/help", "/judge/none"):
            page.goto(path if ":" in path else site.address + path)
            page.wait_for_timeout(400)
            check(path)
        page.goto(site.link("eve", "admin"))
        check("admin")


def test_the_focus_can_be_seen_and_goes_through_all_buttons(browser, site):
    with judging(browser, site) as page:
        press(page, "ArrowLeft")
        seen = []
        for _ in range(30):
            page.keyboard.press("Tab")
            name, outline, width = page.evaluate(
                "(e => [e.dataset.do || e.tagName, getComputedStyle(e).outlineStyle,"
                " e.getBoundingClientRect().width])(document.activeElement)"
            )
            if name in seen and name != "A":
                break
            if name != "BODY":
                assert (outline, width > 2) == ("solid", True), name
                seen.append(name)
        assert {"left", "tie", "bad", "right", "undo", "pause", "comment", "help"} <= set(seen)


def test_progress_is_told_to_screen_readers(browser, site):
    with judging(browser, site) as page:
        live = page.get_by_role("status").filter(has_text="judged")
        assert live.get_attribute("aria-live") == "polite"
        press(page, "ArrowLeft")
        assert live.inner_text().startswith("1 judged, about ")
        assert page.evaluate("document.activeElement.textContent") == "origins of jazz"


def test_the_admin_sees_progress_live(browser, tmp_path):
    with closing(Site(tmp_path)) as site, judging(browser, site.start()) as page:
        admin = page.context.new_page()
        admin.goto(site.link("eve", "admin"))
        assert admin.get_by_text("0 of 2").count() == 3
        judge_all(page)
        admin.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        admin.get_by_text("1 of 2").first.wait_for()
        assert admin.locator(".plots svg").count() == 2
        assert admin.locator("[data-live=statistics] table").count() >= 2
