import json

import pytest

from proxcal.datasets import DATA_SETS, multinli, open_samples

LINE = {"gold_label": "neutral", "sentence1": "a", "sentence2": "b", "pairID": "1n"}


def test_a_data_set_is_opened_by_its_name(write):
    root = write({"multinli_1.0_dev_matched.jsonl": json.dumps(LINE)})
    assert list(open_samples(f"multinli:{root}")) == list(multinli(root))


def test_a_part_of_it_stands_behind_a_slash(write):
    root = write({"multinli_1.0_dev_mismatched.jsonl": json.dumps(LINE)})
    assert len(open_samples(f"multinli/mismatched:{root}")) == 1


@pytest.mark.parametrize("name", DATA_SETS)
def test_each_is_found_under_its_name_and_says_what_its_folder_lacks(name, tmp_path):
    with pytest.raises(ValueError, match=r"has no .* needs .*; it is obtained from https://"):
        open_samples(f"{name}:{tmp_path}")


def test_a_name_that_there_is_not_is_told(tmp_path):
    with pytest.raises(ValueError, match=r"imagnet:.* is neither a file nor a data set; before the colon is one"):
        open_samples(f"imagnet:{tmp_path}")


def test_a_path_may_hold_a_colon(write):
    assert open_samples(write({"a:b.csv": "text\nwhy\n"}) / "a:b.csv").contents == ["why"]
