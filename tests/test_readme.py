"""The README is run: its Python as it stands, its commands by CI."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = ["pip install . && proxcal demo", 'pip install ".[test]" && pytest']


def test_there_are_python_blocks():
    assert len(BLOCKS) >= 2


@pytest.mark.parametrize("block", BLOCKS)
def test_a_python_block_runs_as_it_stands(block, tmp_path):
    done = subprocess.run([sys.executable, "-W", "error", "-c", block], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_ci_runs_the_commands_that_the_readme_gives(command):
    assert f"    {command}\n" in README
    assert f"\n{command}\n" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#h][^)]*)\)", README))
def test_a_link_leads_to_a_file(link):
    assert (ROOT / link).is_file()
