"""A cluster of three nodes on this machine, whose logical processors are more than it has."""

import gc
import logging
import warnings

import numpy as np
import pytest

import proxcal as px

SMALL = {"num_cpus": 3, "object_store_memory": 80 << 20}


@pytest.fixture(scope="session")
def nodes():
    """The cluster, to which Ray is connected."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray leaves files and sockets to the collector
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        patch.setenv("RAY_health_check_initial_delay_ms", "0")  # a lost node is soon known to be lost
        patch.setenv("RAY_health_check_period_ms", "500")
        started = Cluster(initialize_head=True, head_node_args=SMALL | {"include_dashboard": False})
        for _ in range(2):
            started.add_node(**SMALL)
        ray.init(address=started.address, log_to_driver=False, logging_level=logging.ERROR)
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield started
        ray.shutdown()
        started.shutdown()
        gc.collect()


@pytest.fixture(scope="session")
def cluster(nodes):
    """Ray, connected."""
    import ray

    return ray


@pytest.fixture(scope="session")
def samples():
    """Predictions of a model that is right less often where features are rare; some are there several times."""
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=900)
    rare = rng.random(900) < 0.3
    features = rng.normal(size=(4, 5))[labels] + np.where(rare, 2.0, 0.3)[:, None] * rng.normal(size=(900, 5))
    features[rng.integers(900, size=300)] = features[rng.integers(20, size=300)]
    logits = 2 * np.eye(4)[labels] + np.where(rare, 1.5, 0.8)[:, None] * rng.normal(size=(900, 4))
    return px.Predictions(logits=logits.astype(np.float32), labels=labels, features=features.astype(np.float32))


@pytest.fixture(scope="session")
def halves(samples):
    """Calibration and test samples."""
    return samples.split(0.6, random_state=0)


@pytest.fixture(scope="session")
def calibrator(halves):
    calibration, _ = halves
    return px.ProCal(informed="neighborhood").fit(calibration.logits, calibration.labels, calibration.features)
