"""Where it was measured: processor, cores, versions, and which of its kernels each matrix library chose.

The last is not idle: a library that does not know a new processor may fall back on kernels of a much older one.
"""

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

_OURS = ("proxcal", "numpy", "scipy", "scikit-learn")
_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_CORETYPE")


def machine(packages: Iterable[str]) -> dict[str, Any]:
    """The machine and the versions of proxcal, what it stands on and these packages, of those that are installed."""
    return {
        "processor": _processor(),
        "cores": _cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: found for name in sorted({*_OURS, *packages}) if (found := _version(name))},
        "blas": _blas(),
        "environment": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _blas() -> dict[str, str]:
    """Of NumPy and SciPy: library, version, kernels and threads."""
    return {
        owner: f"{info['internal_api']} {info['version']}, {info.get('architecture')}, {_threads(info['num_threads'])}"
        for owner in ("numpy", "scipy")
        for info in ThreadpoolController().select(user_api="blas").info()
        if owner in Path(info["filepath"]).parent.name  # each wheel brings its own
    }


def _threads(n: int) -> str:
    return f"{n} thread" if n == 1 else f"{n} threads"
