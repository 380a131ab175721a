"""informed="auto": which informed calibrator, or none, by held-out log loss, the simpler one unless the other is
clearly better.

Every candidate is judged on the same folds. The one with the least mean log loss sets the mark; the first in the
order below, from doing nothing on, that is within one paired standard error of it is chosen.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from proxcal._held_out import assign_folds, simplest_within_one_error, standard_error
from proxcal._validation import Bools, Floats, Ints, ProxcalWarning
from proxcal.informed._calibrator import Samples
from proxcal.informed._ridge import log_loss, log_odds
from proxcal.informed.bin_mean_shift import BinMeanShift
from proxcal.informed.density_ratio import DensityRatio
from proxcal.informed.logistic import ProximityLogistic
from proxcal.informed.neighborhood import NeighborhoodLogistic

MIN_SAMPLES = 100  # folds of fewer than ten samples say nothing


def candidates(random_state: int) -> dict[str, Any]:
    """From the simplest on."""
    return {
        "logistic": ProximityLogistic(random_state=random_state),
        "neighborhood": NeighborhoodLogistic(random_state=random_state),
        "density-ratio": DensityRatio(),
        "bin-mean-shift": BinMeanShift(),
    }


def select(samples: Samples, correct: Bools, random_state: int) -> tuple[Any, dict[str, Any]]:
    """The informed calibrator chosen, fitted on all samples (None for doing nothing), and the record of why."""
    if len(correct) < MIN_SAMPLES:
        return _nothing(f"{len(correct)} calibration samples are too few to choose by (under {MIN_SAMPLES})")
    if correct.all() or not correct.any():
        return _nothing(f"every calibration sample is {'right' if correct.all() else 'wrong'}")
    folds = assign_folds(len(correct), random_state)
    tried = {
        name: candidate
        for name, candidate in candidates(random_state).items()
        if samples.evidence is not None or not getattr(candidate, "takes_evidence", False)
    }
    losses = {"none": _log_loss(samples.confidence, correct)}
    losses |= {name: _log_loss(held_out(tried[name], samples, correct, folds), correct) for name in tried}
    chosen, reason = simplest_within_one_error(losses)
    record = {
        "chosen": chosen,
        "reason": reason,
        "n_folds": int(folds.max()) + 1,
        "log_loss": {name: float(loss.mean()) for name, loss in losses.items()},
        "standard_error_of_gain": {name: standard_error(losses["none"] - losses[name]) for name in tried},
    }
    if chosen == "none":
        return None, record
    already_fitted = hasattr(tried[chosen], "fit_held_out")
    return tried[chosen] if already_fitted else samples.fit(tried[chosen], correct), record


def held_out(candidate: Any, samples: Samples, correct: Bools, folds: Ints) -> Floats:
    """What each sample is given by a calibrator fitted without its fold; some find that out in a fit of their own."""
    if hasattr(candidate, "fit_held_out"):
        held_out: Floats = candidate.fit_held_out(samples, correct, folds)
        return held_out
    held_out = np.empty_like(samples.confidence)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxcalWarning)  # of one fold; the fit on all samples says its own
        for fold in range(int(folds.max()) + 1):
            inside, rest = folds == fold, folds != fold
            fitted = samples.take(rest).fit(clone(candidate, safe=False), correct[rest])
            held_out[inside] = samples.take(inside).predict(fitted)
    return held_out


def _log_loss(confidence: Floats, correct: Bools) -> Floats:
    return log_loss(log_odds(confidence), correct)


def _nothing(reason: str) -> tuple[None, dict[str, Any]]:
    warnings.warn(f"{reason}; confidence is left as the base gives it", ProxcalWarning, stacklevel=4)
    return None, {"chosen": "none", "reason": reason}
