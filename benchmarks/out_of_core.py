"""Ten million references and half a million queries on disk: how much memory goes with them, and how much time.

    python benchmarks/out_of_core.py FOLDER

writes its files to FOLDER (11 GB, taken away at the end), and runs each piece of work in a process of its own that
may not allocate more than 2 GiB (RLIMIT_DATA; Arrow on the system's allocator, as its own reserves more than it takes).
With --keep the files stay, and are used again; --only chooses the work. "Resident" is the largest that the process ever
was (VmHWM), pages of mapped files included; "anonymous" is the largest part of it that no file backs (RssAnon, looked
at every 5 ms), and "before" is that after the imports. Rows lie around 100 centres, one a class; most of their length
is noise. Cells are of no use among those: what looks into cells has 1.5 million images of 784 columns (`_images.py`).
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from _images import MOST, PIXELS, Images

import proxcal as px
from proxcal.cli import run

CLASSES, COLUMNS, K = 100, 256, 10
TO = (".parquet", ".npz", ".csv")
GIB = 1 << 30
LIMIT = 2 * GIB
ROWS, WALKED = 100_000, 10_000  # made, looked at, at a time


def make(folder: Path, n: int, seed: int, *, scores: bool = True) -> Path:
    """A folder of features.npy in float16 and, where asked for, logits.npy and labels.npy."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "features.npy").exists():
        return folder
    centres = np.random.default_rng(0).normal(scale=0.2, size=(CLASSES, COLUMNS)).astype(np.float32)
    rng = np.random.default_rng(seed)
    shapes = (
        {"features": (n, COLUMNS), "logits": (n, CLASSES), "labels": (n,)} if scores else {"features": (n, COLUMNS)}
    )
    with _files(folder, shapes) as write:
        for start in range(0, n, ROWS):
            labels = rng.integers(CLASSES, size=min(ROWS, n - start))
            features = rng.standard_normal((len(labels), COLUMNS), np.float32)
            features *= rng.lognormal(0, 0.5, size=(len(labels), 1)).astype(np.float32)
            features += centres[labels]
            write("features", features.astype(np.float16))
            if scores:
                write("logits", (features @ centres.T).astype(np.float16))
                write("labels", labels.astype(np.int16))
    return folder


@contextmanager
def _files(folder: Path, shapes: dict[str, tuple[int, ...]]) -> Iterator[Callable[[str, np.ndarray], None]]:
    types = {"features": "<f2", "logits": "<f2", "labels": "<i2"}
    files = {}
    for name, shape in shapes.items():
        files[name] = (folder / f"{name}.npy").open("wb")
        described = {"descr": types[name], "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(files[name], described)
    yield lambda name, rows: files[name].write(rows.tobytes())
    for file in files.values():
        file.close()


# Pieces of work: each returns how many pairs of rows were compared, in how many seconds, and what says more of it.

Done = tuple[int, float, Callable[[], str]]


def search_mapped(folder: Path, n_queries: int) -> Done:
    features = np.load(folder / "references" / "features.npy", mmap_mode="r")
    queries = np.load(folder / "queries" / "features.npy", mmap_mode="r")[:n_queries]
    fitting, prox = timed(lambda: px.Proximity(n_neighbors=K).fit(features))
    seconds, near = timed(lambda: prox.neighbors(queries))

    def check() -> str:
        few = slice(0, n_queries, max(1, n_queries // 4))
        same = np.array_equal(_by_a_plain_walk(features, queries[few]), near.indices[few])
        return (
            f"fit before: {fitting:.0f} s; neighbours of four, by a walk in float64: {'the same' if same else 'OTHERS'}"
        )

    return len(features) * n_queries, seconds, check


def make_images(folder: Path, n: int) -> Path:
    """References in features.npy, in float16, and queries in queries.npy."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "queries.npy").exists():
        images = Images(PIXELS)
        with _files(folder, {"features": (n, PIXELS)}) as write:
            for rows in images.blocks(n):
                write("features", rows.astype(np.float16))
        np.save(folder / "queries.npy", images.queries(10_000))
    return folder


def search_images(folder: Path, n_queries: int, index: str) -> Done:
    features = np.load(folder / "images" / "features.npy", mmap_mode="r")
    queries = np.load(folder / "images" / "queries.npy")[:n_queries]
    fitting, prox = timed(lambda: px.Proximity(n_neighbors=K, index=index).fit(features))
    seconds, near = timed(lambda: prox.neighbors(queries))

    def check() -> str:
        few = slice(0, n_queries, max(1, n_queries // 4))
        same = (_by_a_plain_walk(features, queries[few]) == near.indices[few]).mean()
        return f"fit before: {fitting:.0f} s; recall_ {prox.recall_:.3f}; of a walk's neighbours of four: {same:.0%}"

    return len(features) * n_queries, seconds, check


def save_and_load_cells(folder: Path, n_queries: int) -> Done:
    """A fitted search in one file, its cells looked into where they lie there."""
    features = np.load(folder / "images" / "features.npy", mmap_mode="r")
    queries = np.load(folder / "images" / "queries.npy")[:n_queries]
    prox = px.Proximity(n_neighbors=K, index="ivfflat").fit(features)
    px._store.write(folder / "cells.proxcal", prox, overwrite=True)
    loading, loaded = timed(lambda: px._store.read(folder / "cells.proxcal", {"Proximity": px.Proximity}))
    seconds, near = timed(lambda: loaded.neighbors(queries))
    same = np.array_equal(near.indices, prox.neighbors(queries).indices)
    size = (folder / "cells.proxcal").stat().st_size / 1e6
    return (
        len(features) * n_queries,
        seconds,
        lambda: f"file of {size:.0f} MB, loaded in {loading:.0f} s; neighbours as before: {'yes' if same else 'NO'}",
    )


def _by_a_plain_walk(features: np.ndarray, queries: np.ndarray) -> np.ndarray:
    points = queries / np.linalg.norm(queries.astype(np.float64), axis=1, keepdims=True)
    distances = np.empty((len(points), len(features)))
    for start in range(0, len(features), WALKED):
        rows = features[start : start + WALKED].astype(np.float64)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        for i, point in enumerate(points):
            distances[i, start : start + WALKED] = np.linalg.norm(rows - point, axis=1)
        px._mapped.release(features)
    return np.argsort(distances, axis=1, kind="stable")[:, :K]


def search_in_memory(folder: Path, n_queries: int) -> Done:
    features = np.load(folder / "references" / "features.npy", mmap_mode="r")
    features = np.array(features[: len(features) // 20])
    queries = np.array(np.load(folder / "queries" / "features.npy", mmap_mode="r")[:n_queries])
    prox = px.Proximity(n_neighbors=K).fit(features)
    seconds, _ = timed(lambda: prox.neighbors(queries))
    return len(features) * n_queries, seconds, lambda: "a twentieth of the references"


def fit(folder: Path, n: int) -> Done:
    """ProCal on mapped samples; saved, and loaded again."""
    samples = px.Predictions.load(folder / "calibration")
    seconds, calibrator = timed(lambda: px.ProCal().fit(samples.scores, samples.labels, samples.features))
    calibrator.save(folder / "large.proxcal", overwrite=True)
    px.ProCal.load(folder / "large.proxcal")
    return n * n, seconds, lambda: f"file of {(folder / 'large.proxcal').stat().st_size / 1e6:.0f} MB"


def apply(folder: Path, n: int, output: str) -> Done:
    """The command, on queries in Parquet."""
    arguments = ["apply", folder / "small.proxcal", folder / "queries.parquet", "-o", folder / output, "--force"]
    seconds, code = timed(lambda: run([*map(str, arguments), "--json"]))
    if code != 0:
        raise RuntimeError("proxcal apply failed")
    return n * 5000, seconds, lambda: f"{(folder / output).stat().st_size / 1e6:.0f} MB written"


def evaluate(folder: Path, n: int) -> Done:
    """Two random splits of the queries, of which 5 000 calibrate."""
    samples = px.Predictions.load(folder / "queries.parquet")
    seconds, result = timed(lambda: px.evaluate(samples, bases=["temperature"], seeds=[0, 1], fraction=5000 / n))
    values = result.of("predictions", "temperature")["piece"]
    return 2 * n * 5000, seconds, lambda: f"PIECE {values.base_value:.4f} → {values.ours_value:.4f}"


WORK = {
    "search_mapped": search_mapped,
    "search_in_memory": search_in_memory,
    "search_images": search_images,
    "save_and_load_cells": save_and_load_cells,
    "fit": fit,
    "apply": apply,
    "evaluate": evaluate,
}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def status(name: str) -> float:
    """GiB, of this process."""
    found = re.search(rf"^{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1]) * 1024 / GIB if found else float("nan")


def measured(name: str, folder: Path, arguments: list[str]) -> str:
    """A row of the table; the work has this process to itself."""
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    before, largest, done = status("RssAnon"), [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            largest[0] = max(largest[0], status("RssAnon"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    pairs, seconds, more = WORK[name](folder, *[int(a) if a.isdecimal() else a for a in arguments])
    done.set()
    watcher.join()
    row = f"{seconds:.0f} | {pairs / seconds / 1e6:.0f} | {status('VmHWM'):.2f} | {largest[0]:.2f} | {before:.2f}"
    return f"{row} | {more()} |"


def in_a_process(folder: Path, title: str, name: str, *arguments: object) -> None:
    command = [sys.executable, __file__, str(folder), "--work", name, *map(str, arguments)]
    environment = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system"}
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout
    print(f"| {title} | {said.splitlines()[-1]}", flush=True)


def main(folder: Path, sizes: argparse.Namespace) -> None:
    n, m, applied = sizes.references, sizes.queries, sizes.applied
    make(folder / "references", n, 1, scores=False)
    make(folder / "calibration", sizes.calibration, 2)
    if {"search_images", "save_and_load_cells"} & set(sizes.only or WORK):
        make_images(folder / "images", sizes.images)
    queries = px.Predictions.load(make(folder / "queries", applied, 3))
    if not (folder / "small.proxcal").exists():
        queries.save(folder / "queries.parquet", overwrite=True)
        few = queries.take(np.arange(5000))
        px.ProCal().fit(few.scores, few.labels, few.features).save(folder / "small.proxcal")
    shown = "| work | seconds | million pairs/s | resident GiB | anonymous GiB | before | |"
    print(f"{shown}\n| --- | ---: | ---: | ---: | ---: | ---: | --- |", flush=True)
    for title, name, *arguments in (
        (f"{m} queries among {n} × {COLUMNS} references on disk", "search_mapped", m),
        ("the same, in memory", "search_in_memory", m),
        (f"{m} queries among {sizes.images} images on disk, all compared", "search_images", m, "exact"),
        ("the same, cells on disk", "search_images", m, "ivfflat"),
        ("the same, saved and loaded", "save_and_load_cells", m),
        (f"ProCal: fit on {sizes.calibration} on disk, save, load", "fit", sizes.calibration),
        *((f"proxcal apply: {applied} in Parquet to {to}", "apply", applied, f"out{to}") for to in TO),
        (f"evaluate: {applied} in Parquet, two splits", "evaluate", applied),
    ):
        if name in (sizes.only or WORK):
            in_a_process(folder, title, name, *arguments)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--references", type=int, default=10_000_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--images", type=int, default=MOST)
    parser.add_argument("--calibration", type=int, default=100_000)
    parser.add_argument("--applied", type=int, default=500_000)
    parser.add_argument("--only", nargs="+", choices=WORK)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        print(measured(chosen.work[0], chosen.folder, chosen.work[1:]))
    else:
        try:
            main(chosen.folder / "out_of_core", chosen)
        finally:
            if not chosen.keep:
                shutil.rmtree(chosen.folder / "out_of_core", ignore_errors=True)
