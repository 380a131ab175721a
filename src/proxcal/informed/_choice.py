"""Which informed calibrator an argument means: the names that ProCal and the command line take, or an object."""

from collections.abc import Sequence
from typing import Any

from proxcal._validation import check_choice
from proxcal.informed._calibrator import InformedCalibrator
from proxcal.informed.bin_mean_shift import BinMeanShift
from proxcal.informed.chain import Chain
from proxcal.informed.density_ratio import DensityRatio
from proxcal.informed.logistic import ProximityLogistic
from proxcal.informed.neighborhood import NeighborhoodLogistic

INFORMED: dict[str, type[InformedCalibrator]] = {
    "density-ratio": DensityRatio,
    "bin-mean-shift": BinMeanShift,
    "logistic": ProximityLogistic,
    "neighborhood": NeighborhoodLogistic,
}


def takes_evidence(informed: Any) -> bool:
    return informed == "auto" or getattr(informed, "takes_evidence", False)


def make_informed(informed: Any, random_state: int) -> Any:
    """What `informed` names, unfitted: None, "auto", or an object; a list of names and objects is a `Chain` of them."""
    if informed is None:
        return None
    if isinstance(informed, list | tuple):
        return Chain(steps=_steps(informed, random_state), random_state=random_state)
    if not isinstance(informed, str):
        if isinstance(informed, type) or not (hasattr(informed, "fit") and hasattr(informed, "predict")):
            raise ValueError(f"informed must be a name, None, or an object with fit and predict; got {informed!r}")
        return informed
    name = check_choice("informed", informed, ("auto", *INFORMED))
    if name == "auto":
        return name
    chosen = INFORMED[name]()
    return chosen.set_params(random_state=random_state) if "random_state" in chosen.get_params() else chosen


def _steps(informed: Sequence[Any], random_state: int) -> list[Any]:
    if not informed:
        raise ValueError("informed is an empty list; name one informed calibrator or more, or give None")
    for step in informed:
        if step is None or isinstance(step, list | tuple) or (isinstance(step, str) and step == "auto"):
            raise ValueError(f"informed has {step!r} in its list; name each step (not auto), or give an object")
    return [make_informed(step, random_state) for step in informed]
