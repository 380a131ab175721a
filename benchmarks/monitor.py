"""How often a monitor gives a false alarm on real networks' clean samples, and how soon it finds real shifts.

    python benchmarks/monitor.py FILE.npz...

Half of each file's clean samples calibrate (ten seeds), the other half streams by in random order, 250 at a time, past
a monitor as it is set by default. A false alarm is a stream of clean samples, all there are, in which any figure leaves
its interval at any look. Where a file has shifted samples (arrays `noise_logits`, `blur_features`, ...) these follow
2000 clean ones, and the delay is how many of them it takes until an alarm: the median over seeds. First come simulated
streams, where it is known that nothing changes and that confidence is right: 20 looks at windows of 200 samples.
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import proxcal as px

SEEDS = range(2020, 2030)
N_STREAMS = 500
SHIFTS = ("noise", "blur", "contrast")
BATCH, N_CLEAN_BEFORE = 250, 2000
PROXIMITY, GAP = ("percentile", "low_share"), ("gap", "low_gap")
KINDS = (PROXIMITY + GAP, PROXIMITY, GAP)
Looks = list[set[str]]  # what had left its interval, batch by batch
Results = dict[str, tuple[list[Looks], dict[str, list[Looks]]]]


def batches(samples: px.Predictions, random_state: int) -> Iterator[px.Predictions]:
    """Whole ones, in random order."""
    order = np.random.default_rng(random_state).permutation(len(samples))
    for i in range(len(samples) // BATCH):
        yield samples.take(order[i * BATCH : (i + 1) * BATCH])


def looks(monitor: px.Monitor, stream: Iterator[px.Predictions]) -> Looks:
    """What had left its interval, batch by batch."""
    return [set(monitor.update(b.scores, b.features, b.labels).drifted) for b in stream]


def first(found: Looks, figures: tuple[str, ...]) -> float:
    """How many samples came before any of the figures left its interval, that batch among them."""
    return next((BATCH * (i + 1) for i, drifted in enumerate(found) if drifted & set(figures)), np.inf)


def fitted(path: Path, seed: int) -> tuple[px.ProCal, px.Predictions]:
    calibration, rest = px.Predictions.load(path).split(0.5, random_state=seed)
    calibrator = px.ProCal(input=calibration.input)
    return calibrator.fit(calibration.scores, calibration.labels, features=calibration.features), rest


class AsItCame:
    """An informed step that leaves confidence as it is."""

    def fit(self, confidence: np.ndarray, proximity: np.ndarray, correct: np.ndarray) -> "AsItCame":
        return self

    def predict(self, confidence: np.ndarray, proximity: np.ndarray) -> np.ndarray:
        return confidence


def simulated(n: int, rng: np.random.Generator) -> px.Predictions:
    """Labels as likely as the logits say, in any place."""
    logits = 2 * rng.normal(size=(n, 3))
    labels = (logits + rng.gumbel(size=(n, 3))).argmax(axis=1)
    return px.Predictions(logits=logits, labels=labels, features=rng.normal(size=(n, 4)))


def alarms_without_drift(n_references: int, false_alarms: float) -> float:
    """The share of simulated streams with an alarm."""
    alarmed = 0
    for seed in range(N_STREAMS):
        rng = np.random.default_rng(seed)
        first = simulated(n_references, rng)
        calibrator = px.ProCal(base="identity", informed=AsItCame(), normalize=False)
        calibrator.fit(first.logits, first.labels, features=first.features)
        monitor = px.Monitor(window=200, false_alarms=false_alarms, tolerance=0.0).fit(calibrator)
        alarmed += any(looks(monitor, (simulated(100, rng) for _ in range(20))))
    return alarmed / N_STREAMS


def shifts_of(path: Path) -> list[str]:
    with np.load(path) as arrays:
        return [shift for shift in SHIFTS if f"{shift}_logits" in arrays.files]


def run(path: Path) -> tuple[list[Looks], dict[str, list[Looks]]]:
    """Of each seed: the looks at clean samples, and by shift those at shifted ones."""
    clean: list[Looks] = []
    shifted: dict[str, list[Looks]] = {shift: [] for shift in shifts_of(path)}
    for seed in SEEDS:
        calibrator, rest = fitted(path, seed)
        clean.append(looks(px.Monitor().fit(calibrator), batches(rest, seed)))
        for shift, found in shifted.items():
            monitor = px.Monitor().fit(calibrator)
            before = rest.take(np.random.default_rng(seed).permutation(len(rest))[:N_CLEAN_BEFORE])
            looks(monitor, batches(before, seed))
            found.append(looks(monitor, batches(px.Predictions.load(path, prefix=f"{shift}_"), seed)))
    return clean, shifted


def show_simulated() -> None:
    print("| references | stated chance of a false alarm | simulated streams with one |\n|" + " ---: |" * 3)
    for n_references in (200, 1000):
        for stated in (0.05, 0.5):
            seen = alarms_without_drift(n_references, stated)
            print(f"| {n_references} | {100 * stated:g} % | {100 * seen:.1f} % |", flush=True)


def show_clean(results: Results) -> None:
    print("\n| clean samples of | looks a stream | streams with an alarm | by proximity | by gap |")
    print("| --- |" + " ---: |" * 4)
    for name, (clean, _) in results.items():
        alarms = [sum(np.isfinite(first(found, figures)) for found in clean) for figures in KINDS]
        print(f"| {name} | {len(clean[0])} | " + " | ".join(f"{n} of {len(clean)}" for n in alarms) + " |")


def show_shifted(results: Results) -> None:
    print("\n| shift | samples until an alarm | by proximity | by gap |\n| --- |" + " ---: |" * 3)
    for name, (_, shifted) in results.items():
        for shift, streams in shifted.items():
            delays = [np.median([first(found, figures) for found in streams]) for figures in KINDS]
            cells = [f"{delay:.0f}" if np.isfinite(delay) else f"over {BATCH * len(streams[0])}" for delay in delays]
            print(f"| {name}, {shift} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    files = parser.parse_args().files
    warnings.simplefilter("ignore", px.ProxcalWarning)
    show_simulated()
    results = {path.stem: run(path) for path in files}
    show_clean(results)
    show_shifted(results)


if __name__ == "__main__":
    main()
