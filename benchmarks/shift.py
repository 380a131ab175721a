"""Neighbour votes where the world has moved: references that are clean, and 500 labelled shifted samples among them.

    python benchmarks/shift.py DATA_FOLDER

Half of a file's clean samples calibrate (seeds 2020 to 2022). Files with shifted samples (arrays `noise_logits`,
`blur_features`, ...) are tested on these, less 500 at random, which are then added as references or, to compare, to the
calibration set of a new fit. NLL is that of whole rows; ECE and PIECE (×10⁻²) are those of the top label, proximity
being to the clean references. Files with out-of-scope samples (`ood_logits`, ...) show mean confidence in them, and the
AUROC by which confidence tells them from clean test samples.
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

import proxcal as px
from proxcal.rows import Calibrated

SEEDS = (2020, 2021, 2022)
SHIFTS = ("noise", "blur", "contrast")
N_ADDED = 500
METHODS = {
    "temperature": {"informed": None},
    "temperature + ours": {},
    "neighbor-votes": {"base": "neighbor-votes", "informed": None},
    "neighbor-votes + ours": {"base": "neighbor-votes"},
}
COLUMNS = ("NLL", "ECE", "PIECE", "accuracy", "confidence")


def fit(calibration: px.Predictions, settings: dict[str, object]) -> px.ProCal:
    return px.ProCal(**settings).fit(calibration.logits, calibration.labels, features=calibration.features)


def calibrate(fitted: px.ProCal, samples: px.Predictions) -> Calibrated:
    return fitted.calibrate(samples.logits, features=samples.features)


def together(a: px.Predictions, b: px.Predictions) -> px.Predictions:
    return px.Predictions(
        **{name: np.concatenate([getattr(a, name), getattr(b, name)]) for name in ("logits", "labels", "features")}
    )


def measure(found: Calibrated, labels: np.ndarray, proximity: np.ndarray) -> list[float]:
    correct = found.predicted == labels
    return [
        px.multiclass_nll(found.probs, labels),
        100 * px.ece(found.confidence, correct),
        100 * px.piece(found.confidence, correct, proximity),
        100 * correct.mean(),
        100 * found.confidence.mean(),
    ]


def under_shift(path: Path, shift: str, seed: int) -> Iterator[tuple[str, list[float]]]:
    """Each method with clean references, with the shifted ones added, and fitted anew with them."""
    calibration, _ = px.Predictions.load(path).split(0.5, random_state=seed)
    shifted = px.Predictions.load(path, prefix=f"{shift}_")
    added, test = shifted.split(N_ADDED / len(shifted), random_state=seed)
    proximity = px.Proximity().fit(calibration.features).score(test.features)
    for name, settings in METHODS.items():
        fitted = fit(calibration, settings)
        yield name, measure(calibrate(fitted, test), test.labels, proximity)
        if name != "temperature":  # it has no references
            fitted.add_references(added.features, added.labels, added.logits)
            yield f"{name}, {N_ADDED} added", measure(calibrate(fitted, test), test.labels, proximity)
        anew = fit(together(calibration, added), settings)
        yield f"{name}, fitted anew", measure(calibrate(anew, test), test.labels, proximity)


def out_of_scope(path: Path, seed: int) -> Iterator[tuple[str, list[float]]]:
    """Mean confidence in clean test samples and in those out of scope, ×10⁻², and AUROC."""
    calibration, test = px.Predictions.load(path).split(0.5, random_state=seed)
    outside = px.Predictions.load(path, prefix="ood_")
    for name, settings in METHODS.items():
        fitted = fit(calibration, settings)
        known, unknown = (calibrate(fitted, samples).confidence for samples in (test, outside))
        known_first = np.repeat([1, 0], [len(known), len(unknown)])
        auroc = roc_auc_score(known_first, np.concatenate([known, unknown]))
        yield name, [100 * known.mean(), 100 * unknown.mean(), auroc]


def show(title: str, columns: tuple[str, ...], results: list[dict[str, list[float]]]) -> None:
    names = list(results[0])
    width = max(map(len, names))
    print(f"\n### {title}\n\n| {'method':{width}} | " + " | ".join(columns) + " |")
    print(f"| {'-' * width} |" + " ---: |" * len(columns))
    for name in names:
        mean = np.mean([result[name] for result in results], axis=0)
        cells = [f"{x:.{4 if column in ('NLL', 'AUROC') else 2}f}" for column, x in zip(columns, mean, strict=True)]
        print(f"| {name:{width}} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    files = sorted(parser.parse_args().data.glob("*.npz"))
    warnings.simplefilter("ignore", px.ProxcalWarning)
    for path in files:
        with np.load(path) as arrays:
            names = set(arrays.files)
        for shift in SHIFTS:
            if f"{shift}_logits" in names:
                results = [dict(under_shift(path, shift, seed)) for seed in SEEDS]
                show(f"{path.stem}, {shift}", COLUMNS, results)
        if "ood_logits" in names:
            results = [dict(out_of_scope(path, seed)) for seed in SEEDS]
            show(f"{path.stem}, out of scope", ("confidence", "out of scope", "AUROC"), results)


if __name__ == "__main__":
    main()
