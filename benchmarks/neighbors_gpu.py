"""The search on one GPU: 25 000 queries among 25 000 references and 50 000 among 1 280 000, 2048 columns.

    python benchmarks/neighbors_gpu.py          # needs torch and a GPU, nothing else; 2 minutes

Rows are simulated on the device: non-negative, in 1000 clusters, as a network's after its last activation. The search
gets rows that lie on the device and leaves distances there, measured in float64; the product alone is that of its own
16-bit tiles. Accuracy is against keys and distances in float64 for a sample of queries. Of the package only
`proxcal/proximity/_shard.py` and what it asks for are loaded, so that nothing else has to be there.
"""

import argparse
import importlib
import sys
import time
import types
from pathlib import Path
from typing import Any

import torch

WIDTH, N_CLUSTERS, K = 2048, 1000, 10
PACKAGE = Path(__file__).parent.parent / "src/proxcal"


def load_shard() -> Any:
    """The module, without what the packages around it import."""
    for name, folder in {"proxcal": PACKAGE, "proxcal.proximity": PACKAGE / "proximity"}.items():
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules.setdefault(name, package)
    return importlib.import_module("proxcal.proximity._shard")


def simulated(n: int, seed: int, device: str, dtype: Any) -> Any:
    draw = torch.Generator(device).manual_seed(0)
    directions = torch.randn((64, WIDTH), generator=draw, device=device) / 8
    centres = torch.randn((N_CLUSTERS, 64), generator=draw, device=device)
    draw.manual_seed(seed)
    rows = torch.empty((n, WIDTH), dtype=dtype, device=device)
    for start in range(0, n, 1 << 15):
        size = min(1 << 15, n - start)
        cluster = torch.randint(N_CLUSTERS, (size,), generator=draw, device=device)
        embedding = centres[cluster] + 0.7 * torch.randn((size, 64), generator=draw, device=device)
        noise = 0.3 * torch.randn((size, WIDTH), generator=draw, device=device)
        rows[start : start + size] = (embedding @ directions + noise).clamp_min(0)
    return rows


def unit_scale(rows: Any) -> Any:
    return 1 / torch.cat([part.double().norm(dim=1) for part in rows.split(1 << 14)])


def mean_row(rows: Any, scale: Any) -> Any:
    parts = zip(rows.split(1 << 14), scale.split(1 << 14), strict=True)
    return torch.stack([s @ part.double() for part, s in parts]).sum(dim=0) / len(rows)


def seconds(work: Any, repeats: int) -> tuple[float, Any]:
    """Median of `repeats` runs after one that warms up, and the last result."""
    result, times = work(), []
    for _ in range(repeats):
        synchronize()
        start = time.perf_counter()
        result = work()
        synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times)[repeats // 2], result


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def products(shard: Any, queries: Any, block: int, tile: int) -> None:
    """The search's own 16-bit products, and nothing else."""
    keys = shard._keys
    columns = queries.new_empty((block, keys.shape[1]), dtype=keys.dtype).normal_(std=0.02)
    out = torch.empty((block, tile), dtype=keys.dtype, device=keys.device)
    for start in range(0, len(queries), block):
        size = min(block, len(queries) - start)
        for left in range(0, len(keys), tile):
            some = keys[left : left + tile]
            torch.mm(columns[:size], some.T, out=out[:size, : len(some)] if len(some) == tile else None)


def exact(rows: Any, scale: Any, queries: Any, query_scale: Any) -> tuple[Any, Any]:
    """By products in float64, of which every digit that matters here is right."""
    a = queries.double() * query_scale[:, None]
    best, place = [], []
    for start in range(0, len(rows), 1 << 14):
        b = rows[start : start + (1 << 14)] * scale[start : start + (1 << 14), None]
        squares, which = (a.square().sum(1)[:, None] + b.square().sum(1) - 2 * a @ b.T).topk(K, dim=1, largest=False)
        best.append(squares)
        place.append(which + start)
    squares, order = torch.cat(best, dim=1).topk(K, dim=1, largest=False)
    return squares.clamp_min(0).sqrt(), torch.cat(place, dim=1).gather(1, order)


def compare(n: int, m: int, device: str, dtype: Any, repeats: int, profile: bool) -> None:
    module = load_shard()
    references, queries = simulated(m, 1, device, dtype), simulated(n, 2, device, dtype)
    scale, query_scale = unit_scale(references), unit_scale(queries)
    center = mean_row(references, scale)
    cuda = device.startswith("cuda")
    work = int(0.3 * torch.cuda.mem_get_info()[0]) if cuda else 1 << 30
    before = torch.cuda.memory_allocated() if cuda else 0
    half = torch.float16
    build, shard = seconds(lambda: module.Shard(torch, references, scale, center, dtype=half, work=work), 1)
    kept = torch.cuda.memory_allocated() if cuda else 0
    if cuda:
        torch.cuda.reset_peak_memory_stats()
    search, (distances, indices) = seconds(lambda: shard.nearest(queries, query_scale, K), repeats)
    peak = torch.cuda.max_memory_allocated() if cuda else 0
    alone, _ = seconds(lambda: products(shard, queries, min(n, 1 << 13), min(m, 1 << 16)), repeats)
    sample = torch.arange(0, n, max(1, n // 512), device=device)
    true, which = exact(references, scale, queries[sample], query_scale[sample])
    error = (distances[sample].mean(1) - true.mean(1)).abs()
    recall = (indices[sample][:, :, None] == which[:, None]).any(2).double().mean()
    operations = 2 * n * m * WIDTH
    print(f"\n{n} queries, {m} references, {WIDTH} columns of {dtype}")
    for name, value in {
        "seconds, search": search,
        "seconds, products alone": alone,
        "seconds, build": build,
        "TFLOP/s, search": operations / search / 1e12,
        "TFLOP/s, products alone": operations / alone / 1e12,
        "GiB kept beside the rows": (kept - before) / 2**30,
        "GiB taken by the search": (peak - kept) / 2**30,
        "GiB it was allowed": work / 2**30,
        "largest difference of log proximity": float(error.max()),
        "recall@10": float(recall),
        "queries searched again in float32": shard.n_searched_again,
        "mean distance": float(true.mean()),
    }.items():
        print(f"  {name:40} {value:.4g}", flush=True)
    if profile:
        with torch.profiler.profile() as profiler:
            shard.nearest(queries, query_scale, K)
            synchronize()
        by = "self_device_time_total" if cuda else "self_cpu_time_total"
        print(profiler.key_averages().table(sort_by=by, row_limit=14, max_name_column_width=60))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", nargs="+", default=["25000x25000", "50000x1280000"], help="queries x references")
    parser.add_argument("--dtype", default="float32", choices=["float16", "float32"], help="of the rows")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--profile", action="store_true", help="where the time goes")
    arguments = parser.parse_args()
    on = torch.cuda.get_device_name() if arguments.device.startswith("cuda") else "CPU"
    print(f"torch {torch.__version__}, {on}")
    for sizes in arguments.sizes:
        n, m = map(int, sizes.split("x"))
        dtype = getattr(torch, arguments.dtype)
        compare(n, m, arguments.device, dtype, arguments.repeats, arguments.profile)


if __name__ == "__main__":
    main()
