import os
import signal

import numpy as np
import pytest
from sklearn.base import clone

import proxcal as px
from proxcal.proximity.references import nearest_of_parts

pytest.importorskip("ray")
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from proxcal.integrations.ray import ShardedProximity, fit_sharded, sharded

N_SHARDS = 3


def assert_same(found, expected):
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)


def features_of(kind):
    """References, and queries among and beside them."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(700, 6)).astype(np.float32)
    if kind == "copies":  # more of a row than neighbours are sought, in every shard
        rows = rows[rng.integers(4, size=700)]
    if kind == "lattice":  # distances that are the same again and again; the means of shards are not
        rows = np.sort(rng.integers(0, 3, size=(700, 6)).astype(np.float32), axis=0) + np.float32(1000)
    if kind == "float16":
        rows = rows.astype(np.float16)
    return rows, np.concatenate([rows[::7], rng.normal(size=(90, 6)).astype(np.float32)])


@pytest.fixture(scope="module")
def searches(cluster):
    """One for each kind of features and settings, as starting actors takes time."""
    made = {}

    def search(kind, **settings):
        key = kind, *settings.items()
        if key not in made:
            apart = ShardedProximity(n_shards=N_SHARDS, actor_options={"num_cpus": 0.1}, **settings)
            made[key] = apart.fit(features_of(kind)[0])
        return made[key]

    yield search
    for one in made.values():
        one.close()


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("copies", {}),
        ("lattice", {"normalize": False}),
        ("float16", {"metric": "cosine"}),
    ],
)
def test_neighbours_are_those_of_one_machine_to_the_bit(searches, kind, settings):
    references, queries = features_of(kind)
    alone, apart = px.Proximity(**settings).fit(references), searches(kind, **settings)
    assert_same(apart.neighbors(queries), alone.neighbors(queries))
    assert_same(apart.neighbors(), alone.neighbors())
    np.testing.assert_array_equal(apart.score(queries), alone.score(queries))


def test_more_neighbours_than_a_shard_has_references(searches):
    references, queries = features_of("copies")
    assert_same(searches("copies").neighbors(queries, 500), px.Proximity().fit(references).neighbors(queries, 500))
    assert_same(searches("copies").neighbors(k=699), px.Proximity().fit(references).neighbors(k=699))


def test_queries_in_many_blocks(searches, monkeypatch):
    monkeypatch.setattr("proxcal.integrations.ray._search._BLOCK_BYTES", 6 * 8 * 50)
    references, queries = features_of("copies")
    alone = px.Proximity().fit(references)
    assert_same(searches("copies").neighbors(queries), alone.neighbors(queries))
    assert_same(searches("copies").neighbors(), alone.neighbors())


def process_of(ray, actor):
    return ray.get(actor.__ray_call__.remote(lambda _: os.getpid()))


def test_an_actor_that_dies_in_the_middle_changes_nothing(cluster, searches, monkeypatch):
    monkeypatch.setattr("proxcal.integrations.ray._search._BLOCK_BYTES", 6 * 8 * 20)
    references, queries = features_of("copies")
    search = searches("copies")
    victim = search._sharded_search._actors[1]
    before = process_of(cluster, victim)
    asked = []

    def kill(parts, k):
        asked.append(len(parts))
        if len(asked) == 2:
            os.kill(before, signal.SIGKILL)
        return nearest_of_parts(parts, k)

    monkeypatch.setattr("proxcal.integrations.ray._search.nearest_of_parts", kill)
    assert_same(search.neighbors(queries), px.Proximity().fit(references).neighbors(queries))
    assert len(asked) > 4
    assert process_of(cluster, victim) != before


def test_a_machine_that_is_lost_in_the_middle_changes_nothing(cluster, nodes, monkeypatch):
    monkeypatch.setattr("proxcal.integrations.ray._search._BLOCK_BYTES", 6 * 8 * 20)
    references, queries = features_of("copies")
    machine = nodes.add_node(num_cpus=1, object_store_memory=80 << 20)
    there = NodeAffinitySchedulingStrategy(machine.node_id, soft=True)
    search = ShardedProximity(n_shards=2, actor_options={"num_cpus": 0.1, "scheduling_strategy": there}).fit(references)
    asked = []

    def lose(parts, k):
        asked.append(len(parts))
        if len(asked) == 2:
            nodes.remove_node(machine, allow_graceful=False)
        return nearest_of_parts(parts, k)

    monkeypatch.setattr("proxcal.integrations.ray._search.nearest_of_parts", lose)
    assert_same(search.neighbors(queries), px.Proximity().fit(references).neighbors(queries))
    assert len(asked) > 4
    search.close()


@pytest.fixture(scope="module")
def files(samples, tmp_path_factory):
    """The samples' features, in three files that are not alike."""
    folder = tmp_path_factory.mktemp("parts")
    paths = [folder / name for name in ("a.npz", "b.safetensors", "c.npz")]
    for path, part in zip(paths, (slice(0, 5), slice(5, 600), slice(600, 900)), strict=True):
        samples.take(range(900)[part]).save(path)
    return paths


@pytest.fixture(scope="module")
def of_files(cluster, files):
    search = ShardedProximity(actor_options={"num_cpus": 0.1}).fit_files(files)
    yield search
    search.close()


def test_references_from_files_count_in_their_order(of_files, samples):
    alone = px.Proximity().fit(samples.features)
    assert_same(of_files.neighbors(samples.features[::3]), alone.neighbors(samples.features[::3]))
    assert_same(of_files.neighbors(), alone.neighbors())


def test_a_calibrator_fitted_on_shards_is_the_one_fitted_on_one_machine(of_files, samples, halves):
    unfitted = px.ProCal(informed="neighborhood", base="neighbor-votes")
    alone = clone(unfitted).fit(samples.logits, samples.labels, samples.features)
    apart = fit_sharded(unfitted, samples.logits, samples.labels, of_files)
    test = halves[1]
    np.testing.assert_array_equal(
        apart.predict_proba(test.logits, test.features), alone.predict_proba(test.logits, test.features)
    )


@pytest.mark.parametrize("compression", [{}, {"n_components": 3, "dtype": "float16"}])
def test_a_sharded_calibrator_gives_what_it_gave(cluster, calibrator, halves, compression):
    whole = calibrator.compress(**compression) if compression else calibrator
    apart = sharded(whole, n_shards=2, actor_options={"num_cpus": 0.1})
    test = halves[1]
    found, expected = apart.calibrate(test.logits, test.features), whole.calibrate(test.logits, test.features)
    for name in ("probs", "predicted", "confidence", "log_proximity"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert_same(apart.proximity_.neighbors(), whole.proximity_.neighbors())
    apart.proximity_.close()


def test_what_needs_all_references_is_refused(of_files, tmp_path, samples):
    of_shards = fit_sharded(px.ProCal(), samples.logits, samples.labels, of_files)
    for work in (
        of_shards.compress,
        lambda: of_shards.save(tmp_path / "model.proxcal"),
        of_files.compress,
        lambda: sharded(of_shards),
    ):
        with pytest.raises(ValueError, match="references_ lie in parts on a cluster"):
            work()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda path: ShardedProximity().fit_files([]), "files must be a list of one predictions file or more"),
        (lambda path: ShardedProximity(metric="l1").fit_files([path]), "metric must be one of 'euclidean', 'cosine'"),
        (lambda path: ShardedProximity().fit_files([path]), "has logits; it needs features"),
        (lambda path: ShardedProximity().fit_files([path.with_name("no.npz")]), r"no\.npz: there is no such file"),
        (lambda path: ShardedProximity(n_shards=0).fit(np.eye(20)), "n_shards must be a whole number of at least 1"),
        (lambda path: ShardedProximity.of(px.Proximity(index="hnsw")), "index='hnsw'"),
    ],
)
def test_bad_arguments_are_named(cluster, tmp_path, made, message):
    path = tmp_path / "bare.npz"
    np.savez(path, logits=np.eye(3))
    with pytest.raises((ValueError, OSError), match=message):
        made(path)
