"""The judging pages in a real browser: nothing gets lost, nothing is doubled."""

from contextlib import closing

import pytest

from tests.support.judging_pages import (
    LEVELS,
    all_sent,
    asked,
    check_truth,
    enter,
    judge_all,
    judging,
    key_for,
    pair,
    part,
    press,
    progress,
    ready,
    set_hidden,
)
from tests.support.true_assessors import true_top


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
        assert site.session().active_seconds[-1] > 1.5  # reading before the reload counts
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
        assert (
            "the next question comes as soon as the server answers"
            in part(page, "net").inner_text()
        )
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
        page.keyboard.press("u")  # of its own judgment, which is not the last one
        page.get_by_text("Another window judged after that").wait_for()
        ready(page)
        assert progress(page) == 2
        press(page, "u")
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


def test_an_undo_after_a_comment_takes_back_no_other_either(browser, site):
    with judging(browser, site) as page, judging(browser, site) as other:
        press(page, "ArrowLeft")
        other.context.set_offline(True)
        other.keyboard.press("ArrowRight")
        other.keyboard.press("c")
        other.keyboard.type("no, the left one")
        other.keyboard.press("Control+Enter")
        other.keyboard.press("u")
        other.get_by_text("Not sent yet: 3").wait_for()
        other.context.set_offline(False)
        all_sent(other)
        ready(other)
        assert progress(other) == 1
        assert part(other, "notice").inner_text().startswith("This question was answered already")
    kinds = [event.kind for event in site.events("pairs", "judgment", "comment", "undo")]
    assert kinds == ["judgment", "comment"]


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
        enter(page, site.link())
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


@pytest.mark.parametrize("back", ["visible", "focus", "online", "button"])
def test_who_was_signed_out_goes_on_without_a_reload(browser, site, back):
    with judging(browser, site) as page:
        page.context.clear_cookies()
        page.keyboard.press("ArrowLeft")
        page.get_by_text("You are not signed in").wait_for()
        assert part(page, "bar").locator("[data-do=left]").is_disabled()
        set_hidden(page, True)
        other = page.context.new_page()
        enter(other, site.link())
        assert other.get_by_text("Your queries").is_visible()
        if back == "visible":
            set_hidden(page, False)
        elif back == "button":
            part(page, "signedOut").get_by_role("button", name="Try now").click()
        else:
            page.evaluate(f"window.dispatchEvent(new Event('{back}'))")
        all_sent(page)
        set_hidden(page, False)
        ready(page)
        assert part(page, "signedOut").is_hidden()
        assert progress(page) == 1
        press(page, "ArrowLeft")
        assert progress(page) == 2
    assert len(site.events("pairs", "judgment")) == 2


def test_who_is_still_signed_out_is_told_again(browser, site):
    with judging(browser, site) as page:
        page.context.clear_cookies()
        page.keyboard.press("ArrowLeft")
        page.get_by_text("You are not signed in").wait_for()
        set_hidden(page, True)
        set_hidden(page, False)
        page.wait_for_timeout(500)
        assert part(page, "signedOut").is_visible()
    assert site.events("pairs", "judgment") == []


def test_who_is_signed_out_is_told_and_loses_nothing(browser, site):
    with judging(browser, site) as page:
        page.context.clear_cookies()
        page.keyboard.press("ArrowLeft")
        page.get_by_text("You are not signed in").wait_for()
        assert site.events("pairs", "judgment") == []
        enter(page, site.link())
        page.goto(site.page())
        ready(page)
        assert progress(page) == 1
    assert len(site.events("pairs", "judgment")) == 1
