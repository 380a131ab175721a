"""The page: one HTML file that holds its style and its pictures, runs no script, and may load nothing (its own policy
forbids it)."""

from collections.abc import Iterator
from importlib.resources import files
from string import Template
from typing import NamedTuple

from proxcal.report import words
from proxcal.report._html import Markup, element, join, table, text
from proxcal.report.facts import Audit, Stage
from proxcal.report.figures import draw, draw_overfitting
from proxcal.report.tables import by_proximity, errors, overfitting, samples, tests
from proxcal.report.words import paragraphs


class Section(NamedTuple):
    id: str
    title: str
    content: Markup


def render(audit: Audit) -> str:
    folder = files("proxcal.report")
    verdict, *others = _sections(audit)
    return Template((folder / "page.html").read_text(encoding="utf-8")).substitute(
        title=text(f"Proximity bias audit: {audit.summary}"),
        subtitle=element("p", words.subtitle(audit), class_="soft"),
        style=(folder / "page.css").read_text(encoding="utf-8"),
        sections=join([_section(verdict), _contents(others), *map(_section, others)]),
        version=audit.versions["proxcal"],
    )


def _sections(audit: Audit) -> Iterator[Section]:
    yield Section("verdict", "Verdict", _verdict(audit))
    yield Section("what", "What proximity bias is", paragraphs(words.WHAT_IT_IS))
    yield Section("test", "The test", join([paragraphs(*words.the_test(audit)), tests(audit)]))
    groups = by_proximity(audit)
    if groups is not None:
        yield Section("groups", "By proximity", join([paragraphs(words.GROUPS), groups]))
    drawn = element("div", *(figure.markup() for figure in draw(audit)), class_="figures")
    yield Section("pictures", "Pictures", drawn)
    yield Section("errors", "Before and after ProCal", join([paragraphs(*words.correction(audit)), errors(audit)]))
    yield Section("samples", "Most overconfident where data is sparse", _samples(audit))
    if audit.overfitting is not None:
        told = paragraphs(*words.overfitting(audit.overfitting))
        picture = element("div", draw_overfitting(audit.overfitting).markup(), class_="figures")
        table_and_picture = join([told, overfitting(audit.overfitting), picture])
        yield Section("overfitting", "Overfitting by proximity", table_and_picture)
    yield Section("limits", "What cannot be concluded", element("ul", *(element("li", each) for each in audit.limits)))
    yield Section("repeat", "To repeat this audit", _repeat(audit))


def _section(section: Section) -> Markup:
    heading = element("h2", section.title, id=f"{section.id}-title")
    return element("section", heading, section.content, id=section.id, aria_labelledby=f"{section.id}-title")


def _contents(sections: list[Section]) -> Markup:
    links = (element("li", element("a", title, href=f"#{id}")) for id, title, _ in sections)
    return element("nav", element("ol", *links), aria_label="Contents")


def _verdict(audit: Audit) -> Markup:
    cards = element("ul", *map(_card, audit.stages), class_="verdicts")
    summary = element("p", audit.summary, class_="summary")
    return join([summary, paragraphs(words.stages(audit)), cards, paragraphs(*words.improvement(audit))])


def _card(stage: Stage) -> Markup:
    verdict = stage.verdict
    told = element("p", element("strong", f"{verdict.headline}."), " ", verdict.text)
    return element("li", element("h3", stage.title), told, class_=f"verdict {verdict.status.replace(' ', '-')}")


def _samples(audit: Audit) -> Markup:
    if not audit.overconfident:
        return paragraphs(words.no_samples(audit))
    return join([paragraphs(words.samples(audit)), samples(audit)])


def _repeat(audit: Audit) -> Markup:
    settings = [[name, "not set" if value is None else value] for name, value in audit.settings.items()]
    inputs = [[part, each["file"] or "in memory", _hash(each["sha256"])] for part, each in audit.sources.items()]
    return join(
        [
            element("pre", element("code", audit.command)),
            table("The data", ["Part", "File", "SHA-256"], inputs, of_text=[1, 2]),
            element(
                "div",
                table("Settings", ["Setting", "Value"], settings, of_text=[1]),
                table("Versions", ["Package", "Version"], list(audit.versions.items()), of_text=[1]),
                class_="figures",
            ),
        ]
    )


def _hash(digest: str | None) -> Markup:
    return element("span", digest or "not a file", class_="hash")
