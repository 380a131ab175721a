from decimal import Decimal

import pytest

from proxcal.experiments.reproduce.printed import printed_gaps, printed_pairs, printed_times
from proxcal.experiments.reproduce.protocols import METHODS, METRICS

EIGHT = "Conf TS ETS PTS PTSK HB IR MIR"
SIX = "Conf TS ETS PTS PTSK MIR"
# Per table: networks, methods, the column sums of the print (base and ours of ECE, ACE, MCE, PIECE), bold cells, stars.
TABLES = {
    "inaturalist": ([None], SIX, "16.88 4.48 17.03 5.05 4.73 0.87 22.37 8.81", 24, 19),
    "yahoo": ([None], EIGHT, "11.39 5.80 12.70 5.85 3.17 1.45 22.84 13.14", 30, 0),
    "mnli-mismatch": ([None], EIGHT, "26.12 14.10 26.89 15.02 14.51 5.91 36.52 24.51", 32, 0),
    "imagenet": (
        ["BeiT", "Mixer", "ResNet50", "ViT"],
        "Conf ETS HB MIR PTS PTSK TS",
        "101.9797 57.0801 109.0506 57.9996 41.9479 28.6171 138.8292 81.0164",
        112,
        74,
    ),
    "mnli-match": ([None], EIGHT, "31.56 18.46 32.91 20.15 19.50 7.80 45.96 33.53", 32, 0),
    "imagenet-lt": (
        [None],
        EIGHT,
        "49.2879 32.1863 49.0285 32.8091 12.8545 10.7292 63.7431 47.8189",
        32,
        10,
    ),
    "imagenet-sketch": ([None], SIX, "19.71 10.38 19.75 10.29 4.16 1.91 33.04 17.21", 24, 0),
}


@pytest.mark.parametrize("table", TABLES)
def test_every_cell_of_a_table_is_there(table):
    networks, methods, *_ = TABLES[table]
    expected = {(network, method, metric) for network in networks for method in methods.split() for metric in METRICS}
    assert set(printed_pairs(table)) == expected


@pytest.mark.parametrize("table", TABLES)
def test_the_methods_come_in_the_order_of_print(table):
    assert list(dict.fromkeys(method for _, method, _ in printed_pairs(table))) == TABLES[table][1].split()


@pytest.mark.parametrize("table", TABLES)
def test_columns_sum_to_what_those_of_the_print_sum_to(table):
    pairs = printed_pairs(table)
    sums = [
        sum(Decimal(getattr(pair, side)) for (*_, of), pair in pairs.items() if of == metric)
        for metric in METRICS
        for side in ("base", "ours")
    ]
    assert " ".join(map(str, sums)) == TABLES[table][2]


@pytest.mark.parametrize("table", TABLES)
def test_bold_cells_and_stars_are_as_many_as_in_print(table):
    pairs = printed_pairs(table).values()
    marks = sum(pair.better is not None for pair in pairs), sum(pair.significant for pair in pairs)
    assert marks == TABLES[table][3:]


@pytest.mark.parametrize("table", TABLES)
def test_a_bold_cell_is_never_the_larger_one(table):
    for pair in printed_pairs(table).values():
        smaller = min(float(pair.base), float(pair.ours))
        assert pair.better is None or float(getattr(pair, pair.better)) == smaller


@pytest.mark.parametrize(
    ("table", "cell", "base", "ours", "better", "significant"),
    [
        ("inaturalist", (None, "PTS", "mce"), "2.96", "0.12", "ours", False),
        ("inaturalist", (None, "MIR", "piece"), "1.63", "1.64", "base", False),
        ("yahoo", (None, "TS", "ace"), "0.46", "0.46", None, False),
        ("mnli-mismatch", (None, "PTSK", "ece"), "10.14", "4.26", "ours", False),
        ("imagenet", ("BeiT", "MIR", "ece"), "0.4509", "0.536", "base", False),
        ("imagenet", ("BeiT", "HB", "mce"), "1.8383", "4.1239", "base", True),
        ("imagenet", ("ViT", "TS", "piece"), "2.1462", "1.7562", "ours", True),
        ("mnli-match", (None, "HB", "ace"), "2.10", "2.10", "ours", False),
        ("imagenet-lt", (None, "HB", "mce"), "7.5672", "7.5670", "ours", False),
        ("imagenet-lt", (None, "Conf", "ace"), "7.4610", "2.0168", "ours", True),
        ("imagenet-sketch", (None, "ETS", "mce"), "0.37", "0.39", "base", False),
    ],
)
def test_cells_are_those_of_the_print(table, cell, base, ours, better, significant):
    assert printed_pairs(table)[cell] == (base, ours, better, significant)


def test_times_are_those_of_the_print():
    expected = "NS 0.04 Conf 5.60 TS 5.60 ETS 5.64 PTS 5.61 PTSK 5.66 HB 5.63 IR 5.65 MIR 5.84 BIN* 5.70 DEN* 6.29"
    assert " ".join(f"{method} {ms}" for method, ms in printed_times().items()) == expected
    assert set(METHODS) < set(printed_times())


def test_gaps_are_those_of_the_text():
    assert printed_gaps() == {"lowest": "31.67", "highest": "0.6"}
