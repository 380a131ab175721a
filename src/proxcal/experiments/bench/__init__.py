"""Speed, memory and quality beside those of others, on one machine and in one process."""

from proxcal.experiments.bench.result import BenchResult
from proxcal.experiments.bench.run import PARTS, PICTURES, QUALITY, RESULTS, TABLE, bench
from proxcal.experiments.bench.stages import SIZES, STAGES, Size

__all__ = ["PARTS", "PICTURES", "QUALITY", "RESULTS", "SIZES", "STAGES", "TABLE", "BenchResult", "Size", "bench"]
