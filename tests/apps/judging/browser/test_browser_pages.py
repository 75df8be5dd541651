"""The judging pages in a real browser: hostile documents, and pages for everybody."""

import http.server
import threading
from contextlib import closing, contextmanager

import pytest

from podium.labelling.generated_judgments import make_judgments
from podium.labelling.pools import PoolDocument, PoolQuery
from tests.support.accessibility import CONTRAST, NAMELESS, TWICE
from tests.support.judging_pages import all_sent, enter, judge_all, judging, part, press
from tests.support.judging_site import Site, jazz
from tests.support.screens import check_screen

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
        enter(page, site.link("eve", "admin"))
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
        closing(Site(tmp_path, jazz(("d0", "d1"), d0=image, d1=empty), images=tmp_path)) as site,
        judging(browser, site.start()) as page,
    ):
        found = page.get_by_alt_text("Red")
        assert found.evaluate("image => image.decode().then(() => image.naturalWidth)") == 40
        assert page.get_by_text("This document is empty.").is_visible()


def test_a_document_may_be_a_title_alone(browser, tmp_path):
    hats = {name: PoolDocument(name, title=f"Hat {name}") for name in ("d0", "d1")}
    with (
        closing(Site(tmp_path, jazz(tuple(hats), **hats))) as site,
        judging(browser, site.start()) as page,
    ):
        assert page.locator("[data-title]", has_text="Hat d1").first.is_visible()
        assert page.get_by_text("This document is empty.").count() == 0


# The way in


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """A page of another site: a link to follow, and a form that sends itself."""

    target = ""

    def do_GET(self):
        page = (
            f'<a href="{self.target}">your link</a>'
            f'<form method="post" action="{self.target}"><input name="form_token" value="x"></form>'
        )
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *_):
        pass


@contextmanager
def elsewhere(target):
    """Another site, on localhost; the judging site is on 127.0.0.1."""
    handler = type("To", (Elsewhere,), {"target": target})
    server = http.server.ThreadingHTTPServer(("localhost", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(20)


PHONE = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desk", "phone"])
def test_a_link_from_another_site_signs_in_with_one_press(browser, site, options, tmp_path):
    context, link = browser.new_context(**options), site.link()
    with closing(context), elsewhere(link) as address:
        page = context.new_page()
        page.goto(address)
        page.get_by_text("your link").click()
        button = page.get_by_role("button", name="Sign in and judge")
        button.wait_for()
        check_screen(page, tmp_path / "enter.png", dark=False)
        assert page.get_by_role("heading").inner_text() == f"Hello, {site.assessor}"
        box, width = button.bounding_box(), page.viewport_size["width"]
        assert box["height"] >= 44  # a thumb hits it
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert [cookie["name"] for cookie in context.cookies()] == ["podium_visit"]
        button.click()
        page.wait_for_url(f"{site.address}/")
        assert page.get_by_role("heading", name="Your queries").is_visible()
        page.goto(link)  # a bookmark leads on without a press
        assert page.url == f"{site.address}/"


def test_another_site_cannot_press_the_button(browser, site):
    context = browser.new_context()
    with closing(context), elsewhere(site.link()) as address:
        page = context.new_page()
        page.goto(site.link())  # the browser has a visit
        page.goto(address)
        page.evaluate("document.forms[0].submit()")
        page.get_by_text("own pages only").wait_for()
        assert [cookie["name"] for cookie in context.cookies()] == ["podium_visit"]


# For everybody


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_have_contrast_names_and_fit_a_phone(browser, site, scheme):
    phone = {"width": 360, "height": 740}
    with judging(browser, site, color_scheme=scheme, viewport=phone, has_touch=True) as page:
        # One at a time, behind two tabs.
        assert [part(page, side).is_visible() for side in ("left", "right")] == [True, False]

        def check(where):
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, where
            assert page.evaluate(CONTRAST) == [], where
            assert page.evaluate(NAMELESS) == [], where
            assert page.evaluate(TWICE) == [], where
            small = "[...document.querySelectorAll('button')].filter(e => e.checkVisibility())" \
                ".filter(e => e.getBoundingClientRect().height < 24).length"  # fmt: skip
            assert page.evaluate(small) == 0, where

        check("judge")
        undo = part(page, "bar").locator("[data-do=undo]")
        assert undo.is_disabled()
        assert float(undo.evaluate("e => getComputedStyle(e).opacity")) < 0.6  # and it looks so
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
        check("enter")
        enter(page, site.link("eve", "admin"))
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


SIZES = """
() => [...document.querySelectorAll(".grade")].map((e) => e.getBoundingClientRect())
  .map((box) => [Math.round(box.width), Math.round(box.height)])
"""


@pytest.mark.parametrize("width", [320, 375, 800, 1280])
def test_grades_are_of_one_size(browser, site, width):
    viewport = {"width": width, "height": 740}
    with judging(browser, site, "grades", viewport=viewport) as page:
        sizes = page.evaluate(SIZES)
        assert len(sizes) == 5
        assert max(w for w, _ in sizes) - min(w for w, _ in sizes) <= 1
        assert max(h for _, h in sizes) - min(h for _, h in sizes) <= 1
        assert page.evaluate("document.documentElement.scrollWidth") <= width


WIDER = """
() => [...document.querySelectorAll(".scroll, .plots figure")].filter((e) => e.scrollWidth > e.clientWidth)
  .map((e) => [e.ariaLabel || e.innerText.slice(0, 30), e.scrollWidth, e.clientWidth])
"""


def test_the_admin_s_tables_and_drawings_fit(browser, tmp_path):
    with closing(Site(tmp_path)) as site, judging(browser, site.start()) as page:
        judge_all(page)
        site.greet()
        make_judgments(site.store, seed=1)
        page.set_viewport_size({"width": 1280, "height": 900})
        enter(page, site.link("eve", "admin"))
        assert page.locator("[data-live=statistics] table").count() >= 4
        assert page.evaluate(WIDER) == []
        page.set_viewport_size({"width": 375, "height": 740})
        wider = page.evaluate(WIDER)
        assert {name for name, *_ in wider} <= {"Costs by method", "Costs by assessor"}
        drawings = page.locator(".plots text").all()
        sizes = [text.evaluate("e => e.getBoundingClientRect().height") for text in drawings[:4]]
        assert min(sizes) > 9  # and can be read
        assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_the_admin_sees_progress_live(browser, tmp_path):
    with closing(Site(tmp_path)) as site, judging(browser, site.start()) as page:
        admin = page.context.new_page()
        enter(admin, site.link("eve", "admin"))
        assert admin.get_by_text("0 of 2").count() == 3
        judge_all(page)
        admin.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        admin.get_by_text("1 of 2").first.wait_for()
        assert admin.locator(".plots svg").count() == 2
        assert admin.locator("[data-live=statistics] table").count() >= 2
