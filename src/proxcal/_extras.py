"""Libraries that only an extra brings: imported where they are used, asked for in one line where they are missing."""

import importlib
from typing import Any


def require(module: str, extra: str, use: str) -> Any:
    """The module; where it cannot be imported, an error that says what for and how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f'{use} needs {module} ({error}); pip install "proxcal[{extra}]"') from error
