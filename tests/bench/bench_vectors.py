"""Nearest neighbours among many vectors: exact NumPy, our index, and libraries that are installed.

`python tests/bench/bench_vectors.py 100000 300000 1000000` measures each way in a process of its own and prints a line
per way and size; libraries that are not installed are left out (`pip install usearch faiss-cpu sqlite-vec` in an
environment beside). Under `redwell bench` it measures 20,000 vectors.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from models.nearest import ClusteredIndex, nearest_exact

DIMENSIONS, K, QUERIES, SINGLE = 384, 10, 2000, 100
Search = Callable[[Any, int], Any]


def vectors_and_queries(count: int) -> tuple[Any, Any]:
    """Draw unit vectors around middles that are themselves drawn around topics, as texts are, and queries alike."""
    generator = np.random.default_rng(7)
    topics = generator.standard_normal((200, DIMENSIONS), np.float32)
    middles = topics[generator.integers(200, size=max(200, count // 50))]
    middles = middles + generator.standard_normal(middles.shape, np.float32)

    def draw(size: int) -> Any:
        found = np.empty((size, DIMENSIONS), np.float32)
        for start in range(0, size, 10_000):
            part = middles[generator.integers(len(middles), size=min(10_000, size - start))]
            part = part + 0.8 * generator.standard_normal(part.shape, np.float32)
            found[start : start + len(part)] = part / np.linalg.norm(part, axis=1, keepdims=True)
        return found

    return draw(count), draw(QUERIES)


def numpy_exact(vectors: Any) -> Search:
    """Compare with all, in blocks."""
    return lambda queries, k: nearest_exact(queries, vectors, k).indices


def clustered(vectors: Any) -> Search:
    """Build models.nearest."""
    index = ClusteredIndex(vectors)
    index.tune(vectors, K)
    return lambda queries, k: index.search(queries, k).indices


def usearch_hnsw(vectors: Any) -> Search:
    """Build a graph of half-precision vectors."""
    from usearch.index import Index

    index = Index(ndim=DIMENSIONS, metric="ip", dtype="f16", expansion_search=128)
    index.add(np.arange(len(vectors)), vectors)
    return lambda queries, k: index.search(queries, k).keys.reshape(len(queries), k)


def faiss_ivf(vectors: Any) -> Search:
    """Build an inverted file with as many lists as ours."""
    import faiss

    lists = 4 * int(len(vectors) ** 0.5)
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(DIMENSIONS), DIMENSIONS, lists, faiss.METRIC_INNER_PRODUCT)
    index.cp.max_points_per_centroid = 32
    index.cp.min_points_per_centroid = 1
    index.cp.niter = 6
    index.train(vectors)
    index.add(vectors)
    index.nprobe = 32
    return lambda queries, k: index.search(queries, k)[1]


def faiss_hnsw(vectors: Any) -> Search:
    """Build a graph of whole vectors."""
    import faiss

    index = faiss.IndexHNSWFlat(DIMENSIONS, 16, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efSearch = 128
    index.add(vectors)
    return lambda queries, k: index.search(queries, k)[1]


def sqlite_vec(vectors: Any) -> Search:
    """Keep vectors in SQLite, where a query reads them all."""
    import sqlite_vec as extension

    # The sqlite3 of many Pythons is built without extensions.
    sqlite = importlib.import_module("pysqlite3" if importlib.util.find_spec("pysqlite3") else "sqlite3")
    database = sqlite.connect(":memory:")
    database.enable_load_extension(True)
    extension.load(database)
    database.execute(f"CREATE VIRTUAL TABLE v USING vec0 (e float[{DIMENSIONS}] distance_metric=cosine)")
    with database:
        rows = ((i, vector.tobytes()) for i, vector in enumerate(vectors))
        database.executemany("INSERT INTO v (rowid, e) VALUES (?, ?)", rows)
    sql = "SELECT rowid FROM v WHERE e MATCH ? AND k = ? ORDER BY distance"
    return lambda queries, k: [[row for (row,) in database.execute(sql, [q.tobytes(), k])] for q in queries]


WAYS: dict[str, tuple[str, Callable[[Any], Search]]] = {
    "exact NumPy in blocks": ("numpy", numpy_exact),
    "models.nearest": ("numpy", clustered),
    "usearch HNSW f16": ("usearch", usearch_hnsw),
    "faiss IVFFlat": ("faiss", faiss_ivf),
    "faiss HNSWFlat": ("faiss", faiss_hnsw),
    "sqlite-vec": ("sqlite_vec", sqlite_vec),
}


def measure(way: str, count: int) -> dict[str, float]:
    """Measure one way in this process."""
    vectors, queries = vectors_and_queries(count)
    if way == "sqlite-vec":
        queries = queries[:SINGLE]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, cpu = time.perf_counter(), time.process_time()
    search = WAYS[way][1](vectors)
    built, built_cpu = time.perf_counter() - start, time.process_time() - cpu
    start, cpu = time.perf_counter(), time.process_time()
    found = search(queries, K)
    together, together_cpu = time.perf_counter() - start, time.process_time() - cpu
    start = time.perf_counter()
    for query in queries[:SINGLE]:
        search(query[np.newaxis], K)
    single = time.perf_counter() - start
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    true = nearest_exact(queries, vectors, K).indices
    shared = sum(len(set(map(int, a)) & set(map(int, b))) for a, b in zip(true, found, strict=True))
    return {
        "build_seconds": built,
        "build_cpu": built_cpu,
        "per_second": len(queries) / together,
        "query_cpu": together_cpu / len(queries) * 1000,
        "single_milliseconds": single / SINGLE * 1000,
        "recall": shared / true.size,
        "more_memory_mb": more / 1024,
    }


def report(count: int) -> None:
    """Measure every way that is installed, each in a process of its own."""
    for way, (package, _) in WAYS.items():
        if importlib.util.find_spec(package) is None:
            print(f"{count:>9,} {way:<22} not installed", flush=True)
            continue
        command = [sys.executable, __file__, "--one", way, str(count)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode:
            print(f"{count:>9,} {way:<22} failed: {(answer.stderr.strip().splitlines() or [''])[-1]}", flush=True)
            continue
        r = json.loads(answer.stdout)
        print(
            f"{count:>9,} {way:<22} build {r['build_seconds']:7.1f} s (processor {r['build_cpu']:7.1f} s), "
            f"{r['per_second']:7.0f} queries/s together (processor {r['query_cpu']:6.2f} ms each), "
            f"{r['single_milliseconds']:7.2f} ms alone, recall@{K} {r['recall']:.3f}, "
            f"{r['more_memory_mb']:6.0f} MB more",
            flush=True,
        )


def test_vectors() -> None:
    """Print the table for 20,000 vectors."""
    print()
    report(20_000)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
    else:
        for size in sys.argv[1:] or ["100000"]:
            report(int(size))
