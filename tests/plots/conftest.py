from itertools import combinations

import numpy as np
import pytest
from matplotlib.transforms import Bbox


@pytest.fixture
def samples():
    """Confidence, correct and proximity of a model that is overconfident where proximity is low."""
    rng = np.random.default_rng(0)
    proximity = rng.random(2000)
    confidence = rng.beta(3, 1, 2000)
    return confidence, rng.random(2000) < confidence * (0.6 + 0.4 * proximity), proximity


@pytest.fixture
def errorbars():
    """(x, y, label) of each errorbar container of an axes."""
    return lambda ax: [(*bars.lines[0].get_data(), bars.get_label()) for bars in ax.containers]


@pytest.fixture
def legend_texts():
    return lambda ax: [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.fixture
def zoo():
    """Records of six models of three families before and after calibration; the smaller the index, the less sure."""
    return [
        {
            "model": f"{family}-{i}",
            "family": family,
            "parameters": 10.0 ** (6 + i),
            "accuracy": 0.7 + 0.02 * i + 0.05 * (family == "ViT"),
            "calibrator": calibrator,
            "bias_index": size * (1 + i),
            "bias_low": size * (1 + i) - 0.04,
            "bias_high": size * (1 + i) + 0.04,
            "p_value": 0.2 / (1 + 1000 * size * i),
            "piece": 0.02 + size + 0.001 * i,
            "piece_floor": 0.02,
        }
        for calibrator, size in (("identity", 0.06), ("temperature", 0.04), ("temperature+ours", 0.0))
        for family in ("VGG", "ResNet", "ViT")
        for i in range(2)
    ]


@pytest.fixture
def assert_readable():
    """Whether every axes with its labels, every legend and every text lies in the figure and on nothing else."""

    def check(figure):
        figure.draw_without_rendering()
        rooms = [box for ax in figure.axes for box in _rooms(ax)]
        everything = Bbox.union(rooms)
        assert np.all(everything.p0 >= figure.bbox.p0 - 1)
        assert np.all(everything.p1 <= figure.bbox.p1 + 1)
        for boxes in (rooms, *(list(_labels(ax)) for ax in figure.axes)):
            for box, other in combinations(boxes, 2):
                overlap = Bbox.intersection(box, other)
                assert overlap is None or min(overlap.size) < 1  # pixels

    return check


def _rooms(ax):
    yield ax.get_tightbbox(bbox_extra_artists=[])
    if ax.get_legend():
        yield ax.get_legend().get_window_extent()


def _labels(ax):
    """The boxes of the tick labels, the axis labels, the title and the texts drawn."""
    ticks = [tick.label1 for axis in (ax.xaxis, ax.yaxis) for tick in axis.get_major_ticks() if _in_view(axis, tick)]
    for text in (*ticks, ax.xaxis.label, ax.yaxis.label, ax.title, *ax.texts):
        if text.get_visible() and text.get_text():
            yield text.get_window_extent()


def _in_view(axis, tick):
    low, high = sorted(axis.get_view_interval())
    return low <= tick.get_loc() <= high
