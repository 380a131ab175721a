"""The pictures of the page: inline SVG on a white card, so that they read the same in light, dark and print.

Each has a title, a caption that says what to look for, and a text alternative with the numbers that it shows. An SVG
within an image is sharp at any size, and can load nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.image import imsave

from proxcal._validation import Floats
from proxcal.bias import OverfittingByProximity
from proxcal.plots import CumulativeDisplay, OverfittingDisplay, ProximityDisplay, ReliabilityDisplay
from proxcal.report._html import Markup, element, image
from proxcal.report.facts import Audit, Stage
from proxcal.report.verdict import p_text

PIXELS_PER_INCH = 96  # of CSS
THUMBNAIL = 64  # pixels at the most


@dataclass(frozen=True, eq=False)
class Figure:
    """`display` is one of `proxcal.plots`."""

    title: str
    caption: str
    alt: str
    display: Any

    def markup(self) -> Markup:
        width, height = PIXELS_PER_INCH * self.display.figure_.get_size_inches()
        card = element("div", image("image/svg+xml", _svg(self.display), self.alt, width, height), class_="card")
        return element("figure", card, element("figcaption", element("strong", f"{self.title}."), " ", self.caption))


def draw(audit: Audit) -> Iterator[Figure]:
    yield _reliability(audit.before)
    yield _reliability(audit.after)
    if audit.before.groups is not None:
        yield _along_proximity(audit)
    yield _cumulative(audit)


def draw_overfitting(found: OverfittingByProximity) -> Figure:
    ends = {"lowest": 0, "highest": -1}
    words = "; ".join(
        f"{which} fifth right {found.train_accuracy[i]:.1%} in training, {found.accuracy[i]:.1%} held out"
        for which, i in ends.items()
    )
    return Figure(
        "Accuracy on training and on held-out samples",
        "Where the two are far apart, the model knows its training samples by heart.",
        f"Accuracy on training and held-out samples in five groups of equal proximity: {words}.",
        OverfittingDisplay.from_result(found, ax=_axes()),
    )


def _reliability(stage: Stage) -> Figure:
    """Of the lowest and the highest fifth by proximity, or of all samples where there are no fifths."""
    outcome = stage.outcome
    proximity = None if stage.groups is None else outcome.log_proximity
    two_lines = " Two lines apart: proximity bias." if stage.groups else ""
    return Figure(
        f"Accuracy at each confidence: {stage.lower_title}",
        f"On the dotted line confidence is right; below it, too high.{two_lines}",
        f"Reliability diagram {stage.lower_title}: accuracy against confidence. {_ends_in_words(stage)}",
        ReliabilityDisplay.from_predictions(outcome.confidence, outcome.correct, proximity),
    )


def _along_proximity(audit: Audit) -> Figure:
    words = " ".join(f"{stage.title}: {_ends_in_words(stage)}" for stage in audit.stages)
    return Figure(
        "Accuracy and confidence by proximity",
        "Points: how often predictions are right. A line above them is too confident there, one below not enough.",
        f"Accuracy and mean confidence in ten groups of samples, from low to high proximity. {words}",
        ProximityDisplay.from_predictions(*_by_title(audit), ax=_axes()),
    )


def _cumulative(audit: Audit) -> Figure:
    words = "; ".join(
        f"{s.lower_title}, its largest rise or fall is {s.along_proximity.kuiper:.4f} "
        f"({p_text(s.along_proximity.p_value)})"
        for s in audit.stages
    )
    return Figure(
        "Accuracy less confidence, added up along proximity",
        "Where a line falls, confidence is too high; where it rises, too low. Within the band chance explains it.",
        f"Cumulative difference of accuracy and confidence, from low to high proximity: {words}.",
        CumulativeDisplay.from_predictions(*_by_title(audit), ax=_axes()),
    )


def _axes() -> Axes:
    """Narrow, so that a telephone need not shrink its letters much."""
    return Drawing(figsize=(5, 5), layout="constrained").add_subplot()


def _by_title(audit: Audit) -> tuple[dict[str, Any], dict[str, Any], Floats]:
    confidence = {stage.title: stage.outcome.confidence for stage in audit.stages}
    correct = {stage.title: stage.outcome.correct for stage in audit.stages}
    return confidence, correct, audit.before.outcome.log_proximity


def _ends_in_words(stage: Stage) -> str:
    if stage.groups is None:
        return f"All samples: right {stage.accuracy.value:.1%}, mean confidence {stage.confidence:.1%}."
    ends = {"lowest": stage.groups[0], "highest": stage.groups[-1]}
    parts = (
        f"{which} fifth by proximity right {g.accuracy:.1%}, confidence {g.confidence:.1%}" for which, g in ends.items()
    )
    return f"{'; '.join(parts)}."


def thumbnail(shares: Floats, alt: str) -> Markup:
    """A PNG of at most 64 pixels a side, each the mean of those it stands for."""
    step = -(-max(shares.shape[:2]) // THUMBNAIL)
    height, width = (max(size // step, 1) for size in shares.shape[:2])
    blocks = shares[: height * step, : width * step].reshape(height, -1, width, step, *shares.shape[2:])
    buffer = BytesIO()
    imsave(buffer, blocks.mean(axis=(1, 3)), format="png", cmap="gray", vmin=0, vmax=1)
    return image("image/png", buffer.getvalue(), alt, 56, 56)


def _svg(display: Any) -> bytes:
    buffer = BytesIO()
    with rc_context({"svg.hashsalt": "proxcal"}):  # the same bytes each time
        display.figure_.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
