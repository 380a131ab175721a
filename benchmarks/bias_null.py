"""How often each test finds a proximity bias where there is none.

Confidence follows proximity (correlation 0.7 between log-odds and the normal score of proximity), while whether a
prediction is right depends on its confidence alone. A test at level 0.05 should reject in 5 % of the simulations.

    python benchmarks/bias_null.py [--simulations 2000] [--samples 5000]

What it printed, by default:

| model | test | rejected | pairs | difference in confidence |
| --- | --- | --- | --- | --- |
| calibrated | one-to-one, McNemar (default) | 4.9% | 211 | 0.0008 |
| calibrated | the same pairs, rank-sum | 4.1% | 211 | 0.0008 |
| calibrated | the most pairs in the caliper, McNemar | 15.1% | 257 | 0.0306 |
| calibrated | the paper's matching, rank-sum | 59.6% | 1766 | 0.0029 |
| overconfident | one-to-one, McNemar (default) | 4.9% | 211 | 0.0006 |
| overconfident | the same pairs, rank-sum | 4.6% | 211 | 0.0006 |
| overconfident | the most pairs in the caliper, McNemar | 25.6% | 258 | 0.0295 |
| overconfident | the paper's matching, rank-sum | 60.9% | 1746 | 0.0015 |
| calibrated, saturated | one-to-one, McNemar (default) | 4.2% | 215 | 0.0004 |
| calibrated, saturated | the same pairs, rank-sum | 3.3% | 215 | 0.0004 |
| calibrated, saturated | the most pairs in the caliper, McNemar | 44.9% | 344 | 0.0252 |
| calibrated, saturated | the paper's matching, rank-sum | 58.4% | 1698 | 0.0006 |
| overconfident, saturated | one-to-one, McNemar (default) | 5.0% | 215 | 0.0004 |
| overconfident, saturated | the same pairs, rank-sum | 4.4% | 215 | 0.0004 |
| overconfident, saturated | the most pairs in the caliper, McNemar | 99.6% | 344 | 0.0252 |
| overconfident, saturated | the paper's matching, rank-sum | 58.8% | 1698 | 0.0006 |
"""

import argparse
import warnings

import numpy as np
from scipy.special import expit

from proxcal._validation import ProxcalWarning
from proxcal.bias import bias_test
from proxcal.bias.significance import mcnemar, rank_sum

LEVEL, CALIPER, CORRELATION, N_GROUPS = 0.05, 0.05, 0.7, 5

# Mean and spread of the log-odds, and the temperature that would calibrate them.
MODELS = {
    "calibrated": (1.5, 1.5, 1.0),
    "overconfident": (2.0, 2.0, 2.0),
    "calibrated, saturated": (4.0, 3.0, 1.0),
    "overconfident, saturated": (4.0, 3.0, 3.0),
}
TESTS = (
    "one-to-one, McNemar (default)",
    "the same pairs, rank-sum",
    "the most pairs in the caliper, McNemar",
    "the paper's matching, rank-sum",
)


def simulate(model, n, rng):
    mean, spread, temperature = MODELS[model]
    proximity = rng.standard_normal(n)
    noise = np.sqrt(1 - CORRELATION**2) * rng.standard_normal(n)
    log_odds = mean + spread * (CORRELATION * proximity + noise)
    return expit(log_odds), rng.random(n) < expit(log_odds / temperature), proximity


def most_pairs(confidence, proximity):
    """As many one-to-one pairs as the caliper allows, whatever their distance: what `bias_test` does not do."""
    size, ranked = len(proximity) // N_GROUPS, np.argsort(proximity)
    low, high = (group[np.argsort(confidence[group])].tolist() for group in (ranked[:size], ranked[-size:]))
    pairs = []
    while low and high:
        difference = confidence[high[-1]] - confidence[low[-1]]
        if abs(difference) <= CALIPER:
            pairs.append((low.pop(), high.pop()))
        else:
            (high if difference > 0 else low).pop()
    return np.array(pairs).T


def outcomes(confidence, correct, proximity, seed):
    """(p-value, number of pairs, difference in confidence) of each test."""
    ours, papers = (
        bias_test(confidence, correct, proximity, matching=matching, n_resamples=1, random_state=seed)
        for matching in ("one-to-one", "paper")
    )
    low, high = most_pairs(confidence, proximity)
    pairs = [(ours.low, ours.high), (ours.low, ours.high), (low, high), (papers.low, papers.high)]
    p_values = [
        ours.p_value,
        rank_sum(correct[ours.high], correct[ours.low], "two-sided"),
        mcnemar(correct[high], correct[low], "two-sided"),
        papers.p_value,
    ]
    return [
        (p, len(low), np.mean(confidence[high] - confidence[low]))
        for p, (low, high) in zip(p_values, pairs, strict=True)
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--samples", type=int, default=5000)
    args = parser.parse_args()
    warnings.simplefilter("ignore", ProxcalWarning)
    print("| model | test | rejected | pairs | difference in confidence |\n| --- | --- | --- | --- | --- |")
    for model in MODELS:
        rng = np.random.default_rng(0)
        runs = [outcomes(*simulate(model, args.samples, rng), seed) for seed in range(args.simulations)]
        for test, results in zip(TESTS, np.transpose(runs, (1, 2, 0)), strict=True):
            rejected, (n_pairs, difference) = np.mean(results[0] < LEVEL), results[1:].mean(axis=1)
            print(f"| {model} | {test} | {rejected:.1%} | {n_pairs:.0f} | {difference:.4f} |")


if __name__ == "__main__":
    main()
