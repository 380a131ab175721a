"""The paper's comparisons as protocols that run on anyone's predictions."""

from proxcal.experiments._sweep_record import SweepRecord
from proxcal.experiments.compression import CompressionReport, compression_report
from proxcal.experiments.evaluate import SEEDS, evaluate
from proxcal.experiments.evaluation import Choice, Comparison, Evaluation, Record
from proxcal.experiments.measures import METRICS
from proxcal.experiments.split import Outcome, Pair, informed_name
from proxcal.experiments.sweep import sweep
from proxcal.experiments.zoo import CalibratorSummary, Contrast, FamilySummary, Sweep

__all__ = [
    "METRICS",
    "SEEDS",
    "CalibratorSummary",
    "Choice",
    "Comparison",
    "CompressionReport",
    "Contrast",
    "Evaluation",
    "FamilySummary",
    "Outcome",
    "Pair",
    "Record",
    "Sweep",
    "SweepRecord",
    "compression_report",
    "evaluate",
    "informed_name",
    "sweep",
]
