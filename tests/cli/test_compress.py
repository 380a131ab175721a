import json

import numpy as np
import pytest

import proxcal as px


@pytest.fixture
def model(files, proxcal):
    proxcal("fit", files["first"], "-o", "model.proxcal", "--informed", "logistic")
    return px.ProCal.load("model.proxcal")


def test_the_file_is_what_the_library_makes(proxcal, files, samples, model):
    settings = ("--references", 100, "--components", 8, "--coreset", "k-centre")
    assert proxcal("compress", "model.proxcal", "-o", "small.proxcal", "--samples", files["second"], *settings)[0] == 0
    expected = model.compress(n_references=100, n_components=8, coreset="k-centre")
    test = samples.split(0.5)[1]
    found = px.ProCal.load("small.proxcal").confidence(test.logits, features=test.features)
    np.testing.assert_array_equal(found, expected.confidence(test.logits, features=test.features))


def test_it_prints_what_it_cost(proxcal, files, model):
    _, out, _ = proxcal("compress", "model.proxcal", "-o", "small.proxcal", "--samples", files["second"])
    assert "Spearman" in out
    assert "PIECE" in out
    assert max(map(len, out.splitlines())) <= 80


def test_json_is_the_report(proxcal, files, samples, model):
    _, out, _ = proxcal("compress", "model.proxcal", "-o", "s.proxcal", "--samples", files["second"], "--json")
    report = px.compression_report(model, model.compress(), samples.split(0.5)[1])
    assert json.loads(out)["spearman"] == report.spearman


def test_a_wrong_type_is_one_line(proxcal, files, model):
    code, _, err = proxcal("compress", "model.proxcal", "-o", "s", "--samples", files["second"], "--dtype", "int8")
    assert code == 2
    assert err == "proxcal: dtype must be one of 'float16', 'float32', None; got 'int8'\n"


def test_an_output_that_exists_is_kept(proxcal, files, model):
    code, _, err = proxcal("compress", "model.proxcal", "-o", "model.proxcal", "--samples", files["second"])
    assert code == 2
    assert "model.proxcal exists" in err
