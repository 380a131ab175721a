import subprocess
import sys

import pytest

from proxcal.plots._style import STYLES, styles


@pytest.mark.parametrize("look", ["marker", "linestyle"])
def test_no_colour_comes_twice_with_the_same_marker_or_line_in_seven_rounds(look):
    drawn = [(style["color"], style[look]) for style in styles(len(STYLES) ** 2)]
    assert len(set(drawn)) == len(STYLES) ** 2


def test_the_first_styles_differ_in_colour_marker_and_line():
    assert styles(len(STYLES)) == list(STYLES)


@pytest.mark.parametrize(("module", "unloaded"), [("proxcal", "matplotlib"), ("proxcal.plots", "matplotlib.pyplot")])
def test_matplotlib_and_its_global_state_are_left_alone(module, unloaded):
    code = f"import sys, {module}; sys.exit({unloaded!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
