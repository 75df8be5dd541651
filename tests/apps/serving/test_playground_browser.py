"""The playground in a real browser: rules by keys and by mouse, reasons, conflicts, files; for everybody."""

import json
from contextlib import contextmanager
from dataclasses import replace

import pytest

from podium.postranking import Hide, NotTopK, Pin, TopK, Where, postrank, read_rules
from podium.postranking.rules.files import parse_rules
from tests.support.accessibility import CONTRAST, NAMELESS, TWICE
from tests.support.browser_pages import new_page
from tests.support.cli import run
from tests.support.ranking_service import NAMES, TOKEN, named, rows, running, save
from tests.support.screens import check_screen

HOSTILE = "<img src=x onerror=\"window.ran = 'title'\"><script>window.ran = 1</script>"
BRANDS = ("DGT", "DGT", "DGT", "Garde", "Leap", "Leap", "BHB", "BHB")
CLOCKS = [
    {"id": f"c{at}", "fields": {"title": f"Clock {at}", "brand": brand, "stock": at % 4}}
    for at, brand in enumerate(BRANDS, start=1)
]
RULES = """\
version: 1
rules:
  - {rule: top-k, docs: c4, k: 2, weight: 5, name: Garde first}
  - {rule: hide, docs: c3, hard: true, query: something else}
"""


def write(folder, token=None):
    """A model, rules and three queries: a list, one for the model, one of hostile documents."""
    ranked = [
        {"id": f"r{at}", "features": dict(zip(NAMES, row, strict=True))}
        for at, row in enumerate(rows(30).tolist())
    ]
    bad = [
        {"id": HOSTILE + str(at), "fields": {"title": HOSTILE, HOSTILE: HOSTILE, "a`b": 1}}
        for at in range(3)
    ]
    samples = [
        {"id": "clocks", "query": "chess clock", "documents": CLOCKS},
        {"id": "ranked", "query": "what the model ranks", "documents": ranked},
        {"id": "bad", "query": HOSTILE, "documents": bad},
    ]
    (folder / "samples.jsonl").write_text("".join(json.dumps(one) + "\n" for one in samples))
    (folder / "rules.yaml").write_text(RULES)
    (folder / "token").write_text(TOKEN)
    _, model = save(folder, data=named())
    arguments = ["--rules", folder / "rules.yaml", "--samples", folder / "samples.jsonl"]
    return [f"shop@1={model}", *arguments, *(["--token-file", folder / "token"] if token else [])]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with running(*write(tmp_path_factory.mktemp("playground"))) as (_, found):
        yield found


@contextmanager
def playing(browser, address, wait=True, **options):
    """The page in a browser that knows nothing yet; a script that fails fails the test."""
    options = {"viewport": {"width": 1400, "height": 1000}, **options}
    permissions = ["clipboard-read", "clipboard-write"]
    with new_page(browser, permissions=permissions, **options) as (page, wrong):
        page.goto(address)
        if wait:
            settled(page)
        yield page
    assert wrong == []


def ui(page, name):
    return page.locator(f"[data-ui={name}]")


def settled(page):
    """All answers are there."""
    page.wait_for_selector("[data-ui=main][aria-busy=false] [data-ui=after] .doc")


def order(page, name="after"):
    return [row.get_attribute("data-id") for row in ui(page, name).locator(".doc").all()]


def card(page, number):
    return page.locator(".cards > li").nth(number - 1)


def status(page, number):
    return card(page, number).locator(".status").inner_text()


def restart(page):
    """Without the service's rules."""
    while page.locator(".card .remove").count():
        page.locator(".card .remove").first.click()
    settled(page)


def pick(page, words):
    page.keyboard.press("/")
    page.keyboard.type(words)
    page.keyboard.press("Enter")
    settled(page)


IDS = [clock["id"] for clock in CLOCKS]


def test_it_begins_with_the_services_rules_for_this_query(browser, address):
    with playing(browser, address) as page:
        assert order(page, "before") == IDS
        found = postrank(CLOCKS, [TopK("c4", 2, weight=5, name="Garde first")])
        assert order(page) == list(found.order)
        assert page.locator(".card").count() == 1
        assert status(page, 1) == "Holds."
        row = ui(page, "after").locator(":scope > li:has([data-id=c4])")
        assert "Garde first" in row.locator(".why").inner_text()
        assert "4 → " in row.inner_text()
        assert "1 rule for other queries" in ui(page, "elsewhere").inner_text()
        assert ui(page, "summary").inner_text().endswith("the rule holds.")


def test_a_model_without_samples_says_how_it_ranks_searches(browser, tmp_path):
    _, model = save(tmp_path, data=named())
    with running(f"shop@1={model}") as (_, address), playing(browser, address) as page:
        assert ui(page, "source").inner_text() == (
            "The demo’s list: Python’s standard library, ranked by a learned model. Its documents have no "
            "features, so the model “shop” does not rank it: start podium serve with --samples to see your "
            "own searches."
        )


def test_fields_that_say_something_are_shown_below_a_title(browser, address):
    with playing(browser, address) as page:
        notes = ui(page, "before").locator(".doc small").all_inner_texts()
    assert notes[:4] == [
        "c1 · DGT · stock 1",
        "c2 · DGT · stock 2",
        "c3 · DGT · stock 3",
        "c4 · Garde · stock 0",
    ]


def test_a_yes_is_shown_with_its_name_and_rules_without_effect_are_counted(browser, address):
    with playing(browser, address) as page:
        documents = [{"id": "a", "fields": {"brand": "Acme", "in_stock": "yes"}}, {"id": "b"}]
        note = page.evaluate(
            "async (all) => (await import('/static/documents.js')).noteOf(all[0])", documents
        )
        words = page.evaluate(
            """async () => (await import('/static/outcomes.js')).summary({
              documents: [1, 2], moves: new Map(), hidden: [], isOld: false, unused: 0,
              rules: [{record: {}}, {record: {}}], outcomes: [{satisfied: true}, {note: "no such query"}],
            })"""
        )
    assert note == "Acme · in_stock yes"
    assert words == "Nothing moved; the rule holds, 1 other does nothing here."


def test_a_rule_by_keyboard_moves_the_list_with_its_reason_and_is_copied(
    browser, address, tmp_path
):
    with playing(browser, address) as page:
        restart(page)
        assert order(page) == IDS
        page.locator("[data-ui=after] .doc").first.focus()
        for _ in range(5):
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert ui(page, "selection").locator("strong").inner_text() == "Clock 6"
        page.keyboard.press("t")
        settled(page)
        assert page.evaluate("document.activeElement.dataset.field") == "k"
        page.keyboard.press("ArrowDown")  # of the number: the first 2
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.dataset.field") == "weight"
        page.keyboard.type("30")
        settled(page)
        rule = TopK("c6", 2, weight=30)
        assert order(page) == list(postrank(IDS, [rule]).order)
        first = ui(page, "after").locator("li").first
        assert "▲" in first.inner_text()
        assert "Show Clock 6 in the first 2" in first.locator(".why").first.inner_text()
        second = ui(page, "after").locator(":scope > li").nth(1)
        assert "makes way for Clock 6" in second.locator(".why").inner_text()
        assert "Clock 6 from 6 to 1" in ui(page, "said").inner_text()
        page.keyboard.press("Escape")  # to the list
        page.keyboard.press("c")
        page.wait_for_function(
            "() => document.querySelector('[data-ui=told]').textContent === 'Copied.'"
        )
        text = page.evaluate("navigator.clipboard.readText()")
    for_this_query = replace(rule, query="chess clock")
    assert parse_rules(text) == (Hide("c3", hard=True, query="something else"), for_this_query)
    (tmp_path / "rules.yaml").write_text(text)
    assert read_rules(tmp_path / "rules.yaml") == parse_rules(text)
    told = run("rules", "check", tmp_path / "rules.yaml").stdout
    assert told == "rules: 2, errors: 0, warnings: 0\n"


def test_two_documents_are_chosen_by_keyboard(browser, address):
    with playing(browser, address) as page:
        restart(page)
        ui(page, "after").locator(".doc").nth(1).focus()
        for key in ("Enter", "ArrowDown", "ArrowDown", "Space"):
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement.dataset.id") == IDS[3]
        assert page.locator("[data-ui=after] .doc[aria-pressed=true]").count() == 2
        page.keyboard.press("b")
        settled(page)
        assert page.locator(".card").count() == 1
        assert status(page, 1) == "Holds."
        # What is removed leaves the focus with its neighbour, or where rules are added.
        page.keyboard.press("Escape")
        page.keyboard.press("t")
        settled(page)
        for left in (1, 0):
            page.locator(".card .remove").first.focus()
            page.keyboard.press("Enter")
            settled(page)
            assert page.locator(".card").count() == left
            assert page.evaluate("document.activeElement.closest('.card, .menu') !== null")


def test_a_copy_says_what_it_lacks(browser, address):
    with playing(browser, address) as page:
        restart(page)
        page.locator("[data-ui=menu] summary").click()
        page.locator("[data-ui=kinds] button").first.click()  # about no document yet
        page.locator("[data-do=copy]").click()
        page.wait_for_function(
            "() => document.querySelector('[data-ui=told]').textContent.includes('not finished')"
        )


def test_rules_by_mouse_undo_and_redo(browser, address):
    with playing(browser, address) as page:
        restart(page)
        page.locator("[data-ui=before] .doc").nth(2).click()
        ui(page, "selection").get_by_role("button", name="Hide").click()
        settled(page)
        assert order(page) == [id_ for id_ in IDS if id_ != "c3"]
        assert order(page, "hidden") == ["c3"]
        page.get_by_role("button", name="Undo").click()
        settled(page)
        assert order(page) == IDS
        page.get_by_role("button", name="Redo").click()
        settled(page)
        assert order(page, "hidden") == ["c3"]
        page.locator("[data-ui=after] .doc").nth(0).click()
        page.locator("[data-ui=after] .doc").nth(4).click()
        ui(page, "selection").get_by_role("button", name="Keep together").click()
        settled(page)
        places = [order(page).index(id_) for id_ in ("c1", "c6")]
        assert abs(places[0] - places[1]) == 1
        assert status(page, 2) == "Holds."


def test_rules_stay_when_the_page_is_loaded_again(browser, address):
    with playing(browser, address) as page:
        page.locator("[data-ui=after] .doc").nth(6).focus()
        page.keyboard.press("p")
        settled(page)
        moved = order(page)
        assert moved[0] == "c7"
        page.keyboard.press("Escape")  # to the document that the rule is about
        assert page.evaluate("document.activeElement.dataset.id") == "c7"
        page.reload()
        page.wait_for_selector(".card:nth-child(2)")
        settled(page)
        assert order(page) == moved
        page.get_by_role("button", name="Undo").click()
        settled(page)
        assert page.locator(".card").count() == 1


def test_a_rule_that_was_undone_does_not_come_back_with_the_page(browser, address):
    with playing(browser, address) as page:
        page.locator("[data-ui=after] .doc").nth(5).focus()
        page.keyboard.press("h")
        settled(page)
        assert page.locator(".card").count() == 2
        page.get_by_role("button", name="Undo").click()
        settled(page)
        page.reload()
        settled(page)
        assert page.locator(".card").count() == 1
        assert page.get_by_role("button", name="Undo").is_disabled()


@pytest.mark.parametrize("scope", ["query", "pattern"])
def test_a_rule_for_one_query_waits_until_it_is_said_which(browser, address, scope):
    with playing(browser, address) as page:
        rule = card(page, 1)
        rule.locator("[data-field=scope]").select_option(scope)
        settled(page)
        assert status(page, 1) == "Holds."
        rule.locator(f"[data-field={scope}]").fill(" ")
        settled(page)
        assert status(page, 1) == "Say which query."
        assert order(page) == IDS  # it is for no query, not for every one
        rule.locator(f"[data-field={scope}]").fill("Chess  clock")
        settled(page)
        assert status(page, 1) == "Holds."


def test_documents_are_chosen_by_their_fields(browser, address):
    with playing(browser, address) as page:
        restart(page)
        page.get_by_text("Add a rule", exact=True).click()
        page.locator("[data-ui=kinds]").get_by_role("button", name="Hide").click()
        assert status(page, 1) == "Choose a document."
        card(page, 1).get_by_label("Documents: chosen by").select_option("where")
        card(page, 1).get_by_label("Documents: field").select_option("stock")
        card(page, 1).get_by_label("Documents: comparison").select_option("<")
        card(page, 1).get_by_label("Documents: value").fill("2")
        settled(page)
        hidden = [doc["id"] for doc in CLOCKS if doc["fields"]["stock"] < 2]
        assert sorted(order(page, "hidden")) == sorted(hidden)
        text = open_file(page)
        assert parse_rules(text)[-1] == Hide(Where("stock < 2"), hard=True, query="chess clock")
        page.keyboard.press("Escape")
        page.locator(".kind").select_option("at-most")
        card(page, 1).get_by_label("Documents: chosen by").select_option("each")
        card(page, 1).get_by_label("Documents: field").select_option("brand")
        settled(page)
        first = [BRANDS[IDS.index(id_)] for id_ in order(page)[:5]]
        assert max(map(first.count, first)) <= 2


def open_file(page):
    page.get_by_role("button", name="File…").click()
    page.wait_for_selector("[data-ui=file][open]")
    return page.locator("#yaml").input_value()


def use_file(page, *records):
    open_file(page)
    page.locator("#yaml").fill(json.dumps({"version": 1, "rules": records}))
    page.get_by_role("button", name="Use this text").click()
    page.wait_for_selector("[data-ui=file]", state="hidden")
    settled(page)


@pytest.mark.parametrize(
    ("condition", "typed", "expected"),
    [
        ("price < 10", "20", "price < 20"),  # a field that no document here has
        ("price < 10", ".5", "price < .5"),
        ("price < .5", "1.", "price < 1."),
        ("price < 1.", "-1e3", "price < -1e3"),
        ("price < 10", "007", "price < 7"),
        ("price == '10'", "20", 'price == "20"'),
        ("5 in sizes", "6", "6 in sizes"),
        ("'5' in sizes", "6", '"6" in sizes'),
        ("new == True", "false", "new == False"),
        ("stock == 'x'", "2", "stock == 2"),  # documents have numbers
        ("brand == 'x'", "2", 'brand == "2"'),
    ],
)
def test_a_value_keeps_its_kind_when_it_is_changed(page_of_clocks, condition, typed, expected):
    page = page_of_clocks
    use_file(page, {"rule": "hide", "where": condition})
    card(page, 1).get_by_label("Documents: value").fill(typed)
    settled(page)
    assert parse_rules(open_file(page)) == (Hide(Where(expected)),)
    page.keyboard.press("Escape")


@pytest.fixture(scope="module")
def page_of_clocks(browser, address):
    with playing(browser, address) as page:
        yield page


def test_a_comparison_changes_and_the_value_stays(browser, address):
    with playing(browser, address) as page:
        use_file(page, {"rule": "hide", "where": "stock < 1", "hard": True})
        card(page, 1).get_by_label("Documents: value").fill("2")
        card(page, 1).get_by_label("Documents: comparison").select_option(">")
        settled(page)
        assert order(page, "hidden") == [doc["id"] for doc in CLOCKS if doc["fields"]["stock"] > 2]


def test_a_condition_that_no_form_can_show_is_text(page_of_clocks):
    page = page_of_clocks
    use_file(page, {"rule": "hide", "where": r'brand == "\x44GT"', "hard": True})
    assert card(page, 1).get_by_label("Documents: condition").input_value() == r'brand == "\x44GT"'
    assert order(page, "hidden") == ["c1", "c2", "c3"]


def test_a_field_that_no_condition_can_name_is_not_offered(browser, address):
    with playing(browser, address) as page:
        restart(page)
        pick(page, "onerror")
        page.locator("[data-ui=after] .doc").first.focus()
        page.keyboard.press("m")
        for mode, fields in (("where", [HOSTILE, "title"]), ("each", [HOSTILE, "a`b", "title"])):
            card(page, 1).get_by_label("Documents: chosen by").select_option(mode)
            assert card(page, 1).get_by_label("Documents: field").evaluate(
                "select => [...select.options].map((option) => option.value)"
            ) == fields  # fmt: skip


def pin(page, *places):
    """Pin the documents at these places, from 0, to the first one."""
    for at in places:
        page.locator("[data-ui=before] .doc").nth(at).focus()
        page.keyboard.press("p")
        settled(page)


def refuse_conflicts(page):
    """No rule may give way, so that conflicts leave the page without a list."""

    def ask(route):
        body = {**json.loads(route.request.post_data), "conflicts": "error"}
        route.continue_(post_data=json.dumps(body))

    page.route("**/v1/postrank", ask)


def test_conflicts_are_shown_where_they_are(browser, address):
    with playing(browser, address) as page:
        refuse_conflicts(page)
        restart(page)
        pin(page, 1)
        assert ui(page, "summary").inner_text().endswith("the rule holds.")
        pin(page, 3)
        assert ui(page, "summary").inner_text() == "The rules cannot all hold."
        assert (
            ui(page, "alert")
            .inner_text()
            .startswith("Rules 1 and 2 must hold, and cannot all hold")
        )
        assert status(page, 1) == "Cannot hold together with rule 2."
        assert status(page, 2) == "Cannot hold together with rule 1."
        assert order(page)[0] == "c2"  # as it was
        page.get_by_role("button", name="Make rule 1 a wish").click()
        settled(page)
        assert ui(page, "alert").is_hidden()
        rules = [Pin("c2", 1), Pin("c4", 1, hard=True)]
        assert order(page) == list(postrank(IDS, rules).order)
        assert ui(page, "summary").inner_text().endswith("; 1 of 2 rules holds.")
        assert status(page, 1).startswith("Not met: off by ")
        assert "Contradicts rule 2" in status(page, 1)


def test_a_priority_says_which_rule_gives_way(browser, address):
    with playing(browser, address) as page:
        restart(page)
        pin(page, 1, 3)
        card(page, 2).get_by_label("priority").fill("5")
        settled(page)
        assert order(page)[0] == "c4"
        assert (
            "Rules 1 and 2 must hold, and cannot all hold together. Rule 1 gave way: its priority "
            in (ui(page, "alert").inner_text())
        )
        assert "as it was before" not in ui(page, "alert").inner_text()
        assert ui(page, "summary").inner_text().endswith("; 1 of 2 rules holds.")
        assert status(page, 1) == "Gave way. Cannot hold together with rule 2."
        assert status(page, 2) == "Holds. Cannot hold together with rule 1."
        assert parse_rules(open_file(page))[-2:] == (
            Pin("c2", 1, hard=True, query="chess clock"),
            Pin("c4", 1, hard=True, query="chess clock", priority=5),
        )
        page.keyboard.press("Escape")
        card(page, 1).get_by_label("priority").fill("6.5")
        settled(page)
        assert status(page, 1) == "Give it a whole number as priority."
        assert ui(page, "alert").is_hidden()
        card(page, 1).get_by_label("priority").fill("6")
        settled(page)
        assert order(page)[0] == "c2"
        assert status(page, 2).startswith("Gave way.")


def copied(page):
    """The notice of a copy of rules that clash, and the text in the clipboard."""
    page.locator("[data-do=copy]").click()
    page.wait_for_selector("[data-ui=told].is-warning")
    return ui(page, "told").inner_text(), page.evaluate("navigator.clipboard.readText()")


def test_a_copy_of_rules_that_clash_says_so(browser, address):
    with playing(browser, address) as page:
        restart(page)
        pin(page, 1, 3)
        notice, text = copied(page)
        assert notice == (
            "Copied. But “Pin Clock 2 to place 1” and “Pin Clock 4 to place 1” cannot all hold "
            "together. Change one of them before you use the file."
        )
        assert [rule.named_docs for rule in parse_rules(text)[-2:]] == [("c2",), ("c4",)]
        open_file(page)
        page.locator("[data-do=copyText]").click()
        page.wait_for_selector("[data-ui=yamlTold].is-warning")
        assert ui(page, "yamlTold").inner_text() == notice
        page.keyboard.press("Escape")
        card(page, 2).get_by_label("at place").fill("2")
        settled(page)
        assert ui(page, "told").inner_text() == ""
        page.locator("[data-do=copy]").click()
        page.wait_for_function(
            "() => document.querySelector('[data-ui=told]').textContent === 'Copied.'"
        )


SOLD_OUT = {"rule": "hide", "where": "stock == 0", "hard": True, "name": "Sold out"}


def test_a_copy_of_rules_of_which_one_gives_way_on_this_list_has_a_note(browser, address):
    with playing(browser, address) as page:
        use_file(page, {"rule": "pin", "docs": "c4", "position": 1, "hard": True}, SOLD_OUT)
        page.locator("[data-do=copy]").click()
        page.wait_for_function(
            "() => document.querySelector('[data-ui=told]').textContent.includes('Note')"
        )
        assert ui(page, "told").inner_text() == (
            "Copied. Note: “Pin Clock 4 to place 1” gives way to “Sold out” on this list; the service "
            "serves it."
        )
        assert "is-warning" not in ui(page, "told").get_attribute("class")


def test_each_clash_names_its_rules_the_one_that_gave_way_and_why(browser, address):
    with playing(browser, address) as page:
        use_file(
            page,
            {"rule": "pin", "docs": "c4", "position": 1, "hard": True},
            SOLD_OUT,
            {"rule": "pin", "docs": "c1", "position": 2, "hard": True},
            {"rule": "pin", "docs": "c2", "position": 2, "hard": True},
            {"rule": "pin", "docs": "c3", "position": 3, "hard": True, "priority": -1},
            {"rule": "not-top-k", "docs": "c3", "k": 4, "hard": True},
        )
        clash = "Rules {} and {} must hold, and cannot all hold together. Rule {} gave way: {}."
        equal = "at equal priority "
        assert sorted(ui(page, "alert").locator("p").all_inner_texts()) == [
            clash.format(1, 2, 1, equal + "a pin gives way to a hide"),
            clash.format(3, 4, 4, equal + "the rule whose name sorts last gives way"),
            clash.format(5, 6, 5, "its priority is the lowest"),
        ]
        assert status(page, 1) == "Gave way. Cannot hold together with rule 2."
        assert status(page, 3) == "Holds. Cannot hold together with rule 4."
        ways = ui(page, "alert").locator("button").all_inner_texts()
        assert ways == [f"Make rule {number} a wish" for number in range(1, 7)]


def test_a_place_that_the_list_does_not_have_says_what_is_expected(browser, address):
    with playing(browser, address) as page:
        restart(page)
        pin(page, 1)
        card(page, 1).get_by_label("at place").fill("0")
        settled(page)
        assert status(page, 1) == "Give “at place” a whole number, 1 or more."
        card(page, 1).get_by_label("at place").fill("99")
        settled(page)
        expected = f"The list has {len(IDS)} documents: give it a place from 1 to {len(IDS)}."
        assert status(page, 1).endswith(expected)
        assert ui(page, "summary").inner_text().endswith("; the rule does not hold.")


def test_a_rule_that_cannot_be_used_is_not_counted_as_one_that_holds(browser, address):
    with playing(browser, address) as page:
        condition = 'stock == 9 and brand == "DGT"'
        use_file(
            page, {"rule": "top-k", "docs": "c1", "k": 2}, {"rule": "hide", "where": condition}
        )
        card(page, 2).get_by_label("Documents: condition").fill("stock == 9 and")
        settled(page)
        assert status(page, 2).startswith("Cannot be used: ")
        assert ui(page, "summary").inner_text() == "Nothing moved; 1 of 2 rules holds."


@pytest.mark.parametrize("key", list("tnphml"))
def test_a_rule_is_for_this_query_until_it_is_widened(page_of_clocks, key):
    page = page_of_clocks
    restart(page)
    page.locator("[data-ui=before] .doc").nth(1).focus()
    page.keyboard.press(key)
    settled(page)
    assert card(page, 1).get_by_label("Query", exact=True).input_value() == "chess clock"
    assert parse_rules(open_file(page))[-1].query == "chess clock"
    page.keyboard.press("Escape")
    card(page, 1).get_by_label("For which queries").select_option("every query")
    settled(page)
    assert parse_rules(open_file(page))[-1].query is None
    page.keyboard.press("Escape")


def test_a_pin_does_not_reach_another_query_unless_it_is_widened(browser, address):
    with playing(browser, address) as page:
        restart(page)
        pin(page, 3)
        assert order(page)[0] == "c4"
        paste(page, "c1", "c4", query="garden clock")
        settled(page)
        assert order(page) == ["c1", "c4"]
        assert page.locator(".card").count() == 0
        ui(page, "elsewhere").locator("summary").click()
        assert "Pin c4 to place 1, for “chess clock”" in ui(page, "elsewhere").inner_text()
        find(page, "chess")
        settled(page)
        card(page, 1).get_by_label("For which queries").select_option("every query")
        settled(page)
        paste(page, "c1", "c4", query="garden clock")
        settled(page)
        assert order(page) == ["c4", "c1"]


def test_documents_that_close_up_behind_a_hidden_one_are_not_shown_as_moved(browser, address):
    with playing(browser, address) as page:
        restart(page)
        page.locator("[data-ui=before] .doc").nth(2).focus()
        page.keyboard.press("h")
        settled(page)
        assert order(page) == [id_ for id_ in IDS if id_ != "c3"]
        assert ui(page, "after").locator(".move, .why").count() == 0
        assert "Hide Clock 3" in ui(page, "hidden").inner_text()
        assert ui(page, "summary").inner_text() == "Nothing moved, 1 hidden; the rule holds."


def test_soft_rules_that_contradict_each_other_are_marked(browser, address):
    with playing(browser, address) as page:
        restart(page)
        for key in "tn":
            page.locator("[data-ui=before] .doc").nth(3).focus()
            page.keyboard.press(key)
            settled(page)
        found = postrank(IDS, [TopK("c4", 3, weight=2), NotTopK("c4", 5, weight=1)])
        assert order(page) == list(found.order)
        assert "Contradicts rule 2: they cannot hold together." in status(page, 1)
        assert "Contradicts rule 1: they cannot hold together." in status(page, 2)


def test_a_file_is_taken_and_a_wrong_one_is_not(browser, address):
    with playing(browser, address) as page:
        open_file(page)
        page.locator("#yaml").fill("version: 1\nrules:\n  - {rule: topk, docs: c8, k: 1}\n")
        page.get_by_role("button", name="Use this text").click()
        page.wait_for_function("() => document.querySelector('[data-ui=yamlWrong]').textContent")
        assert "rules.yaml:3: unknown rule 'topk'" in ui(page, "yamlWrong").inner_text()
        page.locator("#yaml").fill(
            "version: 1\nrules:\n  - {rule: pin, docs: c8, position: 1, hard: true}\n"
        )
        with page.expect_download() as downloading:
            page.get_by_role("button", name="Download").click()
        assert downloading.value.suggested_filename == "rules.yaml"
        page.get_by_role("button", name="Use this text").click()
        page.wait_for_selector("[data-ui=file]", state="hidden")
        settled(page)
        assert order(page)[0] == "c8"
        page.get_by_role("button", name="Back to the service’s rules").click()
        settled(page)
        assert page.locator(".card").count() == 1
        assert "Garde first" in ui(page, "after").inner_text()


def test_queries_are_found_and_the_model_ranks_them(browser, address, tmp_path):
    with playing(browser, address) as page:
        restart(page)
        pick(page, "model rank")
        assert page.locator("#query").input_value() == "what the model ranks"
        assert ui(page, "source").inner_text() == "Ranked by the model “shop”."
        ranker, _ = save(tmp_path, data=named())
        best = [f"r{row}" for row in (-ranker.predict(rows(30))).argsort(kind="stable")]
        assert order(page, "before") == best[:20]
        ui(page, "all").click()
        assert order(page, "before") == best
        assert order(page) == best


def test_a_list_of_ones_own(browser, address):
    with playing(browser, address) as page:
        page.get_by_role("button", name="Your own list").click()
        page.locator("[data-ui=pasteText]").fill("one\ntwo\t The second\n\none\nthree\n")
        page.get_by_role("button", name="Use this list").click()
        settled(page)
        assert order(page) == ["one", "two", "three"]
        assert "The second" in ui(page, "after").inner_text()
        page.locator("[data-ui=after] .doc").nth(2).focus()
        page.keyboard.press("p")
        settled(page)
        assert order(page) == ["three", "one", "two"]


def test_documents_run_nothing(browser, address):
    with playing(browser, address) as page:
        pick(page, "onerror")
        assert ui(page, "after").locator(".title").first.inner_text() == HOSTILE
        page.locator("[data-ui=after] .doc").nth(2).focus()
        page.keyboard.press("t")
        settled(page)
        card(page, 1).get_by_label("Documents: chosen by").select_option("where")
        card(page, 1).get_by_label("Documents: value").fill(HOSTILE)
        settled(page)
        assert page.locator("main :is(img, script)").count() == 0
        assert page.evaluate("window.ran") is None
        assert parse_rules(open_file(page))


def test_a_service_with_a_token_asks_for_it_once(browser, tmp_path):
    with (
        running(*write(tmp_path, token=True)) as (_, address),
        playing(browser, address, wait=False) as page,
    ):
        page.wait_for_selector("[data-ui=token][open]")
        assert order(page) == []
        ui(page, "tokenText").fill("not the token")
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.querySelector('[data-ui=tokenWrong]').textContent")
        ui(page, "tokenText").fill(TOKEN)
        page.keyboard.press("Enter")
        settled(page)
        assert order(page, "before") == IDS
        page.reload()
        settled(page)
        assert not ui(page, "token").is_visible()


def test_a_service_that_went_away_is_told(browser, tmp_path):
    with running(*write(tmp_path)) as (process, address), playing(browser, address) as page:
        process.terminate()
        process.wait(30)
        page.locator("[data-ui=after] .doc").nth(2).focus()
        page.keyboard.press("t")
        page.wait_for_selector("[data-ui=alert]:not([hidden])")
        assert ui(page, "alert").inner_text().startswith("the service does not answer")
        assert ui(page, "summary").inner_text() == ""


def test_the_demo_is_there_without_any_file(browser):
    with running() as (_, address), playing(browser, address) as page:
        assert len(order(page)) == 20
        assert "Python’s standard library" in ui(page, "source").inner_text()
        page.get_by_role("button", name="Try an example").click()
        settled(page)
        assert ui(page, "after").locator(".is-up").count() == 1
        assert status(page, 1) == "Holds."


# For everybody


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 900, 1400])
def test_the_page_has_contrast_and_names_and_fits(browser, address, scheme, width, tmp_path):
    size = {"width": width, "height": 740}
    with playing(browser, address, color_scheme=scheme, viewport=size) as page:

        def check(where):
            assert page.evaluate("document.documentElement.scrollWidth") <= width, where
            assert page.evaluate(CONTRAST) == [], where
            assert page.evaluate(NAMELESS) == [], where
            assert page.evaluate(TWICE) == [], where
            check_screen(page, tmp_path / f"{where}.png", dark=scheme == "dark")

        check("after")
        page.locator("[data-ui=after] .doc").nth(2).click()
        check("chosen")
        page.keyboard.press("p")
        settled(page)
        if width < 800:
            assert ui(page, "before").is_hidden()
            page.get_by_role("button", name="Rules", exact=False).first.click()
            assert ui(page, "after").is_hidden()
        page.locator(".more > summary").first.click()
        check("rules")
        page.keyboard.press("Escape")
        page.locator("[data-ui=after] .doc").nth(1).focus()
        page.keyboard.press("p")
        settled(page)
        assert ui(page, "alert").is_visible()
        check("clash")
        if width < 800:
            page.locator("button[data-view=rules]").click()
        copied(page)
        check("copied")
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        page.wait_for_selector("[data-ui=help][open]")
        check("help")


def test_rows_are_seen_to_move_unless_motion_is_reduced(browser, address):
    # Counted by the page itself as rows change: what a test asks for later may be over by then.
    count = """() => {
      window.moves = 0;
      new MutationObserver(() => requestAnimationFrame(
        () => { window.moves = Math.max(window.moves, document.getAnimations().length); }
      )).observe(document.querySelector("[data-ui=after]"), { childList: true, subtree: true });
    }"""
    for motion, expected in (("no-preference", True), ("reduce", False)):
        with playing(browser, address, reduced_motion=motion) as page:
            page.evaluate(count)
            page.locator("[data-ui=after] .doc").nth(7).focus()
            page.keyboard.press("p")
            page.wait_for_function(
                "() => document.querySelector('[data-ui=after] .doc').dataset.id === 'c8'"
            )
            page.evaluate(
                "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
            )
            assert (page.evaluate("window.moves") > 0) is expected


# Answers that come late


@contextmanager
def holding(page, path):
    """Requests of a path wait in the list that is given; those that are left go on at the end."""
    held = []
    page.route(f"**{path}", lambda route: held.append(route))
    yield held
    page.unroute(f"**{path}")
    for route in held:
        route.continue_()


def waiting(page, held):
    """The first request that waits."""
    for _ in range(1000):
        if held:
            return held.pop(0)
        page.wait_for_timeout(20)
    raise AssertionError("expected a request, got none")


def find(page, words):
    """A query is asked for."""
    page.locator("#query").fill(words)
    page.locator("#query").press("Enter")


def paste(page, *names, query=""):
    page.get_by_role("button", name="Your own list").click()
    page.locator("[data-ui=pasteQuery]").fill(query)
    page.locator("[data-ui=pasteText]").fill("\n".join(names))
    page.get_by_role("button", name="Use this list").click()


def stays(page, expected):
    """The list is this one, and stays it."""
    settled(page)
    page.wait_for_timeout(400)
    assert order(page, "before") == expected
    assert ui(page, "alert").is_hidden()


def test_a_query_that_was_picked_before_does_not_come_back(browser, address):
    with playing(browser, address) as page:
        with holding(page, "/v1/rank") as held:
            find(page, "model rank")
            first = waiting(page, held)
            find(page, "chess")
            settled(page)
            first.continue_()
            stays(page, IDS)
        assert page.locator("#query").input_value() == "chess clock"


def test_a_pasted_list_ends_what_was_asked_for(browser, address):
    with playing(browser, address) as page, holding(page, "/v1/rank") as held:
        find(page, "model rank")
        first = waiting(page, held)
        paste(page, "one", "two")
        settled(page)
        first.continue_()
        stays(page, ["one", "two"])


def test_with_another_model_the_page_is_busy_until_its_list_is_there(browser, address):
    with playing(browser, address) as page:
        pick(page, "model rank")
        listed = order(page, "before")
        with holding(page, "/v1/rank") as held:
            ui(page, "model").dispatch_event("change")
            first = waiting(page, held)
            assert ui(page, "main").get_attribute("aria-busy") == "true"
            first.continue_()
            stays(page, listed)


def test_an_answer_about_another_list_is_not_shown(browser, address):
    with playing(browser, address) as page, holding(page, "/v1/postrank") as held:
        card(page, 1).get_by_label("Weight").fill("7")
        first = waiting(page, held)
        page.get_by_role("button", name="Your own list").click()
        page.locator("[data-ui=pasteText]").fill("one\ntwo\nthree")
        page.evaluate("document.querySelector('[data-ui=paste] form').requestSubmit()")
        first.continue_()  # within the moment before the new list is sent
        second = waiting(page, held)
        page.wait_for_timeout(200)
        assert order(page) == ["one", "two", "three"]
        assert ui(page, "alert").is_hidden()
        second.continue_()
        stays(page, ["one", "two", "three"])


def test_an_id_is_shown_once_and_scores_have_equal_decimals(browser, tmp_path):
    """--docs keeps its column product_id as a field; three digits for the largest score: 12.3 has one."""
    docs = [
        {
            "id": id_,
            "score": score,
            "fields": {"title": f"Cap {id_}", "product_id": id_, "brand": "Acme"},
        }
        for id_, score in (("P1", 12.345), ("P2", 1), ("P3", -0.00931))
    ]
    samples = tmp_path / "samples.jsonl"
    samples.write_text(json.dumps({"id": "caps", "documents": docs}) + "\n")
    with running("--samples", samples) as (_, found), playing(browser, found) as page:
        notes = page.locator("[data-ui=before] small").all_inner_texts()
        assert notes == [f"{id_} · Acme" for id_ in ("P1", "P2", "P3")]
        assert page.locator("[data-ui=before] .score").all_inner_texts() == ["12.3", "1.0", "−0.0"]


def test_a_phone_shows_no_keys(browser, address):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with playing(browser, address, **phone) as page:
        page.locator("button[data-view=rules]").tap()
        page.locator("[data-ui=menu] summary").tap()
        assert page.locator("[data-ui=menu] li").count() > 5
        assert not any(key.is_visible() for key in page.locator("kbd").all())
        assert not page.locator("[data-do=help]").is_visible()


def test_the_page_says_that_a_file_of_the_service_is_broken(browser, tmp_path):
    arguments = [*write(tmp_path), "--reload-seconds", "0.1"]
    with running(*arguments) as (_, found), playing(browser, found) as page:
        told = page.locator("[data-ui=health]")
        assert not told.is_visible()
        (tmp_path / "rules.yaml").write_text("version: 1\nrules:\n  - {rule: topk}\n")
        page.wait_for_function(
            "fetch('/healthz').then((r) => r.json()).then((a) => a.status !== 'ok')"
        )
        page.reload()
        settled(page)
        told.wait_for()
        assert "last good version stays in service" in told.inner_text()
        assert "rules.yaml:3: unknown rule 'topk'" in told.inner_text()
        assert page.locator("[data-ui=cards] .card").count() == 1  # of the last good rules
