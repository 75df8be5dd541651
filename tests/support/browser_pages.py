"""Pages of a browser that know nothing yet; one page serves many tests, as each new one is a new process."""

import weakref
from contextlib import contextmanager

from playwright.sync_api import Error

USUAL_VIEWPORT = {"width": 1280, "height": 720}
USUAL_MEDIA = {"color_scheme": "light", "reduced_motion": "reduce"}
CLEAR = "() => { localStorage.clear(); sessionStorage.clear(); }"
FREE_PAGES = weakref.WeakKeyDictionary()
"""Browser -> the options of a context -> pages that no test uses."""


@contextmanager
def new_page(browser, **options):
    """A page without cookies, stored values or other pages; a script that fails fails the test.

    What a later test could see of this one is removed. After a failure, or if the test closed the
    page, the whole context goes.
    """
    viewport = options.pop("viewport", USUAL_VIEWPORT)
    media = {name: options.pop(name, usual) for name, usual in USUAL_MEDIA.items()}
    free = FREE_PAGES.setdefault(browser, {}).setdefault(repr(sorted(options.items())), [])
    page = free.pop() if free else browser.new_context(**options).new_page()
    page.set_viewport_size(viewport)
    page.emulate_media(**media)
    wrong = []
    listeners = {
        "pageerror": lambda error: wrong.append(str(error)),
        "console": lambda line: wrong.append(line.text) if "Security" in line.text else None,
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    is_free = False
    try:
        yield page, wrong
        is_free = forget(page)
    finally:
        if is_free:
            for event, listener in listeners.items():
                page.remove_listener(event, listener)
            free.append(page)
        else:
            page.context.close()


def forget(page):
    """Remove what a test left in a page and its context; False if they can serve no other test."""
    context = page.context
    if page.is_closed():
        return False
    for other in context.pages:
        if other != page:
            other.close()
    page.unroute_all(behavior="ignoreErrors")
    context.set_offline(False)
    context.clear_cookies()
    try:
        # A page of the site without scripts; it may stay, as about:blank takes another process.
        page.goto(page.evaluate("`${location.origin}/healthz`"))
        page.evaluate(CLEAR)
    except Error:  # the service is gone
        return False
    return True
