"""docs/theorems.ipynb is run as it stands, and prints what it is said to print."""

import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

PATH = Path(__file__).parent.parent / "docs" / "theorems.ipynb"
CODE = [cell for cell in json.loads(PATH.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
NUMBER = r"[-+]?\d+(?:\.\d+)?"


def printed(cell):
    return "".join("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream")


def test_the_notebook_prints_what_it_holds(capsys):
    """Numbers to a hundredth of what is printed, or the last digits: other machines round otherwise."""
    reader = {}
    with plt.rc_context(), plt.ioff():
        plt.switch_backend("Agg")
        for number, cell in enumerate(CODE):
            exec(compile("".join(cell["source"]), f"code cell {number}", "exec"), reader)
            now, held = capsys.readouterr().out, printed(cell)
            assert re.sub(NUMBER, "", now).split() == re.sub(NUMBER, "", held).split()
            found, expected = (np.array(re.findall(NUMBER, text), dtype=float) for text in (now, held))
            np.testing.assert_allclose(found, expected, rtol=0.01, atol=2e-4)
        plt.close("all")


def test_the_notebook_is_small_enough_to_read_in_a_browser():
    assert PATH.stat().st_size < 200_000
