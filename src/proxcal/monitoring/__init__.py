"""Batches that come in, and whether the calibrator still holds for them."""

from proxcal.monitoring.monitor import Monitor
from proxcal.monitoring.record import Watched, WindowRecord

__all__ = ["Monitor", "Watched", "WindowRecord"]
