"""What a stage of the benchmark is: inputs, and contestants that do the same with them.

A contestant's `run` is what is timed; its `answer`, which is not, makes of the result an array that can be compared
with the others'. Libraries of others are imported within `run`, whose first call is a warm-up on a small workload: so
neither an import nor a compiler is ever timed, and a library that is missing or breaks is left out by name.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

from proxcal._validation import Array
from proxcal.experiments.bench.workload import Workload


class Contestant(NamedTuple):
    """`module` is what it imports, `package` what pip calls that; neither for what comes with proxcal."""

    name: str
    run: Callable[[Any], Any]
    answer: Callable[[Any, Any], Array] | None = None
    module: str | None = None
    package: str | None = None

    @property
    def is_installed(self) -> bool:
        return self.module is None or find_spec(self.module) is not None


class Stage(NamedTuple):
    """`grows_with` names the fields of the workload that its cost depends on."""

    name: str
    what: str
    inputs: Callable[[Workload], Any]
    ours: tuple[Contestant, ...]
    peers: tuple[Contestant, ...] = ()
    grows_with: tuple[str, ...] = ("n", "n_classes")


def itself(_: Any, result: Array) -> Array:
    """The answer of who computes just what is compared."""
    return result
