"""The few pieces that the page is made of. Text is escaped here, and nowhere else; what is `Markup` already was."""

from base64 import b64encode
from collections.abc import Sequence
from html import escape


class Markup(str):
    """HTML, not to be escaped again."""


def text(value: object) -> Markup:
    return value if isinstance(value, Markup) else Markup(escape(str(value)))


def element(tag: str, *content: object, **attributes: object) -> Markup:
    """`class_` for class; an attribute that is None is left out."""
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items() if value is not None}
    opening = "".join(f' {name}="{escape(str(value))}"' for name, value in named.items())
    return Markup(f"<{tag}{opening}>{''.join(map(text, content))}</{tag}>")


def join(parts: Sequence[object]) -> Markup:
    return Markup("\n".join(map(text, parts)))


def table(
    caption: object, headers: Sequence[object], rows: Sequence[Sequence[object]], *, of_text: Sequence[int] = ()
) -> Markup:
    """In a box of its own that scrolls when it is wide; the first column names the row, the columns `of_text` hold no
    numbers."""

    def kind(column: int) -> str | None:
        return "text" if column in of_text else None

    head = element("tr", *(element("th", each, scope="col", class_=kind(i)) for i, each in enumerate(headers)))
    body = join(
        [
            element(
                "tr",
                element("th", row[0], scope="row"),
                *(element("td", each, class_=kind(i)) for i, each in enumerate(row[1:], start=1)),
            )
            for row in rows
        ]
    )
    whole = element(
        "table", element("caption", element("span", caption)), element("thead", head), element("tbody", body)
    )
    return element("div", whole, class_="wide", tabindex="0", role="region", aria_label=caption)


def image(kind: str, content: bytes, alt: str, width: float, height: float) -> Markup:
    """An image within the page."""
    data = f"data:{kind};base64,{b64encode(content).decode()}"
    return Markup(f'<img src="{data}" alt="{escape(alt)}" width="{width:.0f}" height="{height:.0f}">')
