"""Pages of docs/ whose Python is run, each block as it stands; what needs probmetrics runs in tests/oracles."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ["bases.md"]
BLOCKS = {
    f"{page}, block {i}": block
    for page in PAGES
    for i, block in enumerate(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL))
    if "probmetrics" not in block
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_python_block_runs_as_it_stands(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[name], name, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", PAGES)
def test_a_link_leads_to_a_file(page):
    for link in re.findall(r"\]\(([^)#h][^)]*)\)", (DOCS / page).read_text()):
        assert (DOCS / link).is_file()
