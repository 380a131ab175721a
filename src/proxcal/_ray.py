"""Ray where it is asked for: the cluster that this process is in, or else one that Ray finds or starts."""

import logging
import os
from typing import Any

from proxcal._extras import require


def connect(use: str) -> Any:
    """The module `ray`, connected. Ray finds a cluster by RAY_ADDRESS, or on this machine; else it starts one here."""
    ray = require("ray", "ray", use)
    if not ray.is_initialized():
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a Ray that starts here reports to nobody, unless told
        ray.init(log_to_driver=False, logging_level=logging.ERROR)
    return ray
