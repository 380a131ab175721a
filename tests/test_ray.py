import os
from types import SimpleNamespace

import pytest

from proxcal import _ray


@pytest.fixture
def started(monkeypatch):
    """What the environment says when Ray starts."""
    seen = []
    ray = SimpleNamespace(
        is_initialized=lambda: False, init=lambda **_: seen.append(os.environ["RAY_USAGE_STATS_ENABLED"])
    )
    monkeypatch.setattr(_ray, "require", lambda *_: ray)
    return seen


def test_a_ray_that_starts_here_reports_to_nobody(monkeypatch, started):
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "")  # so that it is restored
    monkeypatch.delenv("RAY_USAGE_STATS_ENABLED")
    _ray.connect("a test")
    assert started == ["0"]


def test_unless_it_is_told_to(monkeypatch, started):
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    _ray.connect("a test")
    assert started == ["1"]
