"""What compressing references cost, on samples: the order and the values of log proximity, and PIECE.

Of a calibrator, PIECE is that of the confidence it says, over bins by the uncompressed proximity both times, so that
the bins are the same. A bare search says no confidence: then it is that of the model's own, over bins by either
proximity.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from proxcal._validation import Bools, Floats
from proxcal.base._calibrator import as_probs
from proxcal.bundle import Predictions
from proxcal.experiments._setup import check_complete
from proxcal.metrics import noise_floor, piece
from proxcal.procal import ProCal
from proxcal.proximity import Proximity


@dataclass(frozen=True)
class CompressionReport:
    """`spearman` and `largest_error` compare log proximity before and after; `piece_floor` is what PIECE would be
    before, were the confidence right."""

    n_samples: int
    megabytes_before: float
    megabytes_after: float
    spearman: float
    largest_error: float
    piece_before: float
    piece_after: float
    piece_floor: float

    def __str__(self) -> str:
        before, after, floor = (100 * value for value in (self.piece_before, self.piece_after, self.piece_floor))
        return (
            f"references     {self.megabytes_before:.3g} MB -> {self.megabytes_after:.3g} MB\n"
            f"log proximity  Spearman {self.spearman:.4f}, largest error {self.largest_error:.2g}\n"
            f"PIECE x 100    {before:.2f} -> {after:.2f}, of it noise {floor:.2f} ({self.n_samples} samples)"
        )


def compression_report(
    before: Proximity | ProCal, after: Proximity | ProCal, samples: Predictions
) -> CompressionReport:
    """Compare a search or a calibrator with what `compress` made of it, on samples with labels and features."""
    check_complete("samples", samples)
    searches = [one._search_kept("compare") if isinstance(one, ProCal) else one for one in (before, after)]
    logs = [search.log_score(samples.features) for search in searches]
    said = [_said(one, samples) for one in (before, after)]
    bins = logs if isinstance(after, Proximity) else [logs[0], logs[0]]
    errors = [piece(*one, proximity) for one, proximity in zip(said, bins, strict=True)]
    return CompressionReport(
        len(samples),
        megabytes_before=searches[0].megabytes,
        megabytes_after=searches[1].megabytes,
        spearman=float(spearmanr(*logs).statistic),
        largest_error=float(np.abs(logs[1] - logs[0]).max()),
        piece_before=errors[0],
        piece_after=errors[1],
        piece_floor=noise_floor(piece, said[0][0], logs[0]),
    )


def _said(one: Proximity | ProCal, samples: Predictions) -> tuple[Floats, Bools]:
    """Confidence, and whether the prediction is right."""
    if isinstance(one, ProCal):
        found = one.calibrate(samples.scores, samples.features)
        return found.confidence, found.predicted == samples.labels
    probs = as_probs(samples.scores, samples.input)
    return probs.max(axis=1), probs.argmax(axis=1) == samples.labels
