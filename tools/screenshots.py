"""Screenshots of the README and the docs, taken from the real apps in Chromium.

python -m tools.screenshots           runs the demo (a minute), then takes every picture
python -m tools.screenshots DEMO      takes the folder of an earlier `podium demo --out DEMO`

The pictures are PNG files in docs/figures/screenshots: light theme, 1280 pixels wide, phones 390.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs/figures/screenshots"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTH = 1280
PHONE_WIDTH = 390
PALETTE_COLOURS = 128
PHONE = {
    "viewport": {"width": PHONE_WIDTH, "height": 700}, "is_mobile": True, "has_touch": True,
    "color_scheme": "light", "reduced_motion": "reduce",
}  # fmt: skip


def main() -> None:
    """Take every picture."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, _browser() as browser:
        demo = Path(sys.argv[1]) if len(sys.argv) > 1 else _run_demo(Path(folder) / "demo")
        for name, picture in {
            **photograph_judging(browser, Path(folder)),
            "judging-admin": photograph_admin(browser, Path(folder)),
            **photograph_playground(browser, demo),
            **photograph_report(browser, demo),
        }.items():
            size = _write_small(picture, PICTURES / f"{name}.png")
            print(f"{name}.png: {size / 1000:.0f} kB")


def photograph_judging(browser: Any, folder: Path) -> dict[str, bytes]:
    """Return the page of an assessor with a pair of documents, after six judgments, and on a phone."""
    with _server("judge", "demo", "--json", "--port", "0", cwd=folder) as started:
        page = _new_page(browser, height=480)
        _sign_in(page, started, role="assessor")
        _open_first_task(page)
        for key in ("ArrowRight", "ArrowLeft", "t", "ArrowLeft", "ArrowRight", "ArrowLeft"):
            _wait_for_question(page)
            page.keyboard.press(key)
        _wait_for_question(page)
        phone = browser.new_context(**PHONE).new_page()
        _sign_in(phone, started, role="assessor")
        _open_first_task(phone)
        _wait_for_question(phone)
        return {"judging": bytes(page.screenshot()), "judging-phone": bytes(phone.screenshot())}


def photograph_admin(browser: Any, folder: Path) -> bytes:
    """Return the page of an admin, with the progress of three assessors."""
    _make_campaign(folder / "campaign.db")
    with _server("judge", "serve", "campaign.db", "--json", "--port", "0", cwd=folder) as started:
        page = _new_page(browser)
        _sign_in(page, started, role="admin")
        page.wait_for_load_state("load")
        return bytes(page.screenshot())


def photograph_playground(browser: Any, demo: Path) -> dict[str, bytes]:
    """Return the playground with the demo's rules on one of the demo's queries, also on a phone."""
    files = ("model.podium", "--rules", "rules.yaml", "--samples", "samples.jsonl")
    with _server("serve", *files, "--json", "--port", "0", cwd=demo) as started:
        return _photograph("playground", started["url"], browser)


def photograph_report(browser: Any, demo: Path) -> dict[str, bytes]:
    """Return the first screen of the demo's report, also on a phone."""
    return _photograph("report", (demo / "report.html").resolve().as_uri(), browser)


def _photograph(name: str, url: str, browser: Any) -> dict[str, bytes]:
    """Return the first screen of a page, on a desktop and on a phone."""
    pages = {name: _new_page(browser), f"{name}-phone": browser.new_context(**PHONE).new_page()}
    for page in pages.values():
        page.goto(url)
        page.wait_for_load_state("networkidle")
    return {picture: bytes(page.screenshot()) for picture, page in pages.items()}


def _run_demo(folder: Path) -> Path:
    subprocess.run([_podium(), "demo", "--out", folder], check=True, stdout=subprocess.DEVNULL)
    return folder


def _make_campaign(path: Path) -> None:
    """Write a store of judgments of three assessors, all tasks finished."""
    from podium.labelling import (
        Pool,
        PoolDocument,
        PoolQuery,
        make_judgments,
        make_tasks,
        overlap_design,
    )
    from podium.labelling.store import Store, StoreMember

    documents = tuple(PoolDocument(f"d{i:02d}", f"Text of document {i}.") for i in range(14))
    pool = Pool(tuple(PoolQuery(f"q{i:02d}", f"query {i}", documents=documents) for i in range(9)))
    assessors = ["ann", "bob", "cat"]
    plan = overlap_design([query.id for query in pool], assessors, 2)
    with Store.open(str(path)) as store:
        store.add_pool(pool)
        store.add_members(map(StoreMember, assessors))
        store.add_tasks(make_tasks(plan, pool, k=5, strategy="tournament"))
        make_judgments(store, seed=1)


def _open_first_task(page: Any) -> None:
    """Open the first task, and close the guidelines that the first visit shows."""
    page.locator("a.button[href^='/judge/']").first.click()
    page.locator("dialog[open] [data-close]").click()


def _sign_in(page: Any, started: dict[str, Any], role: str) -> None:
    link = next(link["link"] for link in started["links"] if link["role"] == role)
    page.goto(link)
    page.locator("form.enter button").click()
    page.wait_for_url(re.compile(r"/(admin)?$"))


def _wait_for_question(page: Any) -> None:
    page.wait_for_selector("[data-ui=work][aria-busy=false]")
    page.wait_for_timeout(400)  # longer than a double click


def _podium() -> str:
    return str(Path(sys.executable).parent / "podium")


@contextmanager
def _server(*arguments: str, cwd: Path) -> Iterator[dict[str, Any]]:
    """Run a server of podium while the block runs; yield what it printed as JSON."""
    process = subprocess.Popen(
        [_podium(), *arguments], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )  # fmt: skip
    try:
        yield _first_json(process)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def _first_json(process: subprocess.Popen[str]) -> dict[str, Any]:
    printed = ""
    for line in process.stdout or ():
        printed += line
        try:
            return dict(json.loads(printed))
        except json.JSONDecodeError:
            continue
    sys.exit(f"podium printed no JSON: {printed}")


@contextmanager
def _browser() -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("screenshots need Playwright: pip install '.[dev]'")
    program = os.environ.get("PODIUM_CHROMIUM") or next(
        filter(None, map(shutil.which, BROWSERS)), None
    )
    if program is None:
        sys.exit(
            "screenshots need Chromium: install the package chromium, or name one in PODIUM_CHROMIUM"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def _new_page(browser: Any, height: int = 800) -> Any:
    context = browser.new_context(
        viewport={"width": WIDTH, "height": height}, color_scheme="light", reduced_motion="reduce"
    )
    return context.new_page()


def _write_small(picture: bytes, path: Path) -> int:
    """Write a PNG with a palette, a third of the bytes that the browser writes."""
    from PIL import Image

    colours = Image.open(io.BytesIO(picture)).convert("RGB").quantize(PALETTE_COLOURS)
    colours.save(path, optimize=True)
    return path.stat().st_size


if __name__ == "__main__":
    main()
