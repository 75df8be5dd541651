"""Documents on the judging pages: nothing runs, nothing breaks, nothing is read outside the folder."""

import html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.apps.judging.document_html import document_view, reading_length, sanitise, text_to_html
from podium.apps.judging.highlighting import highlight, query_words
from podium.apps.judging.images import ImageFolder, image_address, image_file
from podium.apps.judging.settings import JudgingSettings
from podium.labelling import Pool, PoolDocument, PoolQuery
from tests.support.judging_client import serving

ATTACKS = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)><script>x</script>",
    '<a href="javascript:alert(1)">x</a>', '<a href=" jAvA\tscript:alert(1)">x</a>', "<style>*{}</style>",
    '<p style="position:fixed">x</p>', "<iframe src=//evil.test>", "<form action=/x><input name=a></form>",
    '<base href="//evil.test">', '<meta http-equiv="refresh" content="0">',
    '<a href="data:text/html,x">x</a>',
    "<math><mi//xlink:href=\"data:x,<script>alert(1)</script>\">", '<div id="judging" class="x">x</div>',
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">", "<!--><script>alert(1)</script>-->",
    '<p title="a>b<script>jazz</script>">jazz</p>', "<template><script>x</script></template>", "<mark" * 50,
    '<button onclick="x">x</button>', '<object data="x"></object>', '<link rel=stylesheet href=//evil.test>',
    '<img src="https://evil.test/a.png">', '<img srcset="//evil.test/a.png 2x">', "<b>" * 3000,
    "&#0;&lt;script",
]  # fmt: skip

TAGS = {
    "p",
    "a",
    "b",
    "div",
    "mark",
    "br",
    "pre",
    "span",
    "img",
    "table",
    "tbody",
    "tr",
    "td",
    "ul",
    "li",
}
KEPT = {"href", "title", "target", "rel", "src", "alt", "lang", "dir"}


class Reader(HTMLParser):
    """What a browser would find."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text = set(), [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def read(markup):
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader


def check(markup):
    found = read(markup)
    assert found.tags <= TAGS
    assert {name for name, _ in found.attributes} <= KEPT
    for name, value in found.attributes:
        if name == "href":
            assert value.startswith(("http://", "https://", "mailto:"))
        if name == "src":
            assert value.startswith("/images/")


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("kind", ["html", "text"])
def test_attacks_are_harmless(attack, kind):
    words = ("jazz", "script", "alert", "mark")
    check(
        document_view(PoolDocument("d", f"a jazz {attack} b", kind), words, images=image_address)[
            "html"
        ]
    )


pieces = st.sampled_from(
    [
        "<b>", "</b>", "<p title='", "'>", '"', ">", "<", "&", "&amp;", "jazz", "Jazz", " ", "<script>",
        "</script>", "<a href=javascript:x>", "<!--", "-->", "é", "&jazz;",
    ]
)  # fmt: skip


def is_text(content):
    return "\0" not in content and not any("\ud800" <= c <= "\udfff" for c in content)


documents = st.lists(pieces | st.text(max_size=3), max_size=25).map("".join).filter(is_text)


@given(documents)
def test_whatever_a_document_is_it_is_harmless(content):
    check(
        document_view(PoolDocument("d", content, "html"), ("jazz", "b"), images=image_address)[
            "html"
        ]
    )


@given(documents)
def test_marking_changes_neither_tags_nor_text(content):
    clean = sanitise(content)
    marked = highlight(clean, ("jazz", "amp", "b"))
    assert re.sub("</?mark>", "", marked) == re.sub(
        "</?mark>", "", "".join(normal(part) for part in re.split(r'(<(?:"[^"]*"|[^">])*>)', clean))
    )
    assert read(marked).text == read(clean).text


def normal(part):
    """Text as it is escaped here; a tag as it is."""
    return part if part.startswith("<") else html.escape(html.unescape(part), quote=False)


@given(st.text(max_size=80).filter(is_text))
def test_text_is_shown_as_it_is(text):
    said = read(
        document_view(PoolDocument("d", text))["html"]
        .replace("<br>", "\n")
        .replace("</p><p>", "\n\n")
    ).text
    assert said.split() == text.split()


def test_words_are_marked():
    words = query_words("How to list the files?")
    assert words == ("list", "files")
    assert highlight("<p>Lists of FILES, listener, profiles</p>", words) == (
        "<p><mark>Lists</mark> of <mark>FILES</mark>, listener, profiles</p>"
    )
    assert highlight("<p>音楽の歴史</p>", query_words("音楽")) == "<p><mark>音楽</mark>の歴史</p>"
    assert highlight("x &lt;b&gt;", ("b",)) == "x &lt;<mark>b</mark>&gt;"
    assert highlight("x", ()) == "x"
    assert highlight("a.b axb", query_words("a.b")) != "a.b <mark>axb</mark>"


def test_text_keeps_its_lines():
    assert text_to_html("a\r\nb\n \n\n c") == "<p>a<br>b</p><p>c</p>"
    assert text_to_html(" \n ") == ""


def test_images_elsewhere_are_not_loaded():
    for address in (
        "https://evil.test/a.png", "//evil.test/a.png", "data:image/png;base64,x", "../a.png", "http://[",
        "a/../../b.png", "/etc/a.png", "a.exe", ".a.png", "a\\b.png", "%2e%2e/a.png",
    ):  # fmt: skip
        assert image_address(address) is None
        told = document_view(PoolDocument("d", address, "image"), images=image_address)
        assert "cannot be shown" in told["html"]
    assert (
        document_view(PoolDocument("d", "a/b c.PNG", "image"), images=image_address)["image"]
        == "/images/a/b%20c.PNG"
    )
    assert "html" in document_view(PoolDocument("d", "a.png", "image"), images=None)
    assert (
        sanitise('<img src="a.png" alt="x">', images=image_address)
        == '<img src="/images/a.png" alt="x">'
    )
    assert (
        sanitise(sanitise('<img src="a%20b.png">', images=image_address), images=image_address)
        == '<img src="/images/a%20b.png">'
    )


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "images"
    (folder / "cats").mkdir(parents=True)
    (folder / "cats" / "a b.png").write_bytes(b"\x89PNG")
    (folder / "evil.svg").write_text(
        "<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>"
    )
    (folder / "notes.txt").write_text("secret")
    (folder / ".hidden.png").write_text("secret")
    (tmp_path / "secret.png").write_text("secret")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "out").symlink_to(tmp_path)
    (folder / "loop.png").symlink_to(folder / "loop.png")
    (folder / "alias.png").symlink_to(folder / "notes.txt")
    return folder


BAD_PATHS = [
    "../secret.png", "cats/../../secret.png", "link.png", "out/secret.png", "loop.png", "notes.txt",
    "alias.png", ".hidden.png", "/etc/passwd", "nothing.png", "", ".", "..", "cats", "a\0.png",
    "x" * 5000 + ".png", "..\\secret.png", "cats/%2e%2e/%2e%2e/secret.png", "C:/secret.png", "//secret.png",
]  # fmt: skip


@pytest.mark.parametrize("path", BAD_PATHS)
def test_no_path_leads_out_of_the_folder(folder, path):
    assert image_file(folder, path) is None


def test_images_are_served(folder, tmp_path):
    pool = Pool(
        (
            PoolQuery("q1", "cats", documents=(
                PoolDocument("x", "cats/a b.png", "image"), PoolDocument("y", "cats/a b.png", "image"),
            )),
            PoolQuery("q2", "dogs", documents=(PoolDocument("x"), PoolDocument("y"))),
        )
    )  # fmt: skip
    with serving(tmp_path, pool, k=1, images=folder) as (site, tasks):
        ann = site.browser("ann")
        step = ann.open(tasks["ann", "q1"])["step"]
        answer = ann.get(step["left"]["image"])
        assert (answer.status_code, answer.content) == (200, b"\x89PNG")
        assert answer.headers["content-type"] == "image/png"
        images = ImageFolder(folder, site.links.key("image"))
        drawing = ann.get(images.address("evil.svg"))
        assert "sandbox" in drawing.headers["content-security-policy"]
        assert "script-src" not in drawing.headers["content-security-policy"]
        for path in (*BAD_PATHS[:12], "%2e%2e/secret.png", "..%2fsecret.png", "cats/%00.png"):
            assert ann.get(f"/images/{path}").status_code in (401, 403, 404), path
            proof = images._proof(path)  # not even with one
            assert ann.get(f"/images/{proof}/{path}").status_code in (401, 403, 404), path
        assert site.browser().get(images.address("evil.svg")).status_code == 401
        # The admin sees documents beside disagreements.
        assert site.browser("boss", "admin").get(images.address("evil.svg")).status_code == 200


def test_only_images_that_were_shown_can_be_fetched(folder, tmp_path):
    """Ann sees the cat in HTML; the drawing is of a query of somebody else, but its name is known."""
    cat = PoolDocument("x", "<p>a cat</p><img src='cats/a b.png'>", "html")
    pool = Pool(
        (
            PoolQuery("q1", "cats", documents=(cat, PoolDocument("y"))),
            PoolQuery("q2", "dogs", documents=(PoolDocument("x"), PoolDocument("y"))),
        )
    )
    with serving(tmp_path, pool, k=1, images=folder) as (site, tasks):
        ann = site.browser("ann")
        step = ann.open(tasks["ann", "q1"])["step"]
        markup = next(step[s]["html"] for s in ("left", "right") if step[s]["id"] == "x")
        address = read(markup).attributes[0][1]
        assert ann.get(address).content == b"\x89PNG"
        proof = address.split("/")[2]
        for other in (
            "evil.svg",
            f"{proof}/evil.svg",
            f"{'0' * 24}/evil.svg",
            f"{proof}/",
            "☃/evil.svg",
        ):
            assert ann.get(f"/images/{other}").status_code == 404, other


def test_the_clock_waits_for_readers():
    settings = JudgingSettings(idle_seconds=30, characters_per_second=15, longest_idle_seconds=100)
    short = document_view(PoolDocument("d", "x" * 150))
    assert settings.idle_after(reading_length(short)) == 30 + 150 / 15
    assert settings.idle_after(10**6) == 100
    assert (
        reading_length(
            document_view(PoolDocument("d", "<b>" + "x" * 30 + "</b>", "html", title="12345"))
        )
        == 35
    )
