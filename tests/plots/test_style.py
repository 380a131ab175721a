import subprocess
import sys

import pytest

from proxcal.plots._style import STYLES, styles


def test_no_style_comes_twice_in_seven_rounds():
    drawn = [(style["color"], style["marker"]) for style in styles(len(STYLES) ** 2)]
    assert len(set(drawn)) == len(STYLES) ** 2


@pytest.mark.parametrize(("module", "unloaded"), [("proxcal", "matplotlib"), ("proxcal.plots", "matplotlib.pyplot")])
def test_matplotlib_and_its_global_state_are_left_alone(module, unloaded):
    code = f"import sys, {module}; sys.exit({unloaded!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
