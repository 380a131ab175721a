"""What the informed calibrators share: (confidence, proximity) comes in, a better confidence goes out.

`proximity` may be on any increasing scale: all but the paper's own Density-Ratio use its ranks only, so `ProCal` hands them
the logarithm, which never underflows (`proximity_scale` says which they want).
"""

from typing import ClassVar, Literal

from proxcal._estimator import Estimator


class InformedCalibrator(Estimator):
    proximity_scale: Literal["log", "plain"] = "log"
    takes_evidence: ClassVar[bool] = False
