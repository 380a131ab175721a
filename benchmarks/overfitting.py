"""Whether models overfit more where data is sparse: training against held-out accuracy by proximity.

    python benchmarks/overfitting.py FILE [FILE ...] [--groups 5]

Each FILE is an `.npz` of predictions on held-out samples (`logits`, `features`, `labels`) and on training samples (the
same names after `train_`). Proximity is to the held-out samples, none its own neighbour. Accuracies in percent, gaps
in points with 95 % intervals.
"""

import argparse
from pathlib import Path

import proxcal as px


def by_proximity(path: Path, n_groups: int) -> px.bias.OverfittingByProximity:
    held_out, train = (px.Predictions.load(path, prefix=prefix) for prefix in ("", "train_"))
    proximity = px.Proximity().fit(held_out.features)
    return px.overfitting_by_proximity(
        train.logits.argmax(axis=1) == train.labels,
        proximity.log_score(train.features),
        held_out.logits.argmax(axis=1) == held_out.labels,
        proximity.log_score(),
        n_groups,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--groups", type=int, default=5)
    arguments = parser.parse_args()
    for path in arguments.files:
        found = by_proximity(path, arguments.groups)
        print(f"\n{path.stem}\n\n| log proximity | train samples | held-out samples | train | held-out | gap |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for group in range(arguments.groups):
            low, high = found.edges[group : group + 2]
            accuracies = f"{100 * found.train_accuracy[group]:.1f} | {100 * found.accuracy[group]:.1f}"
            gap = in_points(found.gap[group], found.gap_low[group], found.gap_high[group])
            counts = f"{found.train_count[group]} | {found.count[group]}"
            print(f"| {low:.2f} to {high:.2f} | {counts} | {accuracies} | {gap} |")
        print(f"\nLowest less highest: {in_points(found.excess, found.excess_low, found.excess_high)}")


def in_points(value: float, low: float, high: float) -> str:
    return f"{100 * value:.1f} ({100 * low:.1f} to {100 * high:.1f})"


if __name__ == "__main__":
    main()
