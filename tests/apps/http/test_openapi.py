"""The page to read an OpenAPI description: complete, safe, and of both apps."""

import html
import re

import pytest

from podium.apps.http.openapi import openapi_page
from podium.apps.judging.openapi import openapi as judging_openapi
from podium.apps.serving.openapi import openapi as serving_openapi

DESCRIPTIONS = {"serving": serving_openapi("0"), "judging": judging_openapi()}


@pytest.mark.parametrize("app", DESCRIPTIONS)
def test_the_page_has_every_path_and_every_type(app):
    description = DESCRIPTIONS[app]
    page = openapi_page(description)
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            assert f"<code>{method.upper()} {path}</code>" in page
            assert html.escape(operation["summary"]) in page
    for name in description["components"]["schemas"]:
        assert f'id="type-{name}"' in page
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert links <= set(re.findall(r'id="([^"]+)"', page))


@pytest.mark.parametrize("app", DESCRIPTIONS)
def test_the_page_loads_nothing_from_elsewhere_and_runs_nothing(app):
    page = openapi_page(DESCRIPTIONS[app])
    assert not re.search(r"<script|<style|\son\w+=|style=|https?:|//", page)
    loaded = set(re.findall(r'<link[^>]* href="([^"]+)"', page))
    assert loaded == {"/static/icon.svg", "/static/base.css", "/static/api.css"}


def test_texts_are_no_markup():
    description = {
        "info": {"title": "<i>&", "description": "<b>"},
        "paths": {"/<p>": {"get": {"summary": "<u>", "operationId": '"><x>', "responses": {}}}},
        "components": {"schemas": {"<s>": {"enum": ["<em>"]}}, "securitySchemes": {}},
    }
    page = openapi_page(description)
    assert not re.search(r"<(i|b|p|u|x|s|em)>(?=[&<]|$)", page.replace("<p>", "<para>"))
    for text in (
        "&lt;i&gt;&amp;",
        "&lt;b&gt;",
        "/&lt;p&gt;",
        "&lt;u&gt;",
        "&lt;s&gt;",
        "&lt;em&gt;",
    ):
        assert text in page
