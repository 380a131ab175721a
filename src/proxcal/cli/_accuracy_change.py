"""What a base that may change predictions does to accuracy, as its own held-out folds told: one sentence."""

from collections.abc import Mapping

from proxcal.experiments import Evaluation


def accuracy_change(found: Mapping[str, float]) -> str:
    """What predictions do, in percent and points, from a base's `accuracy_change_`, which holds shares."""
    if found["changed"] == 0:
        return "do not change on held-out folds"
    change, low, high = (f"{100 * found[name]:+.1f}" for name in ("change", "low", "high"))
    return (
        f"change for {100 * found['changed']:.1f} % of samples; accuracy {change} points, 95 % interval"
        f" {low} to {high}, on held-out folds"
    )


def accuracy_changes(evaluation: Evaluation) -> dict[str, str]:
    """The sentence of each base that has one, over the means of all its fits."""
    found: dict[str, list[Mapping[str, float]]] = {}
    for choice in evaluation.informed:
        if choice.accuracy_change is not None:
            found.setdefault(choice.base, []).append(choice.accuracy_change)
    return {base: accuracy_change(_mean(fits)) + _of(len(fits)) for base, fits in found.items()}


def _mean(fits: list[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(fit[name] for fit in fits) / len(fits) for name in fits[0]}


def _of(n_fits: int) -> str:
    return f" (means of {n_fits} fits)" if n_fits > 1 else ""
