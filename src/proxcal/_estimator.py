"""What every fitted object here is: scikit-learn's estimator contract, and a state that is named arrays and plain
values.

Because everything learned lives in attributes with a trailing underscore, saving needs neither pickle nor a list of
special cases: the constructor's arguments and those attributes are the whole object.
"""

from typing import Any, Self

from sklearn.base import BaseEstimator


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Keyword-only constructor that stores its arguments; what `fit` learned ends in an underscore."""

    def state_arrays(self) -> dict[str, Any]:
        """What `fit` learned, by name: arrays, numbers, strings, None, estimators, lists and dicts of those."""
        return {name: value for name, value in vars(self).items() if name.endswith("_") and not name.startswith("_")}

    @classmethod
    def from_state(cls, params: dict[str, Any], state: dict[str, Any]) -> Self:
        """The estimator that had these constructor arguments and this `state_arrays()`."""
        estimator = cls(**params)
        for name, value in state.items():
            setattr(estimator, name, value)
        return estimator

    def __sklearn_is_fitted__(self) -> bool:
        return bool(self.state_arrays())
