"""Confidence in answers, where the model gives one number and no row of classes.

    python examples/llm_confidence.py [FILE]

An assistant answers questions and says how sure it is. Some questions are outside what it can answer, and it answers
them all the same. `ProCal.fit_confidence` needs of past answers how sure it was, whether each was right, and an
embedding of the question; from an LLM these are the answer's probability (or what it says of itself), a grader's
verdict, and any text embedding.

FILE holds `logits`, `labels` and `features` of questions in scope, and `ood_logits` and `ood_features` of questions out
of scope, to which every answer is wrong (CLINC150). Of the logits only the answer and its probability are used. Half of
the questions calibrate, the other half test; the numbers are means over three random halves.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.metrics import roc_auc_score

import proxcal as px

FILE = Path(__file__).parents[2] / "shared" / "data" / "clinc150_minilm.npz"
SEEDS = (2020, 2021, 2022)
COLUMNS = ("ECE", "PIECE", "-floor", "NLL", "AUROC")
METHODS = {
    "as the model says": px.ProCal(base="identity", informed=None),
    "temperature scaling": px.ProCal(informed=None),
    "proxcal": px.ProCal(),
}


class Answers(NamedTuple):
    confidence: np.ndarray
    correct: np.ndarray
    features: np.ndarray
    in_scope: np.ndarray

    def take(self, which: np.ndarray) -> "Answers":
        return Answers(*(array[which] for array in self))


def load(path: Path) -> Answers:
    """What the model said of all questions: the probability of its answer, and whether that was right."""
    inside, outside = px.Predictions.load(path), px.Predictions.load(path, prefix="ood_")
    in_scope = np.arange(len(inside) + len(outside)) < len(inside)
    right = np.zeros(len(in_scope), dtype=bool)
    right[in_scope] = inside.logits.argmax(axis=1) == inside.labels
    logits = np.concatenate([inside.logits, outside.logits]).astype(np.float64)
    features = np.concatenate([inside.features, outside.features])
    return Answers(softmax(logits, axis=1).max(axis=1), right, features, in_scope)


def measure(calibration: Answers, test: Answers) -> dict[str, list[float]]:
    """Each method's errors on answers it has not seen."""
    proximity = px.Proximity().fit(calibration.features).score(test.features)
    rows = {}
    for name, calibrator in METHODS.items():
        calibrator.fit_confidence(calibration.confidence, calibration.correct, features=calibration.features)
        confidence = calibrator.confidence(test.confidence, features=test.features)
        piece = px.piece(confidence, test.correct, proximity)
        rows[name] = [
            px.ece(confidence, test.correct),
            piece,
            piece - px.noise_floor(px.piece, confidence, proximity),
            px.nll(confidence, test.correct),
            roc_auc_score(test.in_scope, confidence),
        ]
    return rows


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    if not path.is_file():
        print(f"Skipped: there is no {path}; give the path of a predictions file that has it.")
        return
    answers = load(path)
    halves = [np.random.default_rng(seed).permutation(len(answers.correct)) for seed in SEEDS]
    half = len(answers.correct) // 2
    runs = [measure(answers.take(order[:half]), answers.take(order[half:])) for order in halves]
    print(
        f"{len(answers.correct)} questions, {np.mean(~answers.in_scope):.1%} of them out of scope;"
        f" {answers.correct.mean():.1%} answered right.\n"
    )
    print(f"{'confidence':22}" + "".join(f"{column:>8}" for column in COLUMNS))
    for name in METHODS:
        print(f"{name:22}" + "".join(f"{100 * value:8.2f}" for value in np.mean([run[name] for run in runs], axis=0)))
    print(
        "\nAll times 100, on answers held out. ECE, PIECE, NLL: smaller is better; -floor:\n"
        "PIECE less what chance alone would show. AUROC: how well the confidence tells\n"
        "questions in scope from those out of it; larger is better."
    )


if __name__ == "__main__":
    main()
