"""Quality on real networks and data: half of each set calibrates, the other half tests.

    python benchmarks/quality.py DATA_FOLDER [--bases [--only BASE ...] | --votes] [--seeds 3] [--json FILE]

DATA_FOLDER holds predictions files (`.npz` with logits, features, labels) that no setting of proxcal was tuned to one
by one; every number is a mean over files and seeds (2020, 2021, ...), and "worst" is the worst file's mean over seeds.
Errors are ×10⁻². Changes of "X + ours" are against X, those of all others against the first line; "changed" counts
predictions other than the model's, "here" those other than that line's. `--bases` shows every base alone and with the
default informed step instead of the variants of the default; `--votes` shows neighbour votes, which may change
predictions, beside their peers.
"""

import argparse
import json
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import _votes
import numpy as np

import proxcal as px
from proxcal.base import BASES
from proxcal.procal import ProCal
from proxcal.rows import Calibrated

FIRST_SEED = 2020
COLUMNS = ("ECE", "PIECE", "PIECE-floor", "NLL", "Brier", "multiclass NLL", "accuracy", "changed", "here")
OURS = " + ours"


def measure(
    found: Calibrated, labels: np.ndarray, proximity: np.ndarray, model: np.ndarray, base: np.ndarray
) -> list[float]:
    correct = found.predicted == labels
    piece = px.piece(found.confidence, correct, proximity)
    return [
        100 * px.ece(found.confidence, correct),
        100 * piece,
        100 * (piece - px.noise_floor(px.piece, found.confidence, proximity)),
        100 * px.nll(found.confidence, correct),
        100 * px.brier(found.confidence, correct),
        px.multiclass_nll(found.probs, labels),
        100 * correct.mean(),
        100 * (found.predicted != model).mean(),
        100 * (found.predicted != base).mean(),
    ]


def compared_with(name: str, methods: Iterable[str]) -> str:
    """What a method's changes are measured from: its own base alone where it is named after one, else the first."""
    return name.removesuffix(OURS) if name.endswith(OURS) else next(iter(methods))


def run(
    files: list[Path], methods: dict[str, Callable[[], ProCal]], n_calibration: int | None = None, n_seeds: int = 3
) -> dict[str, np.ndarray]:
    """(files, seeds, columns) of each method; all methods of a split see the same samples."""
    results = {name: np.empty((len(files), n_seeds, len(COLUMNS))) for name in methods}
    for i, path in enumerate(files):
        data = px.Predictions.load(path)
        for j, seed in enumerate(range(FIRST_SEED, FIRST_SEED + n_seeds)):
            calibration, test = data.split(0.5, random_state=seed)
            if n_calibration:
                calibration = calibration.take(
                    np.random.default_rng(seed).permutation(len(calibration))[:n_calibration]
                )
            proximity = px.Proximity().fit(calibration.features).score(test.features)
            model = test.logits.argmax(axis=1)
            predicted: dict[str, np.ndarray] = {}
            for name, method in methods.items():
                fitted = method().fit(calibration.logits, calibration.labels, features=calibration.features)
                found = fitted.calibrate(test.logits, features=test.features)
                predicted[name] = found.predicted
                base = predicted[compared_with(name, methods)]
                results[name][i, j] = measure(found, test.labels, proximity, model, base)
    return results


def show(title: str, results: dict[str, np.ndarray]) -> None:
    width = max(map(len, results))
    headers = (*COLUMNS, "PIECE-floor change", "NLL change", "worst")
    print(f"\n## {title}\n")
    print(f"| {'method':{width}} | " + " | ".join(headers) + " |")
    print(f"| {'-' * width} |" + " ---: |" * len(headers))
    for name, values in results.items():
        change = (values - results[compared_with(name, results)]).mean(axis=1)
        floor, nll = (change[:, COLUMNS.index(column)] for column in ("PIECE-floor", "NLL"))
        cells = [
            f"{x:.{4 if column == 'multiclass NLL' else 2}f}"
            for column, x in zip(COLUMNS, values.mean((0, 1)), strict=True)
        ]
        cells += [f"{x:+.2f}" for x in (floor.mean(), nll.mean(), nll.max())]
        print(f"| {name:{width}} | " + " | ".join(cells) + " |")


def show_verdict(results: dict[str, np.ndarray]) -> None:
    """For how many bases the informed step keeps its promise; where not, the change and its standard error over
    files."""
    changes = {b: (results[b + OURS] - results[b]).mean(axis=1) for b in results if b + OURS in results}
    print("\n+ ours against its base:")
    for column in ("PIECE-floor", "NLL"):
        of_files = {base: change[:, COLUMNS.index(column)] for base, change in changes.items()}
        broken = [
            f"{base} ({x.mean():+.2f} ± {x.std(ddof=1) / np.sqrt(len(x)):.2f})"
            for base, x in of_files.items()
            if x.mean() >= 0
        ]
        print(f"- lower mean {column} for {len(changes) - len(broken)} of {len(changes)} bases" + _not_for(broken))
    changed = [base for base in changes if results[base + OURS][:, :, COLUMNS.index("here")].any()]
    print(f"- no prediction changed for {len(changes) - len(changed)} of {len(changes)} bases" + _not_for(changed))


def _not_for(bases: list[str]) -> str:
    return f"; not for {', '.join(bases)}" if bases else ""


def variants() -> dict[str, Callable[[], ProCal]]:
    return {
        "temperature": lambda: ProCal(informed=None),
        "+ auto (the default)": lambda: ProCal(),
        "+ auto, rows=rerank": lambda: ProCal(rows="rerank"),
        "+ neighborhood": lambda: ProCal(informed="neighborhood"),
        "+ logistic": lambda: ProCal(informed="logistic"),
        "+ density-ratio": lambda: ProCal(informed="density-ratio"),
        "+ density-ratio, its own axes": lambda: ProCal(informed=px.DensityRatio(coordinates="paper")),
        "+ bin-mean-shift": lambda: ProCal(informed="bin-mean-shift"),
        "+ bin-mean-shift, λ = ½": lambda: ProCal(informed=px.BinMeanShift(shrinkage=0.5)),
        "ProCal.paper()": ProCal.paper,
    }


def bases(only: list[str]) -> dict[str, Callable[[], ProCal]]:
    methods: dict[str, Callable[[], ProCal]] = {}
    for name in only or (*BASES, "auto"):
        methods[name] = lambda name=name: ProCal(base=name, informed=None)
        methods[name + OURS] = lambda name=name: ProCal(base=name)
    return methods


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--bases", action="store_true")
    which.add_argument("--votes", action="store_true")
    parser.add_argument("--only", nargs="+", choices=(*BASES, "auto"), default=[], metavar="BASE")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    files = sorted(arguments.data.glob("*.npz"))
    if not files:
        parser.error(f"no .npz files in {arguments.data}")
    warnings.simplefilter("ignore", px.ProxcalWarning)
    print("Files: " + ", ".join(path.stem for path in files))
    methods = bases(arguments.only) if arguments.bases else _votes.methods() if arguments.votes else variants()
    sizes = [None] if arguments.bases else [None, 1000, 300]
    record = {}
    for size in sizes:
        title = f"{size} calibration samples" if size else "half of each file calibrates"
        results = run(files, methods, size, arguments.seeds)
        show(title, results)
        if arguments.bases:
            show_verdict(results)
        if arguments.votes:
            of = {column: {n: v[:, :, i] for n, v in results.items()} for i, column in enumerate(COLUMNS)}
            _votes.show_by_file([path.stem for path in files], of["multiclass NLL"], of["accuracy"])
        record[title] = {name: values.tolist() for name, values in results.items()}
    if arguments.json:
        arguments.json.write_text(json.dumps({"columns": COLUMNS, "files": [p.stem for p in files], "results": record}))


if __name__ == "__main__":
    main()
