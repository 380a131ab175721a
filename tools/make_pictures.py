"""Makes the pictures of docs/plots.md by running the Python of that page, and keeps them small.

    python tools/make_pictures.py

Each is reduced to a palette of 96 colours and refused beyond 60 KB.
"""

import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib as mpl
from PIL import Image

DOCS = Path(__file__).parent.parent / "docs"
N_COLORS = 96
MOST_BYTES = 60_000
DPI = 110


def run_page(page: Path, folder: str) -> None:
    os.chdir(folder)
    reader: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(block, reader)


def keep(picture: Path) -> None:
    smaller = DOCS / "pictures" / picture.name
    Image.open(picture).convert("RGB").quantize(N_COLORS, dither=Image.Dither.NONE).save(smaller, optimize=True)
    size = smaller.stat().st_size
    print(f"{smaller.name}: {size:,} bytes")
    if size > MOST_BYTES:
        sys.exit(f"{smaller.name} has {size:,} bytes; it may have {MOST_BYTES:,}")


if __name__ == "__main__":
    mpl.rcParams["savefig.dpi"] = DPI
    with TemporaryDirectory() as folder:
        run_page(DOCS / "plots.md", folder)
        for picture in sorted(Path(folder).glob("*.png")):
            keep(picture)
