"""What several networks' sensitivity studies come to: the number of neighbours K, and the distance.

    proxcal reproduce hyper-k NETWORK.npz --scaled -o FOLDER/NETWORK
    proxcal reproduce distance NETWORK.npz --scaled -o FOLDER/NETWORK
    python benchmarks/sensitivity.py FOLDER/*

Each folder is one network. Errors are means over calibrators, times 100. A curve is one network, calibrator and error;
each variant is compared with the paper's own choice (K = 10, L2) by a paired t-test over the five splits, which allows
for their overlap: how many curves are higher there by more than chance (p < 0.1), and how many lower.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from proxcal.experiments.paired import over_splits

REFERENCE = {"hyper-k": "10", "distance": "L2"}
METRICS = ("ece", "ace", "mce", "piece")
SIGNIFICANT = 0.1
Curves = dict[tuple[str, str], dict[str, np.ndarray]]  # (method, metric): variant: ours, a value a split


def read(path: Path) -> tuple[Curves, dict[str, float]]:
    """Curves, and the bases' mean of each error."""
    ours: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    base = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["metric"] not in METRICS:
                continue
            if row["side"] == "ours":
                ours[row["method"], row["metric"]][row["variant"]].append(float(row["value"]))
            else:
                base[row["metric"]].append(float(row["value"]))
    curves = {key: {variant: np.array(v) for variant, v in found.items()} for key, found in ours.items()}
    return curves, {metric: float(np.mean(values)) for metric, values in base.items()}


def show_errors(studies: dict[str, tuple[Curves, dict[str, float]]], metric: str, variants: list[str]) -> None:
    print(f"\n| {metric.upper()} | base | " + " | ".join(variants) + " |\n| --- |" + " ---: |" * (1 + len(variants)))
    for network, (curves, base) in studies.items():
        of_metric = [curve for (_, name), curve in curves.items() if name == metric]
        means = [np.mean([curve[v].mean() for curve in of_metric]) if v in of_metric[0] else None for v in variants]
        lowest = min(mean for mean in means if mean is not None)
        cells = ["" if m is None else f"**{100 * m:.2f}**" if m == lowest else f"{100 * m:.2f}" for m in means]
        print(f"| {network} | {100 * base[metric]:.2f} | " + " | ".join(cells) + " |")


def show_differences(studies: dict[str, tuple[Curves, dict[str, float]]], reference: str, variants: list[str]) -> None:
    curves = [curve for found, _ in studies.values() for curve in found.values()]
    others = [variant for variant in variants if variant != reference]
    counts = {variant: [0, 0, 0] for variant in others}  # higher, lower, of so many
    for curve in curves:
        for variant in (variant for variant in others if variant in curve):
            difference = curve[variant] - curve[reference]
            surely = over_splits(difference, 1.0) < SIGNIFICANT
            counts[variant][0] += int(surely and difference.mean() > 0)
            counts[variant][1] += int(surely and difference.mean() < 0)
            counts[variant][2] += 1
    print(f"\n| against {reference} | " + " | ".join(others) + " |\n| --- |" + " ---: |" * len(others))
    for place, what in enumerate(("higher", "lower", "of curves")):
        print(f"| {what} | " + " | ".join(str(counts[variant][place]) for variant in others) + " |")
    lowest = [min(curve, key=lambda variant: curve[variant].mean()) for curve in curves]
    print("| lowest at | " + " | ".join(f"{v}: {lowest.count(v)}" for v in variants) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    folders = parser.parse_args().folders
    for study, reference in REFERENCE.items():
        found = {f.name: read(f / f"{study}-splits.csv") for f in folders if (f / f"{study}-splits.csv").is_file()}
        if found:
            variants = list(dict.fromkeys(v for curves, _ in found.values() for c in curves.values() for v in c))
            print(f"\n### {study}: {len(found)} networks")
            for metric in ("ece", "piece"):
                show_errors(found, metric, variants)
            show_differences(found, reference, variants)


if __name__ == "__main__":
    main()
