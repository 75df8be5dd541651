"""Rules saved from the page in a real browser: versions, merges, roll back, drafts and previews."""

import json
from contextlib import contextmanager

import httpx
import pytest

from podium.apps.serving.editing.editors_file import add_editor
from podium.rule_history import Author, RuleDrafts, RuleFolder
from podium.rule_history.rule_folder import records_of
from tests.apps.serving.test_playground_browser import (
    HOSTILE,
    card,
    order,
    playing,
    settled,
    ui,
    write,
)
from tests.support.accessibility import CONTRAST, NAMELESS, TWICE
from tests.support.ranking_service import eventually, running

FIRST = "version: 1\nrules:\n- {rule: hide, docs: c8, hard: true}\n"
WITH_PIN = FIRST + "- {rule: pin, docs: c5, position: 1, hard: true}\n"
BOB = Author("Bob")
HIDE = {"rule": "hide", "docs": "c8", "hard": True}
PIN = {"rule": "pin", "docs": "c5", "hard": True, "position": 1}
PIN_OF_PAGE = PIN | {"query": "chess clock"}
"""A rule is for the query of the list until it is widened."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A service with editors: its address, its folder of rules, and the token of Ann."""
    home = tmp_path_factory.mktemp("publishing")
    arguments = write(home)
    token = add_editor(home / "editors.yaml", "Ann")
    arguments[arguments.index("--rules") + 1] = home / "rules"
    with running(*arguments, "--editors", home / "editors.yaml", "--reload-seconds", "0.1") as (
        _,
        address,
    ):
        yield address, RuleFolder(str(home / "rules")), token


@pytest.fixture
def folder(shop):
    """The folder of rules, with a version of one rule to begin with, which is served."""
    address, rules, _ = shop
    rules.save(FIRST, BOB, "a start", base=rules.revision())
    eventually(lambda: httpx.get(f"{address}/v1/rules").json()["rules"] == [HIDE])
    return rules


def rules_of(folder):
    """The records of the newest version."""
    return [dict(rule) for rule in records_of(folder.newest().text)]


@contextmanager
def signed_in(browser, shop, **options):
    address, _, token = shop
    with playing(browser, address, **options) as page:
        if page.viewport_size["width"] < 800:
            page.locator("button[data-view=rules]").click()
        page.get_by_role("button", name="Sign in to edit").click()
        ui(page, "tokenText").fill(token)
        page.keyboard.press("Enter")
        page.wait_for_function(
            "() => document.querySelector('[data-ui=editorName]').textContent === 'Signed in as Ann.'"
        )
        page.wait_for_selector("[data-ui=main][aria-busy=false]")
        yield page


def pin_fifth(page):
    """Pin the fifth document to the first place."""
    page.locator("[data-ui=after] .doc[data-id=c5]").focus()
    page.keyboard.press("p")
    settled(page)


def open_saving(page):
    page.get_by_role("button", name="Save…").click()
    page.wait_for_selector("[data-ui=publish][open]")


def publish(page, reason):
    open_saving(page)
    ui(page, "reason").fill(reason)
    page.get_by_role("button", name="Save and serve").click()


def told(page, words):
    page.wait_for_function(
        "words => [...document.querySelectorAll('[role=status], [role=alert]')]"
        ".some((place) => place.textContent.includes(words))",
        arg=words,
    )


def test_a_rule_is_saved_with_a_reason_and_served(browser, shop, folder):
    with signed_in(browser, shop) as page:
        assert "c8" not in order(page)  # the version is shown, and acts
        pin_fifth(page)
        open_saving(page)
        assert ui(page, "changes").inner_text() == "added Pin c5 to place 1, for “chess clock”"
        ui(page, "reason").fill("campaign")
        page.get_by_role("button", name="Save and serve").click()
        told(page, "is saved and served")
        newest = folder.newest()
        assert (newest.header.author, newest.header.reason) == ("Ann", "campaign")
        assert rules_of(folder) == [HIDE, PIN_OF_PAGE]
        open_saving(page)
        assert ui(page, "changes").inner_text() == "Nothing is changed."
        assert page.get_by_role("button", name="Save and serve").is_disabled()


def test_a_wrong_token_edits_nothing(browser, shop, folder):
    with playing(browser, shop[0]) as page:
        page.get_by_role("button", name="Sign in to edit").click()
        ui(page, "tokenText").fill("wrong")
        page.keyboard.press("Enter")
        told(page, "That is not the token of an editor.")
        assert page.get_by_role("button", name="Save…").is_hidden()


def test_a_service_without_editors_offers_no_saving(browser, tmp_path):
    with running(*write(tmp_path)) as (_, address), playing(browser, address) as page:
        assert ui(page, "editing").is_hidden()


def test_who_is_second_sees_the_first_change_and_merges(browser, shop, folder):
    with signed_in(browser, shop) as page:
        pin_fifth(page)
        theirs = FIRST + "- {rule: hide, docs: c7, hard: true}\n"
        folder.save(theirs, BOB, "c7 is gone", base=folder.revision())
        publish(page, "mine")
        told(page, "Nothing is saved yet: somebody was first.")
        assert ui(page, "merge").locator("li").inner_text() == "added Hide c7"
        page.get_by_role("button", name="Merge both").click()
        told(page, "Merged.")
        assert ui(page, "changes").inner_text() == "added Pin c5 to place 1, for “chess clock”"
        page.get_by_role("button", name="Save and serve").click()
        told(page, "is saved and served")
        assert rules_of(folder) == [HIDE, HIDE | {"docs": "c7"}, PIN_OF_PAGE]


@pytest.mark.parametrize(("choice", "place"), [("mine", 2), ("theirs", 3)])
def test_a_rule_that_both_changed_is_chosen(browser, shop, folder, choice, place):
    folder.save(WITH_PIN, BOB, base=folder.revision())
    with signed_in(browser, shop) as page:
        page.reload()
        settled(page)
        pinned = [n for n in (1, 2) if "at place" in card(page, n).inner_text()]
        card(page, pinned[0]).get_by_label("at place").fill("2")
        settled(page)
        folder.save(WITH_PIN.replace("position: 1", "position: 3"), BOB, base=folder.revision())
        publish(page, "mine")
        told(page, "somebody was first")
        page.get_by_label("Which one stays").select_option(choice)
        page.get_by_role("button", name="Merge both").click()
        told(page, "Merged.")
        if choice == "mine":
            page.get_by_role("button", name="Save and serve").click()
            told(page, "is saved and served")
        assert rules_of(folder) == [HIDE, PIN | {"position": place}]


def test_versions_are_compared_and_rolled_back(browser, shop, folder):
    start = folder.newest_number()
    folder.save(WITH_PIN, BOB, "pinned", base=folder.revision())
    with signed_in(browser, shop) as page:
        page.get_by_role("button", name="Versions…").click()
        page.wait_for_selector("[data-ui=versions][open]")
        newest = ui(page, "versionList").locator("> li").first
        assert "Bob" in newest.inner_text()
        assert "pinned" in newest.inner_text()
        page.get_by_role("button", name=f"Compare {start} with {start + 1}").click()
        page.wait_for_selector(".versions .changes")
        assert page.locator(".versions .changes").inner_text() == "added Pin c5 to place 1"
        page.get_by_role("button", name=f"Roll back to {start}", exact=True).click()
        told(page, f"Version {start + 2} is served: the rules of version {start}.")
        assert folder.newest().text == FIRST
        settled(page)
        assert order(page)[0] == "c1"


def test_a_draft_is_saved_for_a_day_opened_and_published(browser, shop, folder):
    with signed_in(browser, shop) as page:
        pin_fifth(page)
        open_saving(page)
        page.locator("[data-ui=publish] summary").click()
        ui(page, "draftName").fill("black-friday")
        ui(page, "draftFrom").fill("2099-11-27")
        page.get_by_role("button", name="Save as a draft").click()
        told(page, "Draft black-friday is saved; it is served from 2099-11-27.")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Back to the service’s rules").click()
        settled(page)
        page.get_by_role("button", name="Versions…").click()
        page.get_by_role("button", name="Open black-friday").click()
        told(page, "The rules of the draft black-friday.")
        publish(page, "now")
        told(page, "is saved and served")
        assert rules_of(folder) == [HIDE, PIN_OF_PAGE]
        assert RuleDrafts(folder).names() == []


def test_a_preview_shows_lists_before_they_are_served(browser, shop, folder):
    with signed_in(browser, shop) as page:
        pin_fifth(page)
        open_saving(page)
        page.get_by_role("button", name="Preview").click()
        page.wait_for_selector("[data-ui=previewed] dl")
        text = ui(page, "previewed").locator("dl").first.inner_text()
        assert "chess clock, of the sample" in text
        assert "now: Clock 5, Clock 1, Clock 2, Clock 3, Clock 4" in text
        assert rules_of(folder) == [HIDE]  # nothing is saved


def test_names_and_reasons_run_nothing(browser, shop, folder):
    text = json.dumps({"version": 1, "rules": [HIDE | {"name": HOSTILE}]})
    folder.save(text, Author("<img src=x onerror=alert(1)>"), HOSTILE, base=folder.revision())
    with signed_in(browser, shop) as page:
        page.get_by_role("button", name="Versions…").click()
        page.wait_for_selector("[data-ui=versions][open] li")
        assert page.locator("dialog img, dialog script").count() == 0
        assert page.evaluate("window.ran") is None


def test_rules_that_the_page_has_no_form_for_are_shown_in_words_and_kept(browser, shop, folder):
    other = "- {rule: boost, docs: c5, factor: 4, hard: true, when: {device: phone}}\n"
    folder.save(FIRST + other, BOB, base=folder.revision())
    boost = rules_of(folder)[1]
    with signed_in(browser, shop) as page:
        page.reload()
        settled(page)
        texts = [card(page, n).inner_text() for n in (1, 2)]
        words = next(text for text in texts if "boost" in text)
        assert "boost: docs c5, factor 4" in words
        assert 'when {"device":"phone"}' in words
        pin_fifth(page)
        publish(page, "both")
        told(page, "is saved and served")
        assert rules_of(folder) == [HIDE, boost, PIN_OF_PAGE]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
def test_the_dialogs_have_contrast_and_names_and_fit(browser, shop, folder, scheme, width):
    size = {"width": width, "height": 740}
    with signed_in(browser, shop, color_scheme=scheme, viewport=size) as page:

        def check(where):
            assert page.evaluate("document.documentElement.scrollWidth") <= width, where
            assert page.evaluate(CONTRAST) == [], where
            assert page.evaluate(NAMELESS) == [], where
            assert page.evaluate(TWICE) == [], where

        check("signed in")
        open_saving(page)
        page.locator("[data-ui=publish] summary").click()
        page.get_by_role("button", name="Preview").click()
        page.wait_for_selector("[data-ui=previewed] p")
        check("save")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Versions…").click()
        page.wait_for_selector("[data-ui=versions][open] li")
        check("versions")
