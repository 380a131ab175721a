"""Which index: build, search and recall of the exact search and of faiss's indexes, at several sizes.

    python benchmarks/neighbors.py                                  # needs faiss-cpu
    python benchmarks/neighbors.py --sizes 25000x2048 --indexes exact flat
    python benchmarks/neighbors.py --images --sizes 100000x64       # real rows: images (`_images.py`)
    python benchmarks/neighbors.py --kernels                        # what OPENBLAS_CORETYPE changes, a process each

References are simulated, unless told: clusters of about 25, in 64 dimensions that a wider row holds with noise. Each
index is used as `Proximity(index=...)` does, so its build includes looking further until 95 % of a sample's neighbours
are found.
"A fit" is the build and a search for every reference, which is what `ProCal.fit` asks for, reckoned from the rate
measured. Recall counts neighbours of queries that are no farther than the 10th of the exact search; once for queries of
the same clusters, once for queries of clusters that hold no reference, which proximity is there to tell. Errors are of
log proximity, root mean square.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _images import MOST, PIXELS, Images

from proxcal import Proximity

SIZES = ["25000x2048", "25000x64", "100000x64", "100000x512", "400000x64", "1000000x64"]
INDEXES = ["exact", "flat", "ivfflat", "ivfpq", "hnsw", "auto"]
INTRINSIC, CLUSTER = 64, 25
N_QUERIES, REPEATS = 4096, 3
CORETYPES = ["", "Haswell", "SkylakeX", "Prescott"]


def simulated(n: int, d: int, n_clusters: int, seed: int, clusters: int = 0) -> Any:
    """float32 rows of the clusters that `clusters` draws; directions and noise are the same for all."""
    centres = np.random.default_rng([clusters]).normal(size=(n_clusters, INTRINSIC)).astype(np.float32)
    directions = np.random.default_rng(0).normal(size=(INTRINSIC, d)).astype(np.float32) / 8
    rng = np.random.default_rng([seed, n, d])
    rows = np.empty((n, d), dtype=np.float32)
    for start in range(0, n, 1 << 14):
        size = min(1 << 14, n - start)
        inner = centres[rng.integers(n_clusters, size=size)] + 0.7 * rng.normal(size=(size, INTRINSIC))
        rows[start : start + size] = inner if d == INTRINSIC else inner @ directions + 0.3 * rng.normal(size=(size, d))
    return rows


def simulated_sets(n: int, d: int, n_queries: int) -> tuple[Any, Any, Any]:
    """References, queries of their clusters, and queries of others."""
    n_clusters = max(1, n // CLUSTER)
    elsewhere = simulated(n_queries // 4, d, n_clusters, 3, clusters=1)
    return simulated(n, d, n_clusters, 1), simulated(n_queries, d, n_clusters, 2), elsewhere


def image_sets(n: int, d: int, n_queries: int) -> tuple[Any, Any, Any]:
    images = Images(d)
    return images.references(n), images.queries(n_queries), images.elsewhere(n_queries // 4)


def compare(n: int, d: int, indexes: list[str], sets: Callable[[int, int, int], Any]) -> list[dict[str, Any]]:
    """Build once, then search in turns; the median of each."""
    n_queries = min(N_QUERIES, n)
    references, queries, elsewhere = sets(n, d, n_queries)
    built, build, search = {}, {}, {name: [] for name in ["exact", *indexes]}
    for name in search:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            build[name], built[name] = timed(lambda name=name: Proximity(index=name).fit(references))
    found = {}
    for _ in range(REPEATS):
        for name, fitted in built.items():
            seconds, found[name] = timed(lambda fitted=fitted: fitted.neighbors(queries).distances)
            search[name].append(seconds)
    astray = {name: fitted.neighbors(elsewhere).distances for name, fitted in built.items()}
    rows = []
    for name in indexes:
        each = float(np.median(search[name])) / n_queries
        rows.append(
            {
                "index": name if name != "auto" else f"auto: {built[name].index_}",
                "build": build[name],
                "thousand": 1000 * each,
                "fit": build[name] + n * each,
                "recall": recall(found[name], found["exact"]),
                "recall elsewhere": recall(astray[name], astray["exact"]),
                "error": error(found[name], found["exact"]),
                "error elsewhere": error(astray[name], astray["exact"]),
            }
        )
    return rows


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def recall(distances: Any, exact: Any) -> float:
    return float((distances <= exact[:, -1:]).mean())


def error(distances: Any, exact: Any) -> float:
    """Of log proximity, root mean square."""
    return float(np.sqrt(np.mean((distances.mean(axis=1) - exact.mean(axis=1)) ** 2)))


def kernel() -> dict[str, Any]:
    """In this process: which kernels numpy's and faiss's OpenBLAS took, and the rates of a product, of faiss's flat
    index and of the exact search on 25 000 references of 2048 columns, in GFLOP/s."""
    import faiss
    from threadpoolctl import threadpool_info

    references, queries = simulated(25_000, 2048, 1000, 1), simulated(4096, 2048, 1000, 2)
    index = faiss.IndexFlatL2(2048)
    index.add(references)
    exact = Proximity(normalize=False).fit(references)
    work = {
        "sgemm": lambda: queries @ references.T,
        "faiss flat": lambda: index.search(queries, 10),
        "exact": lambda: exact.neighbors(queries),
    }
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(REPEATS):
        for name, call in work.items():
            seconds[name].append(timed(call)[0])
    rates = {name: 2e-9 * len(queries) * references.size / float(np.median(s)) for name, s in seconds.items()}
    libraries = [library for library in threadpool_info() if library["internal_api"] == "openblas"]
    taken = {
        owner: next((x["architecture"] for x in libraries if owner in x["filepath"]), "other BLAS")
        for owner in ("numpy", "faiss")
    }
    return taken | rates


def show_kernels() -> None:
    print("| OPENBLAS_CORETYPE | kernels (numpy, faiss) | sgemm, numpy | faiss flat | exact | exact / faiss |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for coretype in CORETYPES:
        environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
        if coretype:
            environment["OPENBLAS_CORETYPE"] = coretype
        command = [sys.executable, __file__, "--kernel"]
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        if result.returncode:  # a processor without the instructions
            print(f"| {coretype} | does not run here | | | | |", flush=True)
            continue
        r = json.loads(result.stdout)
        rates = f"{r['sgemm']:.0f} | {r['faiss flat']:.0f} | {r['exact']:.0f} | {r['exact'] / r['faiss flat']:.2f}"
        print(f"| {coretype or 'not set'} | {r['numpy']}, {r['faiss']} | {rates} |", flush=True)


def show(sizes: list[str], indexes: list[str], sets: Callable[[int, int, int], Any]) -> None:
    columns = "build, s | 1000 queries, s | a fit, s | recall@10 | error | recall elsewhere | error elsewhere"
    print(f"| references | index | {columns} |\n| ---: | --- |{7 * ' ---: |'}")
    for size in sizes:
        n, d = map(int, size.split("x"))
        for r in compare(n, d, indexes, sets):
            print(
                f"| {n} × {d} | {r['index']} | {r['build']:.2f} | {r['thousand']:.3f} | {r['fit']:.1f} |"
                f" {r['recall']:.3f} | {r['error']:.1e} | {r['recall elsewhere']:.3f} | {r['error elsewhere']:.1e} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=SIZES, metavar="NxD")
    parser.add_argument("--indexes", nargs="+", default=INDEXES, choices=INDEXES)
    parser.add_argument("--images", action="store_true", help=f"real rows, {MOST} of {PIXELS} columns at most")
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--kernel", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.kernel:
        print(json.dumps(kernel()))
    elif arguments.kernels:
        show_kernels()
    else:
        show(arguments.sizes, arguments.indexes, image_sets if arguments.images else simulated_sets)


if __name__ == "__main__":
    main()
