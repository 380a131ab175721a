"""The audit: whether a model's confidence has proximity bias, proved, drawn, and told on one page that needs nothing
else."""

from proxcal.report.audit import audit
from proxcal.report.facts import Audit

__all__ = ["Audit", "audit"]
