"""How long a sweep over the paper's 504 models takes on two processors: temperature scaling and ours, one seed.

    python benchmarks/sweep.py [--files 24] [--all] [--folder FOLDER]

Simulates so many files of 10 000 samples, 100 classes and 64 features (6.6 MB each), each its own, then runs the
command `proxcal sweep` over them with two jobs, from its start to its last line, and says what 504 take at that rate;
`--all` simulates all 504 (3.3 GB, in FOLDER or in the system's folder for temporary files). The budget is 15 minutes.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import _base
import numpy as np

from proxcal import Predictions

N_MODELS, BUDGET = 504, 15 * 60
N, N_CLASSES, WIDTH = 10_000, 100, 64
JOBS = 2


def simulate(path: Path, seed: int) -> None:
    logits, labels = _base.simulated_network(N, N_CLASSES, seed)
    projection = np.random.default_rng(seed).normal(size=(N_CLASSES, WIDTH)).astype(np.float32)
    features = np.maximum(logits @ projection, 0)
    Predictions(logits=logits, labels=labels, features=features).save(path)


def run(folder: Path, n_files: int) -> dict[str, float]:
    files = [folder / f"model{i:03}.npz" for i in range(n_files)]
    for seed, path in enumerate(files):
        simulate(path, seed)
    command = [sys.executable, "-c", "from proxcal.cli import main; main()", "sweep", *map(str, files)]
    start = time.perf_counter()
    subprocess.run([*command, "-o", str(folder / "results.csv"), "--jobs", str(JOBS)], check=True)
    wall = time.perf_counter() - start
    return {
        "files": n_files,
        "seconds": wall,
        "seconds a file": wall / n_files,
        f"minutes for {N_MODELS} files at this rate": wall / n_files * N_MODELS / 60,
        "share of the 15 minutes": wall / n_files * N_MODELS / BUDGET,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=24)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:JOBS])
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        measured = run(Path(folder), N_MODELS if arguments.all else arguments.files)
    print()
    for key, value in measured.items():
        print(f"  {key:40} {value:.4g}")


if __name__ == "__main__":
    main()
