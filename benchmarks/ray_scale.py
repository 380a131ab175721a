"""What a search on a cluster costs: the rate of one core, what cutting the references adds, and from these the bill for
many more queries and references than are here.

    python benchmarks/ray_scale.py                      # needs the `ray` extra; 2 minutes on two quiet cores
    python benchmarks/ray_scale.py --queries 1e8 --references 1e7 --width 1024 --core-price 0.03 --gpu-price 3

Rows are simulated, in 1000 clusters, references in float16; fifty neighbours, as many as the evidence asks for. The
rate is that of one core, in pairs × columns per processor second. Shards are actors of one processor each on this
machine, so no more of them than it has processors gain anything; times are medians of three. The GPU's is not measured
here but that of "Search on a GPU" in benchmarks/README.md: products grow with the columns, the rest with the pairs.
Prices are assumptions: give your own.
"""

import argparse
import logging
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import proxcal as px
from proxcal.proximity import Neighbors
from proxcal.proximity.references import nearest_of_parts

K, N_CLUSTERS = 50, 1000
N_QUERIES, N_REFERENCES = 2048, 60_000  # of those measured
H200_PAIRS = 50_000 * 1_280_000  # of 2048 columns, benchmarks/README.md
H200_PRODUCTS, H200_REST = 0.436, 0.566 - 0.436  # seconds
H200_GIB, GIB = 139, 1 << 30
FOUND_BYTES = 16  # of a neighbour: distance and index
KEPT_BYTES = 12  # of a reference beside its row: scale and half square


def simulated(n: int, width: int, seed: int) -> Any:
    centres = np.random.default_rng(0).normal(size=(N_CLUSTERS, width)).astype(np.float32)
    rng = np.random.default_rng(seed)
    rows = centres[rng.integers(N_CLUSTERS, size=n)]
    rows += rng.normal(size=rows.shape).astype(np.float32)
    return rows


def seconds(work: Callable[[], Any], repeats: int = 3, clock: Callable[[], float] = time.perf_counter) -> float:
    """Median of some runs after one that warms up."""
    times = []
    for _ in range(repeats + 1):
        start = clock()
        work()
        times.append(clock() - start)
    return statistics.median(times[1:])


def one_core(search: px.Proximity, queries: Any) -> float:
    """Processor seconds of the search, its products by one thread."""
    with threadpool_limits(1):
        return seconds(lambda: search.neighbors(queries, K), clock=time.process_time)


def in_shards(search: px.Proximity, queries: Any, n_shards: int) -> float:
    """Seconds of the search by so many actors; its result is that of one."""
    from proxcal.integrations.ray import ShardedProximity

    apart = ShardedProximity.of(search, n_shards=n_shards)
    found, expected = apart.neighbors(queries[:256], K), search.neighbors(queries[:256], K)
    assert np.array_equal(found.indices, expected.indices)
    assert np.array_equal(found.distances, expected.distances)
    taken = seconds(lambda: apart.neighbors(queries, K))
    apart.close()
    return taken


def merging(n_shards: int, n: int = 4096) -> float:
    """Seconds a query of putting the shards' neighbours together."""
    rng = np.random.default_rng(0)
    parts = [Neighbors(np.sort(rng.random((n, K)), axis=1), rng.integers(10**8, size=(n, K))) for _ in range(n_shards)]
    return seconds(lambda: nearest_of_parts(parts, K)) / n


def measure(width: int) -> float:
    """Print what is measured; the rate of one core."""
    import ray

    ray.init("local", num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    references = simulated(N_REFERENCES, width, 1).astype(np.float16)
    search, queries = px.Proximity().fit(references), simulated(N_QUERIES, width, 2)
    alone = one_core(search, queries)
    rate = N_QUERIES * N_REFERENCES * width / alone
    print(f"{N_QUERIES} queries, {N_REFERENCES} references of {width} float16 columns, {K} neighbours")
    print(f"one core: {alone:.2f} processor seconds, {rate:.3g} pairs × columns per second")
    for n_shards in (1, 2, 4):
        taken = in_shards(search, queries, n_shards)
        ideal = alone / min(n_shards, os.cpu_count() or 1)
        print(f"{n_shards} shards of one thread: {taken:.2f} s, {taken / ideal - 1:+.0%} of {ideal:.2f}")
    for n_shards in (2, 4, 8, 64):
        print(f"merging {n_shards} shards: {1e6 * merging(n_shards):.0f} µs a query")
    ray.shutdown()
    return rate


def bill(core: float, options: argparse.Namespace) -> None:
    """Print what the whole takes."""
    n, m, d = options.queries, options.references, options.width
    work = n * m * d
    row = options.bytes * d
    on_gpu = (options.bytes + 4) * d + 64  # rows, their keys and room, as proxcal/proximity/torch_search.py counts
    n_gpus = int(np.ceil(m * on_gpu / (0.8 * H200_GIB * GIB / 2)))
    gpu_hours = n * m / H200_PAIRS * (H200_PRODUCTS * d / 2048 + H200_REST) / 3600
    core_hours = work / core / 3600
    print(
        f"\n{n:.3g} queries among {m:.3g} references, {d} columns of {options.bytes} bytes: {work:.3g} pairs × columns"
    )
    print(f"references: {m * (row + KEPT_BYTES) / 1e9:.0f} GB in main memory, all shards together")
    print(
        f"CPU: {core_hours:,.0f} core-hours, {core_hours * options.core_price:,.0f} at {options.core_price} a core-hour"
    )
    print(f"NVIDIA H200: {gpu_hours:,.0f} hours, {gpu_hours * options.gpu_price:,.0f} at {options.gpu_price} an hour")
    print(f"kept on GPUs: {n_gpus} shards, one a GPU; {gpu_hours / n_gpus:.1f} hours")
    sent, found = n * n_gpus * row, n * n_gpus * K * FOUND_BYTES
    busy = gpu_hours / n_gpus * 3600
    print(f"network: {sent / 1e12:.1f} TB of queries to {n_gpus} shards, {found / 1e12:.1f} TB of neighbours back,")
    print(f"  together {(sent + found) / busy / 1e9:.2f} GB/s while they search")
    print(f"merging: {n * merging(n_gpus) / 3600:.0f} core-hours")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--queries", type=float, default=1e9)
    parser.add_argument("--references", type=float, default=1e8)
    parser.add_argument("--width", type=int, default=768, help="columns")
    parser.add_argument("--bytes", type=int, default=2, help="of a number of a reference, and of a query")
    parser.add_argument("--core-price", type=float, default=0.04, help="of a core-hour")
    parser.add_argument("--gpu-price", type=float, default=4.0, help="of a GPU-hour")
    options = parser.parse_args()
    bill(measure(options.width), options)


if __name__ == "__main__":
    main()
