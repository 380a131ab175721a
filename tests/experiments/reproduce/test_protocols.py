import pytest

from proxcal.experiments.evaluate import SEEDS
from proxcal.experiments.reproduce import METHODS, PROTOCOLS, find_protocol
from proxcal.experiments.reproduce.protocols import DISTANCES, NEIGHBORS
from proxcal.procal import ProCal

APPENDIX_D = {
    "imagenet": (25_000, 25_000),
    "inaturalist": (50_000, 50_000),
    "imagenet-lt": (5_000, 5_000),
    "imagenet-c": (25_000, 25_000),
    "hyper-k": (25_000, 25_000),
    "distance": (25_000, 25_000),
    "inference-time": (25_000, 25_000),
    "yahoo": None,
    "mnli-match": None,
    "mnli-mismatch": None,
    "imagenet-sketch": None,
    "overfit": None,
}


def test_splits_are_those_of_appendix_d():
    assert {name: protocol.split for name, protocol in PROTOCOLS.items()} == APPENDIX_D


def test_seeds_neighbours_and_methods_are_those_of_appendix_d():
    assert SEEDS == (2020, 2021, 2022, 2023, 2024)
    for method, base in METHODS.items():
        settings = ProCal.paper(base=base)
        name = type(settings.informed).__name__
        assert settings.n_neighbors == 10
        assert name == ("BinMeanShift" if method in ("HB", "IR", "MIR") else "DensityRatio")


def test_studies_go_from_1_to_1000_neighbours_and_over_four_distances():
    assert (min(NEIGHBORS), max(NEIGHBORS)) == (1, 1000)
    assert list(DISTANCES) == ["L2", "cosine", "IVFFlat", "IVFPQ"]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_random_split_fits_the_file_asked_for(name):
    protocol = PROTOCOLS[name]
    assert protocol.split is None or sum(protocol.split) == protocol.needs[0].n_samples


@pytest.mark.parametrize(
    ("number", "name"),
    [
        ("1", "inaturalist"),
        ("2a", "yahoo"),
        ("2b", "mnli-mismatch"),
        ("3", "imagenet"),
        ("4", "mnli-match"),
        ("5", "imagenet-lt"),
        ("6", "imagenet-sketch"),
    ],
)
def test_a_table_is_found_by_its_number_too(number, name):
    assert find_protocol(number) is find_protocol(name) is PROTOCOLS[name]


@pytest.mark.parametrize("unknown", ["7", "figure", "table", "imagnet"])
def test_what_is_no_table_is_refused_with_the_names(unknown):
    with pytest.raises(ValueError, match=r"TABLE must be one of 'inaturalist', .*'overfit'; got"):
        find_protocol(unknown)
