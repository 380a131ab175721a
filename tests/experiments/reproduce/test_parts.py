import pytest

from proxcal.experiments.reproduce.parts import Parts, Value

VALUES = [
    Value(None, 2020, "noise-3", "TS", "ours", "ece", 0.25),
    Value("ViT", None, None, "HB", "base", "nll", 1.5, 0.1),
]


def test_a_part_that_was_kept_is_read_back_to_the_bit(tmp_path):
    Parts(tmp_path / "parts", {"seed": 1}).keep("noise-3 2020", VALUES)
    resumed = Parts(tmp_path / "parts", {"seed": 1})
    assert resumed.done("noise-3 2020") == VALUES
    assert resumed.done("another") is None


def test_parts_of_another_plan_are_refused(tmp_path):
    Parts(tmp_path / "parts", {"settings": "paper"})
    with pytest.raises(ValueError, match=r"parts has parts of a run with another settings: .*--force"):
        Parts(tmp_path / "parts", {"settings": "own"})


def test_overwriting_starts_anew(tmp_path):
    Parts(tmp_path / "parts", {"settings": "paper"}).keep("one", VALUES)
    assert Parts(tmp_path / "parts", {"settings": "own"}, overwrite=True).done("one") is None


def test_without_a_folder_nothing_is_kept():
    parts = Parts(None, {})
    assert parts.keep("one", VALUES) == VALUES
    assert parts.done("one") is None
