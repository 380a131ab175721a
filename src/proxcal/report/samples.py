"""The wrong predictions that were most confident where data is sparse: what a reader wants to see with their own eyes.

They are chosen for being extreme, so they illustrate and prove nothing.
"""

from collections.abc import Sequence

import numpy as np

from proxcal._validation import Array, Floats
from proxcal.bias.groups import split_by_proximity
from proxcal.report._sources import Source
from proxcal.report.facts import N_GROUPS, Sample, Stage

N_SHOWN = 20


def most_overconfident(test: Source, stages: Sequence[Stage]) -> list[Sample]:
    """Of the lowest fifth by proximity, the wrong ones by falling confidence, as they were before ProCal."""
    before = stages[-2]
    if before.groups is None:
        return []
    outcome = before.outcome
    lowest = split_by_proximity(outcome.log_proximity, N_GROUPS) == 0
    wrong = np.flatnonzero(lowest & ~outcome.correct)
    chosen = wrong[np.argsort(-outcome.confidence[wrong], kind="stable")][:N_SHOWN]
    return [_sample(test, stages, int(i)) for i in chosen]


def _sample(test: Source, stages: Sequence[Stage], i: int) -> Sample:
    outcome, row = stages[-2].outcome, int(test.rows[i])
    return Sample(
        row=row,
        id=None if test.ids is None else _id(test.ids[row]),
        proximity=float(np.exp(outcome.log_proximity[i])),
        predicted=int(outcome.predicted[i]),
        label=int(np.asarray(test.predictions.labels)[i]),
        confidence={stage.name: float(stage.outcome.confidence[i]) for stage in stages},
        image=None if test.images is None else as_shares(test.images[row]),
    )


def _id(value: np.generic) -> int | str:
    plain = value.item()
    return plain.decode(errors="replace") if isinstance(plain, bytes) else plain


def as_shares(image: Array) -> Floats:
    """Values from 0 to 1, two dimensions for grey."""
    shares: Floats = image / 255 if image.dtype == np.uint8 else image.astype(np.float64)
    if not (shares.min() >= 0 and shares.max() <= 1):
        raise ValueError(
            f"images lies in [{shares.min():.3g}, {shares.max():.3g}]; it needs uint8, or floats from 0 to 1"
        )
    return shares[..., 0] if shares.ndim == 3 and shares.shape[2] == 1 else shares
