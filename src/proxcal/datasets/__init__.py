"""Data that comes with the package, so that the effect can be seen before any of one's own is at hand."""

from proxcal.datasets.demo import load_demo

__all__ = ["load_demo"]
