"""How often 95 % intervals of calibration errors hold the true error, and how far point estimates are from it.

Confidence is at least 0.5 and follows proximity. The models: calibrated; overconfident (temperatures 1.2 and 1.6);
proximity bias, strong and weak, which only piece sees whole. The true error is that of a million samples' own
probabilities on the metric's bins.

    python benchmarks/intervals.py [--simulations 100] [--samples 500 5000]
"""

import argparse
import warnings

import numpy as np
from scipy.special import expit

from proxcal._validation import ProxcalWarning
from proxcal.metrics import ace, confidence_interval, ece, mce, paired_difference, piece

METRICS = (ece, ace, mce, piece)
MODELS = {
    "calibrated": lambda log_odds, u: expit(log_odds),
    "temperature 1.2": lambda log_odds, u: expit(log_odds / 1.2),
    "temperature 1.6": lambda log_odds, u: expit(log_odds / 1.6),
    "proximity bias": lambda log_odds, u: expit(log_odds + 0.5 * u),
    "weak proximity bias": lambda log_odds, u: expit(log_odds + 0.15 * u),
}
N_TRUTH = 1_000_000


def simulate(model, n, rng):
    """Confidence, P(correct) and proximity."""
    u = rng.standard_normal(n)
    log_odds = np.abs(2 + 1.8 * (0.5 * u + np.sqrt(0.75) * rng.standard_normal(n)))
    return expit(log_odds), MODELS[model](log_odds, u), u


def true_error(metric, confidence, probability, proximity):
    table = metric(confidence, np.zeros(len(confidence)), **given(metric, proximity), return_result=True)
    sums = np.abs(np.bincount(table.bins, weights=probability - confidence, minlength=table.count.size))
    return (sums / np.maximum(table.count.ravel(), 1)).max() if metric is mce else sums.sum() / len(confidence)


def given(metric, proximity):
    return {"proximity": proximity} if metric is piece else {}


def percentile_bootstrap(metric, confidence, correct, proximity, rng, n_resamples=200):
    """The usual way: samples drawn anew, the metric computed anew."""
    draws = rng.integers(len(confidence), size=(n_resamples, len(confidence)))
    values = [metric(confidence[d], correct[d], **given(metric, proximity[d])) for d in draws]
    return np.quantile(values, (0.025, 0.975))


def run(metric, model, n, n_simulations):
    truth = true_error(metric, *simulate(model, N_TRUTH, np.random.default_rng(0)))
    outcomes = []
    for seed in range(n_simulations):
        rng = np.random.default_rng(1 + seed)
        confidence, probability, proximity = simulate(model, n, rng)
        correct = rng.random(n) < probability
        found = confidence_interval(metric, confidence, correct, n_resamples=400, **given(metric, proximity))
        usual = percentile_bootstrap(metric, confidence, correct, proximity, rng)
        held = (low - 1e-12 <= truth <= high + 1e-12 for low, high in ((found.low, found.high), usual))
        outcomes.append((*held, found.value, found.value - found.noise_floor, found.debiased))
    return truth, np.mean(outcomes, axis=0)


def run_paired(metric, n, n_simulations):
    """Overconfident by temperature 1.3, then calibrated; and 1.4 times over-, then 1.47 times underconfident."""
    for before, after in ((1.3, 1.0), (1 / 1.4, 1.47)):

        def sides(n, rng, before=before, after=after):
            u = rng.standard_normal(n)
            log_odds = np.abs(2 + 1.8 * (0.5 * u + np.sqrt(0.75) * rng.standard_normal(n)))
            return expit(before * log_odds), expit(after * log_odds), expit(log_odds), u

        first, second, p, u = sides(N_TRUTH, np.random.default_rng(0))
        truth = true_error(metric, second, p, u) - true_error(metric, first, p, u)
        outcomes = []
        for seed in range(n_simulations):
            rng = np.random.default_rng(1 + seed)
            first, second, p, u = sides(n, rng)
            found = paired_difference(metric, first, second, rng.random(n) < p, n_resamples=400, **given(metric, u))
            outcomes.append((found.low <= truth <= found.high, found.p_value < 0.05, found.difference))
        yield before, after, truth, np.mean(outcomes, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=100)
    parser.add_argument("--samples", type=int, nargs="+", default=[500, 5000])
    args = parser.parse_args()
    warnings.simplefilter("ignore", ProxcalWarning)
    print("| metric | model | samples | true | interval holds it | bootstrap's | seen | seen - floor | debiased |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for metric in METRICS:
        for model in MODELS:
            for n in args.samples:
                truth, (held, usual, *estimates) = run(metric, model, n, args.simulations)
                numbers = " | ".join(f"{100 * e:.2f}" for e in estimates)
                print(
                    f"| {metric.__name__} | {model} | {n} | {100 * truth:.2f} | {held:.0%} | {usual:.0%} | {numbers} |",
                    flush=True,
                )
    print("\n| paired: metric | log-odds times | samples | true | interval holds it | p < 0.05 | difference |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for metric in METRICS:
        for n in args.samples:
            for before, after, truth, (held, rejected, mean) in run_paired(metric, n, args.simulations):
                print(
                    f"| {metric.__name__} | {before:.2f}, then {after:.2f} | {n} | {100 * truth:.2f} | {held:.0%} | "
                    f"{rejected:.0%} | {100 * mean:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
