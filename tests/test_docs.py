"""Pages of docs/ whose Python is run, block after block as a reader would; what needs probmetrics runs in
tests/oracles."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ["bases.md", "bench.md", "datasets.md", "measures.md", "monitoring.md", "plots.md", "scale.md", "sweep.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs_as_it_stands(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reader = {"__name__": "__main__"}
    for i, block in enumerate(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL)):
        if "probmetrics" not in block:
            exec(compile(block, f"{page}, block {i}", "exec"), reader)


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_a_link_leads_to_a_file(page):
    for link in re.findall(r"\]\(([^)#h][^)]*)\)", (DOCS / page).read_text()):
        assert (DOCS / link).is_file()
