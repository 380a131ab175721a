import numpy as np

from proxcal.report._sources import Source


def test_ids_are_those_of_the_predictions_unless_others_are_given(samples, tmp_path):
    named = type(samples)(logits=samples.logits, labels=samples.labels, ids=np.arange(len(samples)) + 7)
    named.save(tmp_path / "named.npz")
    others = [f"photo {i}" for i in range(len(samples))]
    for given in (named, tmp_path / "named.npz"):
        assert Source.of(given).ids[2] == 9
        assert Source.of(given, ids=others).ids[2] == "photo 2"
