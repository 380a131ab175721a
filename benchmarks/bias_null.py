"""How often each test finds a proximity bias where there is none, and how often the default finds one that is there.

Confidence follows proximity (correlation 0.7 between log-odds and the normal score of proximity). Without bias, whether
a prediction is right depends on its confidence alone, and a test at level 0.05 should reject in 5 % of the simulations.
With bias, the fifth of lowest proximity is right with so much less probability.

    python benchmarks/bias_null.py [--simulations 2000] [--samples 5000]
"""

import argparse
import warnings

import numpy as np
from scipy.special import expit

from proxcal._validation import ProxcalWarning
from proxcal.bias import bias_test
from proxcal.bias.significance import mcnemar, rank_sum

LEVEL, CALIPER, CORRELATION, N_GROUPS = 0.05, 0.05, 0.7, 5
BIASES = (0.02, 0.05, 0.1, 0.2)

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


def simulate(model, n, rng, bias=0.0):
    """Confidence, P(correct) and proximity."""
    mean, spread, temperature = MODELS[model]
    proximity = rng.standard_normal(n)
    noise = np.sqrt(1 - CORRELATION**2) * rng.standard_normal(n)
    log_odds = mean + spread * (CORRELATION * proximity + noise)
    is_rare = proximity < np.quantile(proximity, 1 / N_GROUPS)
    return expit(log_odds), (expit(log_odds / temperature) - bias * is_rare).clip(0), proximity


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


def outcomes(confidence, probability, proximity, rng, seed):
    """(p-value, number of pairs, difference in confidence) of each test."""
    correct = rng.random(len(confidence)) < probability
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


def power(confidence, probability, proximity, rng, seed):
    """Whether each test rejects, whether the interval holds the true index of the pairs, and the index found."""
    correct = rng.random(len(confidence)) < probability
    found = bias_test(confidence, correct, proximity, n_resamples=400, random_state=seed)
    truth = np.mean(probability[found.high] - probability[found.low])
    rank_sum_p = rank_sum(correct[found.high], correct[found.low], "two-sided")
    is_held = found.interval[0] <= truth <= found.interval[1]
    return found.p_value < LEVEL, rank_sum_p < LEVEL, is_held, truth, found.bias_index


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=2000, help="without bias; a quarter as many with")
    parser.add_argument("--samples", type=int, default=5000)
    args = parser.parse_args()
    warnings.simplefilter("ignore", ProxcalWarning)
    print("| model | test | rejected | pairs | difference in confidence |\n| --- | --- | ---: | ---: | ---: |")
    for model in MODELS:
        rng = np.random.default_rng(0)
        runs = [outcomes(*simulate(model, args.samples, rng), rng, seed) for seed in range(args.simulations)]
        for test, results in zip(TESTS, np.transpose(runs, (1, 2, 0)), strict=True):
            rejected, (n_pairs, difference) = np.mean(results[0] < LEVEL), results[1:].mean(axis=1)
            print(f"| {model} | {test} | {rejected:.1%} | {n_pairs:.0f} | {difference:.4f} |", flush=True)
    print(
        "\n| model | bias | default rejects | rank-sum rejects | 95 % interval holds the index | true index | found |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for model in MODELS:
        for bias in BIASES:
            rng = np.random.default_rng(0)
            runs = [power(*simulate(model, args.samples, rng, bias), rng, s) for s in range(args.simulations // 4)]
            default, ranked, held, truth, index = np.mean(runs, axis=0)
            print(
                f"| {model} | {bias} | {default:.0%} | {ranked:.0%} | {held:.1%} | {truth:.3f} | {index:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
