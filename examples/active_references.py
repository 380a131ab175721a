"""Labels that come in after deployment make a fitted calibrator better, without a refit.

    python examples/active_references.py [FILE ...]

500 labelled samples fit a `ProCal(base="neighbor-votes")`. Then more come in, and `add_references` takes them: they
vote from then on, by the weights that the first 500 gave. Beside it stands what a fit anew to all samples so far gives,
and temperature scaling, which has nothing to add to and can only be fitted anew.

Each FILE holds `logits`, `labels` and `features`. Of its samples, in random order, up to 10 000 come in, and the others
test, 1 500 at the least. NLL is that of whole rows; the numbers are means over three random orders. Where 500 samples
gave votes no weight, references add nothing: then only a fit anew does.
"""

import sys
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np

import proxcal as px

FOLDER = Path(__file__).parents[2] / "shared" / "data"
SIZES = (500, 1000, 2000, 5000, 10_000)
N_TEST = 1500
SEEDS = (2020, 2021, 2022)
VOTES = {"base": "neighbor-votes"}


def fit(samples: px.Predictions, settings: dict[str, str | None]) -> px.ProCal:
    return px.ProCal(**settings).fit(samples.logits, samples.labels, features=samples.features)


def judge(calibrator: px.ProCal, test: px.Predictions) -> tuple[float, float]:
    """NLL and accuracy."""
    rows = calibrator.predict_proba(test.logits, features=test.features)
    return px.multiclass_nll(rows, test.labels), 100 * float((rows.argmax(axis=1) == test.labels).mean())


def sizes_of(samples: px.Predictions) -> list[int]:
    """How many have come in each time, the last time all that are not kept to test."""
    most = min(len(samples) - N_TEST, SIZES[-1])
    return [size for size in SIZES if size < most] + [most]


def measure(samples: px.Predictions, seed: int) -> dict[str, list[tuple[float, float]]]:
    """Each way to take in the samples, at each size."""
    order, sizes = np.random.default_rng(seed).permutation(len(samples)), sizes_of(samples)
    test = samples.take(order[sizes[-1] :])
    so_far = [samples.take(order[:size]) for size in sizes]
    growing = fit(so_far[0], VOTES)
    added = [judge(growing, test)]
    for start, stop in pairwise(sizes):
        came = samples.take(order[start:stop])
        growing.add_references(came.features, came.labels, came.logits)
        added.append(judge(growing, test))
    return {
        "votes, references added": added,
        "votes, fitted anew": [judge(fit(samples, VOTES), test) for samples in so_far],
        "temperature, fitted anew": [judge(fit(samples, {"informed": None}), test) for samples in so_far],
    }


def show(title: str, sizes: list[int], runs: list[dict[str, list[tuple[float, float]]]]) -> None:
    print(f"\n{title}")
    for i, (column, decimals) in enumerate((("NLL", 4), ("accuracy", 2))):
        print(f"\n{column + ', samples:':26}" + "".join(f"{size:10}" for size in sizes))
        for name in runs[0]:
            means = np.mean([run[name] for run in runs], axis=0)[:, i]
            print(f"{name:26}" + "".join(f"{mean:10.{decimals}f}" for mean in means), flush=True)


def main() -> None:
    files = [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.npz"))
    if not files or not all(path.is_file() for path in files):
        print(f"Skipped: there is no {(files or [FOLDER])[0]}; give the path of a predictions file.")
        return
    warnings.simplefilter("ignore", px.ProxcalWarning)  # 500 samples of 150 classes are few, and it says so
    for path in files:
        samples = px.Predictions.load(path)
        if len(samples) <= SIZES[0] + N_TEST:
            sys.exit(f"{path} has {len(samples)} samples; more than {SIZES[0] + N_TEST} are needed")
        show(path.stem, sizes_of(samples), [measure(samples, seed) for seed in SEEDS])


if __name__ == "__main__":
    main()
