import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from proxcal.report.page import render

VOID = {"meta", "link", "img", "br"}


class Elements(HTMLParser):
    """Every element with its attributes; an error where tags do not nest."""

    def __init__(self, page):
        super().__init__()
        self.found, self.open = [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def of(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module")
def elements(page):
    return Elements(page)


def test_it_refers_to_nothing_outside_itself(page, elements):
    references = [value for _, each in elements.found for name, value in each.items() if name in ("src", "href")]
    assert references
    assert all(value.startswith(("data:", "#")) for value in references)
    assert not re.search(r"url\(|@import|<script|<iframe|<object", page)


def test_its_policy_forbids_loading_anything(elements):
    policy = next(each["content"] for each in elements.of("meta") if "http-equiv" in each)
    assert policy.startswith("default-src 'none'")


def test_it_is_less_than_2_mb(page):
    assert len(page.encode()) < 2_000_000


def test_it_has_a_language_a_title_and_a_skip_link(page, elements):
    assert elements.of("html") == [{"lang": "en"}]
    assert "<title>Proximity bias audit: " in page
    assert elements.of("a")[0] == {"class": "skip", "href": "#main"}


def test_links_within_the_page_lead_somewhere(elements):
    ids = {each.get("id") for _, each in elements.found}
    assert {each["href"].removeprefix("#") for each in elements.of("a")} <= ids


def test_every_picture_has_its_own_text_alternative_with_numbers(elements, found):
    alternatives = [each["alt"] for each in elements.of("img")]
    assert len(alternatives) == len(set(alternatives)) == len(elements.of("figure")) + len(found.overconfident)
    assert all(re.search(r"\d", alternative) for alternative in alternatives)


def test_every_table_has_a_caption_and_headers_with_a_scope(elements):
    assert len(elements.of("caption")) == len(elements.of("table")) >= 7
    assert {each["scope"] for each in elements.of("th")} == {"col", "row"}


def test_headings_skip_no_level(elements):
    levels = [int(tag[1]) for tag, _ in elements.found if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_it_says_the_verdict_of_every_stage(page, found):
    for stage in found.stages:
        assert f"{stage.verdict.headline}.</strong>" in page
        assert stage.verdict.text.replace("'", "&#x27;").replace("<", "&lt;") in page


def test_texts_of_the_user_are_escaped(page):
    assert "&lt;photo " in page
    assert "<photo" not in page


def test_it_has_the_command_and_the_versions(page, found):
    assert found.command.split("(")[0] in page
    assert all(version in page for version in found.versions.values())


def test_the_same_audit_gives_the_same_bytes(found, page):
    assert render(found) == page


def test_a_page_that_exists_is_kept_unless_told(found, page, tmp_path, monkeypatch):
    monkeypatch.setattr("proxcal.report.page.render", lambda audit: page)
    path = tmp_path / "audit.html"
    path.write_text("mine")
    with pytest.raises(ValueError, match="exists"):
        found.to_html(path)
    assert path.read_text() == "mine"
    found.to_html(path, overwrite=True)
    assert path.read_text(encoding="utf-8") == page
