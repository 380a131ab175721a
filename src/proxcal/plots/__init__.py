"""Pictures of calibration and of proximity bias. Imported on its own, so that matplotlib costs only those who draw."""

from proxcal.plots.reliability import ReliabilityCurve, ReliabilityDisplay, before_after

__all__ = ["ReliabilityCurve", "ReliabilityDisplay", "before_after"]
