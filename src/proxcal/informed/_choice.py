"""Which informed calibrator an argument means: the names that ProCal and the command line take, or an object."""

from typing import Any

from proxcal._validation import check_choice
from proxcal.informed._calibrator import InformedCalibrator
from proxcal.informed.bin_mean_shift import BinMeanShift
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
    """What `informed` names, unfitted: None, "auto", or an object."""
    if informed is None:
        return None
    if not isinstance(informed, str):
        if isinstance(informed, type) or not (hasattr(informed, "fit") and hasattr(informed, "predict")):
            raise ValueError(f"informed must be a name, None, or an object with fit and predict; got {informed!r}")
        return informed
    name = check_choice("informed", informed, ("auto", *INFORMED))
    if name == "auto":
        return name
    chosen = INFORMED[name]()
    return chosen.set_params(random_state=random_state) if "random_state" in chosen.get_params() else chosen
