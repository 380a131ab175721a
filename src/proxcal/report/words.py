"""What the page says between its tables, for a reader who has never heard of calibration."""

from collections.abc import Callable, Iterator

from proxcal.bias import OverfittingByProximity
from proxcal.metrics import PairedDifference
from proxcal.report._html import Markup, element, join
from proxcal.report.facts import N_GROUPS, Audit
from proxcal.report.tables import plain
from proxcal.report.verdict import LEVEL, p_text, points

WHAT_IT_IS = (
    "With each answer a model gives a confidence: how probable it says it is that the answer is right. Inputs that "
    "have much like them in the data and inputs that have little (a rare disease, a minority, an unusual camera) may "
    "get the same confidence, and yet the rare ones are right less often: that is proximity bias. The usual remedies "
    "make confidence right on average, so that what is too high for the rare and too low for the common cancels and "
    "is not seen."
)
GROUPS = (
    "The test samples in five equal parts, from those with the least data like them (low proximity) to those "
    "with the most. Gap is how often right less confidence: below 0 the model is too confident there, above 0 not "
    "confident enough."
)


def paragraphs(*texts: str) -> Markup:
    return join([element("p", each) for each in texts])


def subtitle(audit: Audit) -> str:
    sizes, source = audit.samples, audit.sources["test"]["file"]
    of = f"{source}: " if source else ""
    return (
        f"{of}{sizes['test']} test samples in {sizes['classes']} classes, {sizes['wrong']} of them predicted wrongly; "
        f"{sizes['calibration']} other samples calibrate."
    )


def stages(audit: Audit) -> str:
    count, between = ("twice", "") if len(audit.stages) == 2 else ("three times", f" {audit.before.lower_title} alone,")
    return (
        f"Confidence is judged {count}: as the model gives it,{between} and after ProCal, which corrects it by what "
        "the calibration samples nearest to an input tell."
    )


def improvement(audit: Audit) -> Iterator[str]:
    """What is said to those with least like them, and what ProCal does to the errors."""
    if audit.before.groups is not None and audit.after.groups is not None:
        first, second = audit.before.groups[0], audit.after.groups[0]
        yield (
            f"Of the fifth with the least data like them, {points(first.accuracy)} % are predicted rightly; "
            f"mean confidence there is {points(first.confidence)} % {audit.before.lower_title} and "
            f"{points(second.confidence)} % {audit.after.lower_title}."
        )
    piece, loss = audit.comparison["piece"], audit.comparison["nll"]
    if audit.correction["informed"] == "none":
        yield "ProCal applied no correction: before and after are the same."
        return
    yield (
        "The calibration error over confidence and proximity (PIECE, less its noise) "
        f"{_moved(piece, points, ' points')}; the log loss of the confidence {_moved(loss, plain, '')}."
    )


def _moved(found: PairedDifference, show: Callable[[float], str], unit: str) -> str:
    verb = "falls" if found.difference < 0 else "rises"
    sure = f"95 % interval of the change {show(found.low)} to {show(found.high)}, {p_text(found.p_value)}"
    if found.p_value >= LEVEL:
        return f"changes by no more than chance may explain ({sure})"
    return f"{verb} by {show(abs(found.difference))}{unit} ({sure})"


def the_test(audit: Audit) -> Iterator[str]:
    k = audit.settings["n_neighbors"]
    yield (
        f"Proximity says how near a sample's {k} nearest calibration samples are, in the model's own features. Test "
        "samples of the lowest fifth by proximity are paired with samples of the highest fifth that have nearly the "
        "same confidence, none used twice. Without proximity bias the two of a pair are equally often right."
    )
    yield (
        "The bias index is by how much the samples of low proximity are right less often than their partners. The "
        "p-value (McNemar's test, mid-p, two-sided) is the chance of an index as far from 0 if there were no bias."
    )
    if any(stage.bias is not None and stage.bias.n_groups != N_GROUPS for stage in audit.stages):
        yield "Where the fifths have too little confidence in common, the lowest and the highest third are compared."
    yield (
        "The second test needs no pairs: it is of accuracy less confidence, added up along proximity (Kuiper's "
        "statistic), and its p-value is the chance of as large a rise or fall if confidence were right at every "
        "proximity."
    )


def correction(audit: Audit) -> Iterator[str]:
    found = audit.correction
    how = f"Correction by proximity: {found['informed']}"
    yield (
        f"{how}, chosen on the calibration samples ({found['reason']})."
        if "reason" in found
        else f"{how}, as asked for."
    )
    change = audit.accuracy_change
    if change is not None:
        sure = f"95 % interval {points(change['low'])} to {points(change['high'])}"
        yield (
            f"The base may change predictions: of held-out calibration samples it changed {points(change['changed'])} "
            f"%, and accuracy by {points(change['change'])} points ({sure})."
        )
    changed = audit.after.changed
    yield (
        "No prediction changes."
        if changed == 0
        else f"{points(changed)} % of the test predictions are not the model's own."
    )
    yield (
        "Under each value its 95 % interval and its noise floor, which is what a perfectly calibrated model would "
        "show with as many samples. The intervals of ECE, ACE, MCE and PIECE, and the changes, are of the error "
        "without noise, and may lie below the value. Smaller is better, but for accuracy."
    )


def samples(audit: Audit) -> str:
    return (
        f"The {len(audit.overconfident)} most confident among the wrong predictions in the lowest fifth by proximity, "
        f"by their confidence {audit.before.lower_title}. They are chosen because they are extreme: they illustrate, "
        "and prove nothing. Rows count from 0 in the file."
    )


def no_samples(audit: Audit) -> str:
    if audit.before.groups is None:
        return f"They cannot be told: {audit.before.reason}."
    return "There are none: no prediction in the lowest fifth by proximity is wrong."


def overfitting(found: OverfittingByProximity) -> Iterator[str]:
    yield (
        "How much more often the model is right on what it was trained on than on held-out samples of equal proximity. "
        "Where that is much, it has learned by heart, and its confidence there tends to be too high."
    )
    sure = f"95 % interval {points(found.excess_low)} to {points(found.excess_high)}"
    if found.excess_low > 0:
        yield f"It overfits more where data is sparse: by {points(found.excess)} points ({sure})."
    elif found.excess_high < 0:
        yield f"It overfits less where data is sparse: by {points(-found.excess)} points ({sure})."
    else:
        yield f"Whether it overfits more there cannot be concluded: {points(found.excess)} points ({sure})."
