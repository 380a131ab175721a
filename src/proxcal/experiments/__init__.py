"""The paper's comparisons as protocols that run on anyone's predictions."""

from proxcal.experiments.evaluate import SEEDS, evaluate
from proxcal.experiments.evaluation import Choice, Comparison, Evaluation, Record
from proxcal.experiments.measures import METRICS
from proxcal.experiments.split import Outcome, Pair, informed_name

__all__ = [
    "METRICS",
    "SEEDS",
    "Choice",
    "Comparison",
    "Evaluation",
    "Outcome",
    "Pair",
    "Record",
    "evaluate",
    "informed_name",
]
