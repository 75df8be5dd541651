"""Guidelines, phones and the admin's acts in a real browser."""

import re
from contextlib import closing

import pytest

from podium.labelling import Guidelines, make_judgments
from podium.labelling.store import StoreAdmin
from tests.support.accessibility import CONTRAST, NAMELESS, TWICE
from tests.support.browser_pages import new_page
from tests.support.judging_pages import all_sent, enter, judging, part, press, ready
from tests.support.judging_site import Site
from tests.support.screens import check_screen

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
GRADES = {"Bad": "Off topic.", "Perfect": "The page that everybody would want."}
MIN_TARGET_PX = 44


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server for this file, with guidelines and judgments of two assessors."""
    with closing(Site(tmp_path_factory.mktemp("admin"))) as site:
        site.greet()
        make_judgments(site.store, seed=5, noise=0.4)
        StoreAdmin(site.store, "eve").save_guidelines(
            Guidelines("# Look for\n\n*Histories*.", GRADES)
        )
        yield site.start()


def close_by(page, dialog, key):
    """A key that closes a dialog; a moment later the clock runs again."""
    page.keyboard.press(key)
    dialog.wait_for(state="hidden")
    page.wait_for_timeout(300)


def small_targets(page):
    """Buttons, tabs, and links outside of texts that a thumb would miss."""
    return page.evaluate(
        """(least) => [...document.querySelectorAll("button, .button, nav a, select, .card > a")]
            .filter((e) => e.checkVisibility() && !e.closest("dialog:not([open])"))
            .map((e) => [e.textContent.trim().slice(0, 20), e.getBoundingClientRect()])
            .filter(([, box]) => box.height < least || box.width < least)
            .map(([text, box]) => `${text}: ${box.width} x ${box.height}`)""",
        MIN_TARGET_PX - 0.5,
    )


def test_guidelines_open_at_the_first_visit_and_when_they_change(browser, site):
    with judging(browser, site, "grades") as page:
        dialog = part(page, "guidelines")
        assert dialog.is_visible()
        assert dialog.locator("em").inner_text() == "Histories"
        page.keyboard.press("1")  # no answer while the dialog is open
        close_by(page, dialog, "g")
        definitions = page.locator(".grade .definition").all_inner_texts()
        assert definitions == list(GRADES.values())
        press(page, "2")
        page.reload()
        ready(page)
        assert not dialog.is_visible()  # read already
        page.get_by_role("button", name="Guidelines").click()
        assert dialog.is_visible()
        close_by(page, dialog, "Escape")
        grades = {**GRADES, "Bad": f"Spam, for {site.assessor}."}
        StoreAdmin(site.store, "eve").save_guidelines(
            Guidelines(f"New for {site.assessor}", grades)
        )
        press(page, "3")  # still by the old ones, which the page showed
        dialog.wait_for(state="visible")
        assert f"New for {site.assessor}" in dialog.inner_text()
        close_by(page, dialog, "g")
        press(page, "4")
        assert page.locator(".definition").first.inner_text() == grades["Bad"]
        all_sent(page)
    latest = site.store.guidelines().version
    versions = [event.data["guidelines"] for event in site.events("grades", "judgment")]
    assert versions == [latest - 1, latest - 1, latest]


@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone_both_documents_are_one_gesture_away(browser, site, tmp_path, dark):
    scheme = {"color_scheme": "dark" if dark else "light"}
    with judging(browser, site, **PHONE, **scheme) as page:
        page.locator("[data-ui=guidelines] [data-close]").tap()
        left, right = part(page, "left"), part(page, "right")
        assert (left.is_visible(), right.is_visible()) == (True, False)
        page.locator("[role=tab][data-side=right]").tap()
        assert (left.is_visible(), right.is_visible()) == (False, True)
        swipe(page, 120)
        assert (left.is_visible(), right.is_visible()) == (True, False)
        swipe(page, -120)
        assert right.is_visible()
        swipe(page, 20)  # too short for a swipe
        assert right.is_visible()
        page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        for name in ("1 is better", "Tie", "Both bad", "2 is better", "Undo"):
            box = page.get_by_role("button", name=name).bounding_box()
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= 844
        page.set_viewport_size({"width": 390, "height": 450})  # so that it scrolls
        page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        tabs, top = part(page, "tabs").bounding_box(), page.locator(".top").bounding_box()
        assert abs(tabs["y"] - top["y"] - top["height"]) < 2
        page.set_viewport_size(PHONE["viewport"])
        assert small_targets(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        check_screen(page, tmp_path / "pair.png", dark=dark)
        page.get_by_role("button", name="2 is better").tap()
        ready(page)
        assert left.is_visible()  # a new question begins with its first document
        page.goto(site.page("grades"))
        ready(page)
        assert small_targets(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        check_screen(page, tmp_path / "grades.png", dark=dark)
        page.goto(f"{site.address}/")
        assert small_targets(page) == []
    assert [event.data["answer"] for event in site.events("pairs", "judgment")] == ["<"]


def swipe(page, across):
    """A finger on the document that moves to the right, or to the left if negative."""
    page.evaluate(
        """(across) => {
            const pair = document.querySelector("[data-ui=pair]");
            const point = (x) => new Touch({ identifier: 1, target: pair, clientX: x, clientY: 400 });
            const send = (kind, x, touches) => pair.dispatchEvent(
                new TouchEvent(kind, { touches, changedTouches: [point(x)], bubbles: true }));
            send("touchstart", 200, [point(200)]);
            send("touchend", 200 + across, []);
        }""",
        across,
    )


@pytest.fixture
def admin_page(browser, site):
    with new_page(browser) as (page, wrong):
        enter(page, site.link("eve", "admin"))
        yield page
    assert wrong == []


def accept(dialog):
    dialog.accept()


def section(page, name):
    page.get_by_role("navigation", name="Admin").get_by_role("link", name=name).click()
    page.wait_for_load_state("load")


def test_the_admin_adds_gives_and_disables(admin_page, browser, site):
    page = admin_page
    section(page, "Assessors")
    page.get_by_label("Id, for links and files").fill("zoe")
    page.get_by_role("button", name="Add").click()
    dialog = part(page, "linkDialog")
    dialog.wait_for(state="visible")
    link = part(page, "linkText").input_value()
    part(page, "linkClose").click()
    page.locator("tr[data-member=zoe]").wait_for()
    assert link not in page.content()
    form = page.locator("form[data-post='/api/admin/tasks/assign']")
    form.locator("[name=assessor]").select_option("zoe")
    form.locator("[name=tool]").select_option("grade")
    page.get_by_role("button", name="Give").click()
    page.get_by_text("New tasks: 1.").wait_for()
    (state,) = site.store.session_states("zoe")
    row = page.locator(f"tr[data-task='{state.task.id}']")
    with page.expect_navigation():
        row.get_by_label("Priority of").select_option("high")
    assert site.store.session_states("zoe")[0].priority == 1
    context = browser.new_context()
    zoe = context.new_page()
    enter(zoe, link)
    assert "first, please" in zoe.locator(".card").inner_text()
    page.once("dialog", accept)
    with page.expect_navigation():
        page.locator("tr[data-member=zoe]").get_by_role("button", name="Disable").click()
    zoe.reload()
    assert "personal link" in zoe.locator("h1").inner_text()
    context.close()
    section(page, "Exports and audit")
    actions = [
        row.locator("td").nth(1).inner_text() for row in page.locator(".audit tbody tr").all()
    ]
    assert actions[:4] == ["disable assessor", "set priority", "assign task", "add assessor"]


def test_the_admin_settles_writes_guidelines_and_downloads(admin_page, site):
    page = admin_page
    section(page, "Disagreements")
    assert page.locator("article.document").count() in (1, 2)
    page.get_by_label("Reason").fill("Read both twice.")
    with page.expect_navigation():
        page.locator(".settle button").first.click()
    query, documents = site.store.settlements()[-1].query, site.store.settlements()[-1].documents
    assert (query, site.store.settlements()[-1].note) == ("q1", "Read both twice.")
    assert len(documents) == len(page.locator("article.document").all())
    assert "by eve" in page.locator(".verdict").inner_text()
    section(page, "Guidelines")
    before = site.store.guidelines().version
    page.get_by_label("Text, in Markdown").fill("Say **what** you see.")
    page.get_by_label("Fair").fill("Only a little.")
    with page.expect_navigation():
        page.get_by_role("button", name="Save a new version").click()
    page.get_by_text(f"Saved as version {before + 1}.").wait_for()
    assert page.locator(".sheet-like strong").inner_text() == "what"
    assert site.store.guidelines().grades["Fair"] == "Only a little."
    section(page, "Exports and audit")
    page.locator("[name=what]").select_option("judgments")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "judgments.csv"
    header = download.value.path().read_text().splitlines()[0]
    assert header.endswith("undone,guidelines")
    page.locator("[name=format]").select_option("qrels")
    page.get_by_role("button", name="Download").click()
    page.get_by_text(re.compile("expected format parquet or csv", re.IGNORECASE)).wait_for()


@pytest.mark.parametrize("dark", [False, True])
def test_the_admin_s_pages_fit_a_phone(browser, site, tmp_path, dark):
    scheme = "dark" if dark else "light"
    with new_page(browser, **PHONE, color_scheme=scheme) as (page, wrong):
        enter(page, site.link("eve", "admin"))
        for name in ("", "/assessors", "/disagreements", "/guidelines", "/audit"):
            page.goto(f"{site.address}/admin{name}")
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
            assert small_targets(page) == [], name
            for problems in (CONTRAST, NAMELESS, TWICE):
                assert page.evaluate(problems) == [], name
            check_screen(page, tmp_path / f"admin{name.replace('/', '-')}.png", dark=dark)
    assert wrong == []


def test_a_new_assessor_has_no_tasks_and_the_dialog_gives_them(admin_page, site):
    page = admin_page
    section(page, "Assessors")
    page.get_by_label("Id, for links and files").fill("yve")
    page.get_by_role("button", name="Add").click()
    dialog = part(page, "linkDialog")
    dialog.wait_for(state="visible")
    assert "The list of yve is empty" in dialog.inner_text()
    part(page, "linkClose").click()
    row = page.locator("tr[data-member=yve]")
    row.get_by_role("link", name="no tasks yet").wait_for()
    page.on("dialog", accept)
    row.get_by_role("button", name="New link").click()
    dialog.wait_for(state="visible")
    link = part(page, "linkText").input_value()
    dialog.get_by_role("button", name="Give all queries").click()
    dialog.get_by_text("New tasks: 1.").wait_for()
    assert part(page, "linkText").input_value() == link  # it is still there to be copied
    assert len(site.store.session_states("yve")) == 1
    part(page, "linkClose").click()
    page.locator("tr[data-member=yve]").get_by_text("0 of 1").wait_for()
    page.locator("tr[data-member=yve]").get_by_role("button", name="New link").click()
    dialog.wait_for(state="visible")
    page.remove_listener("dialog", accept)
    assert "is empty" not in dialog.inner_text()
