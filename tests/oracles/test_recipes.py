"""The recipes of docs/bases.md that need probmetrics, as they stand there."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "bases.md"
RECIPES = [
    block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL) if "probmetrics" in block
]

pytestmark = pytest.mark.filterwarnings("ignore")


def test_there_is_a_recipe():
    assert RECIPES


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_gives_rows_that_sum_to_one(recipe):
    pytest.importorskip("probmetrics")
    said: dict[str, object] = {"__name__": "__main__"}
    exec(compile(recipe, str(PAGE), "exec"), said)
    probs = said["probs"]
    assert probs.sum(axis=1) == pytest.approx(1)
