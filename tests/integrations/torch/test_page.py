import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

PAGE = Path(__file__).parents[3] / "docs" / "torch.md"


def test_the_python_of_the_page_runs_as_it_stands(capsys):
    reader = {"__name__": "__main__"}
    for i, block in enumerate(re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)):
        exec(compile(block, f"torch.md, block {i}", "exec"), reader)
    assert "PIECE x 100" in capsys.readouterr().out
