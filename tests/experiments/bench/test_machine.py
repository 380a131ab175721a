from importlib.metadata import version

import pytest
from threadpoolctl import threadpool_limits

from proxcal.experiments.bench.machine import machine


def test_versions_are_of_what_is_installed():
    versions = machine(["no-such-package", "scipy"])["versions"]
    assert versions["numpy"] == version("numpy")
    assert "no-such-package" not in versions


def test_threads_of_matrix_products_are_those_in_force():
    with threadpool_limits(1):
        blas = machine([])["blas"]
    if "numpy" not in blas:
        pytest.skip("NumPy's matrix library is unknown to threadpoolctl")
    assert blas["numpy"].endswith("1 thread")


def test_variables_that_choose_kernels_are_told(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert machine([])["environment"]["OPENBLAS_CORETYPE"] == "Haswell"
