"""The judging pages in a real browser: keys, undo, the clock."""

import time
from contextlib import closing

from tests.support.judging_pages import (
    LEVELS,
    all_sent,
    asked,
    check_truth,
    judge_all,
    judging,
    pair,
    part,
    press,
    progress,
    ready,
    set_hidden,
)
from tests.support.judging_site import Site, jazz
from tests.support.true_assessors import true_top

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
        page.wait_for_url(site.page("grades"))  # the next query
        page.goto(f"{site.address}/")
        assert "Done" in page.locator(f"[data-task={site.tasks['pairs']}]").inner_text()


def test_both_bad_leave_the_race(browser, site):
    with judging(browser, site) as page:
        while not part(page, "done").is_visible():
            press(page, "b")
        assert part(page, "doneText").inner_text().endswith("You found none good.")
        assert part(page, "result").locator("li").count() == 0
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


def test_two_that_are_first_leave_no_second_place(browser, site):
    levels = {"d0": 0, "d1": 0, "d2": 1, "d3": 2, "d4": 3, "d5": 4}
    site.k = 3
    try:
        site.greet()
    finally:
        site.k = 2
    with judging(browser, site) as page:
        judge_all(page, levels)
        lines = part(page, "result").locator("li")
        assert set(lines.nth(0).inner_text().split(" = ")) == {"About d0", "About d1"}
        assert [line.evaluate("e => e.value") for line in lines.all()] == [1, 3]
        assert part(page, "done").get_by_role("link", name="Next query").is_visible()


def test_one_document_is_nothing_to_judge(browser, tmp_path):
    with closing(Site(tmp_path, jazz(("d0",)))) as site, judging(browser, site.start()) as page:
        assert "There was nothing to judge" in part(page, "doneText").inner_text()
        assert part(page, "done").locator("[data-do=undo]").is_disabled()


def test_undo_and_later_of_a_document_that_is_asked_again(browser, tmp_path):
    with (
        closing(Site(tmp_path, repeats=0.5, repeat_gap=1)) as site,
        judging(browser, site.start(), "grades") as page,
    ):
        title = part(page, "document").locator("h2")

        def is_repeat():
            step = site.session("grades").step
            return not title.inner_text().endswith(step.document)

        while not is_repeat():
            press(page, "3")
        shown, done = title.inner_text(), progress(page)
        press(page, "1")
        assert len(site.session("grades").repeats) == 1
        press(page, "u")
        assert (title.inner_text(), progress(page)) == (shown, done)
        assert site.session("grades").repeats == ()
        press(page, "s")
        assert title.inner_text() != shown
        assert part(page, "notice").is_hidden()
    assert [event.kind for event in site.events("grades", "undo", "skip")] == ["undo", "skip"]


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
    start = time.monotonic()
    with judging(browser, site) as page:
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


def test_a_hidden_tab_stops_the_clock(browser, site):
    start = time.monotonic()
    with judging(browser, site) as page:
        page.wait_for_timeout(500)
        set_hidden(page, True)
        page.wait_for_timeout(2000)
        set_hidden(page, False)
        page.wait_for_timeout(400)
        press(page, "ArrowLeft")
        took = time.monotonic() - start
    assert 1.1 < seconds_of(site) < took - 2
    assert len(site.session().times[0].segments) == 2


def test_idleness_stops_the_clock_and_asks(browser, tmp_path):
    quick = {"idle_seconds": 2.0, "characters_per_second": 1e6}
    with (
        closing(Site(tmp_path, **quick)) as site,
        judging(browser, site.start()) as page,
    ):
        start = time.monotonic()  # not much later than the question
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
        assert 2.0 < seconds_of(site) < time.monotonic() - start - 1
        for _ in range(15):  # signs of life keep it away
            page.mouse.wheel(0, 10)
            page.wait_for_timeout(200)
        assert part(page, "idle").is_hidden()


def test_a_comment_takes_no_time_of_the_judgment(browser, site):
    start = time.monotonic()
    with judging(browser, site) as page:
        page.keyboard.press("c")
        page.wait_for_timeout(1500)
        page.keyboard.press("Escape")
        page.wait_for_timeout(100)  # the dialog says a little later that it is closed
        press(page, "ArrowLeft")
        took = time.monotonic() - start
    assert seconds_of(site) < took - 1.5
