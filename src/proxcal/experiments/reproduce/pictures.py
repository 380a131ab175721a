"""The picture of each kind of protocol. Imported on its own, so that matplotlib costs only those who draw."""

from typing import TYPE_CHECKING, Any

from proxcal.experiments.reproduce.protocols import METRICS
from proxcal.plots import OverfittingDisplay, PairsDisplay, SensitivityDisplay, ShiftDisplay

if TYPE_CHECKING:
    from proxcal.experiments.reproduce.reproduction import Reproduction

SETTINGS = {"neighbors": "Number of neighbours K", "distance": "Distance"}


def picture(found: "Reproduction") -> Any:
    """Its figure; None of times, which are a table."""
    kind, records = found.protocol.kind, _records(found)
    if kind == "comparison":
        return PairsDisplay.from_results(records, beside="in the paper").figure_
    if kind == "shift":
        return ShiftDisplay.from_results(_by_calibrator(records), reduction=True).figure_
    if kind in SETTINGS:
        return SensitivityDisplay.from_results(records, SETTINGS[kind]).figure_
    return None if found.overfitting is None else OverfittingDisplay.from_result(found.overfitting).figure_


def _records(found: "Reproduction") -> list[dict[str, Any]]:
    """The pairs' rows of the paper's four errors, times 100."""
    records = [row._asdict() for row in found.rows]
    return [
        record | {"beside_base": record["paper_base"], "beside_ours": record["paper_ours"]}
        for record in records
        if record.get("metric") in METRICS
    ]


def _by_calibrator(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """PIECE as it is, a record for each base and one for the same with ours."""
    found = []
    for record in (record for record in records if record["metric"] == "piece"):
        shift, _, severity = record["variant"].rpartition("-")
        place = {"shift": shift or severity, "severity": severity if shift else None}
        for name, side in ((record["method"], "base"), (f"{record['method']}+ours", "ours")):
            found.append(place | {"calibrator": name, "piece": record[side] / 100})
    return found
