"""What a look at the window found: each figure beside the interval in which it lies as long as nothing has changed."""

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Watched:
    value: float
    low: float
    high: float

    @property
    def outside(self) -> bool:
        """Whether it has left its interval."""
        return not self.low <= self.value <= self.high


@dataclass(frozen=True)
class WindowRecord:
    """A look at the window, the last of so many.

    look : 1 for the first batch.
    n_samples, n_labelled : in the window of all samples, and in that of samples with labels.
    log_proximity : its mean over the window.
    percentile : mean share of normal samples with less proximity; a half where nothing has changed.
    low_share : share of the window with less proximity than the lowest 5 % of normal samples.
    gap : accuracy − mean confidence over the window's labelled samples; None for a batch without labels.
    low_gap : the same of those with less proximity than the lowest fifth of normal samples; None if there are none.
    """

    look: int
    n_samples: int
    n_labelled: int
    log_proximity: float
    percentile: Watched
    low_share: Watched
    gap: Watched | None
    low_gap: Watched | None

    @property
    def drifted(self) -> tuple[str, ...]:
        """The names of the figures that have left their intervals."""
        watched = ((field.name, getattr(self, field.name)) for field in fields(self))
        return tuple(name for name, value in watched if isinstance(value, Watched) and value.outside)
