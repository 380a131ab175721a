"""What fewer bytes, columns and rows of references cost in proximity, PIECE and log loss, on real networks.

    python benchmarks/compression.py DATA_FOLDER

Half of a file calibrates the default ProCal (seed 2020), the other half tests it and what `compress` makes of it. Files
hold float16 features of 64 columns: they are widened to float32 first, as they come from a network. Errors ×10⁻².
"""

import argparse
import warnings
from pathlib import Path

import numpy as np

import proxcal as px

METHODS = {
    "float16": {},
    "32 components": {"n_components": 32},
    "16 components": {"n_components": 16},
    "8 components": {"n_components": 8},
    "half, random": {"share": 0.5},
    "half, k-centre": {"share": 0.5, "coreset": "k-centre"},
    "a tenth, random": {"share": 0.1},
    "a tenth, k-centre": {"share": 0.1, "coreset": "k-centre"},
    "half, random, 16 components": {"share": 0.5, "n_components": 16},
}


def row(whole: px.ProCal, small: px.ProCal, test: px.Predictions) -> list[float]:
    report = px.compression_report(whole, small, test)
    found = small.calibrate(test.scores, test.features)
    correct = found.predicted == test.labels
    return [
        report.megabytes_after / report.megabytes_before,
        report.spearman,
        report.largest_error,
        100 * report.piece_after,
        100 * (report.piece_after - px.noise_floor(px.piece, found.confidence, whole.proximity_.score(test.features))),
        100 * px.nll(found.confidence, correct),
    ]


def main(folder: Path) -> None:
    rows: dict[str, list[list[float]]] = {"whole": [], **{name: [] for name in METHODS}}
    for path in sorted(folder.glob("*.npz")):
        loaded = px.Predictions.load(path)
        data = px.Predictions(
            logits=loaded.logits, labels=loaded.labels, features=np.asarray(loaded.features, dtype=np.float32)
        )
        calibration, test = data.split(0.5, random_state=2020)
        whole = px.ProCal().fit(calibration.logits, calibration.labels, features=calibration.features)
        rows["whole"].append(row(whole, whole, test))
        for name, settings in METHODS.items():
            chosen = dict(settings)
            if "share" in chosen:
                chosen["n_references"] = int(chosen.pop("share") * len(calibration))
            rows[name].append(row(whole, whole.compress(**chosen), test))
    print("| references | memory | Spearman | worst | largest error | PIECE | PIECE-floor | NLL | worst NLL change |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    nll = np.array(rows["whole"])[:, -1]
    for name, values in rows.items():
        memory, spearman, error, piece, above, loss = np.array(values).T
        print(
            f"| {name} | {memory.mean():.2f} | {spearman.mean():.4f} | {spearman.min():.4f} | {error.max():.3f} |"
            f" {piece.mean():.2f} | {above.mean():.2f} | {loss.mean():.2f} | {(loss - nll).max():+.2f} |"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    warnings.simplefilter("ignore")
    main(parser.parse_args().folder)
