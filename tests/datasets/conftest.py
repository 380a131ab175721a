from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write files of these texts below the test's folder, which it returns. Paths are keys, or names as a__b_DOT_c."""

    def made(texts: dict[str, str] | None = None, **named: str) -> Path:
        plain = {name.replace("__", "/").replace("_DOT_", "."): text for name, text in named.items()}
        for name, text in (plain | (texts or {})).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        return tmp_path

    return made
