"""The table of protocols: what each of the paper's tables and figures needs, and what is done with it.

Appendix D: the hold-out set is split at random into n_c calibration and n_e test samples, once for each of the seeds
2020 to 2024; for texts a fifth of the training set calibrates, and the test set is as it is. K = 10, λ = 1/2.
Density-Ratio corrects Conf, TS, ETS, PTS and PTSK, Bin-Mean-Shift HB, IR and MIR.
"""

from dataclasses import dataclass
from typing import Literal

from proxcal._validation import check_choice
from proxcal.experiments.reproduce.printed import printed_pairs

Kind = Literal["comparison", "shift", "neighbors", "distance", "time", "overfit"]

METHODS = {
    "Conf": "identity",
    "TS": "temperature",
    "ETS": "ensemble-temperature",
    "PTS": "parameterized-temperature",
    "PTSK": "neighbor-temperature",
    "HB": "histogram",
    "IR": "isotonic",
    "MIR": "multi-isotonic",
}
METRICS = ("ece", "ace", "mce", "piece")
STUDIED = ("Conf", "TS", "ETS", "PTS", "PTSK", "MIR")  # where the paper draws curves without saying of which
NEIGHBORS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
DISTANCES = {
    "L2": {"metric": "euclidean"},
    "cosine": {"metric": "cosine"},
    "IVFFlat": {"index": "ivfflat"},
    "IVFPQ": {"index": "ivfpq"},
}
N_RUNS = 10  # over which a time is averaged
N_GROUPS = 10  # by proximity, as in the paper's first figure


@dataclass(frozen=True)
class Need:
    """Files that a protocol is given in one place: one, or `several`, with at least `n_samples` each; a `command` that
    makes such a file (names in capitals stand for one's own)."""

    role: str
    n_samples: int
    what: str
    command: str
    several: bool = False


@dataclass(frozen=True)
class Protocol:
    """`split`: so many calibration and test samples of one hold-out set, drawn anew for each seed; None where files are
    taken as they are. `claim` is what the paper says of the outcome; a p-value under `level` earns a star."""

    name: str
    number: str | None
    kind: Kind
    title: str
    claim: str
    needs: tuple[Need, ...]
    split: tuple[int, int] | None = None
    level: float = 0.1
    given_methods: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    note: str = ""

    @property
    def methods(self) -> tuple[str, ...]:
        """As the printed table has them, in its order, unless told."""
        return self.given_methods or tuple(dict.fromkeys(method for _, method, _ in printed_pairs(self.name)))


def _extract(model: str, data: str, file: str) -> str:
    return f"proxcal extract {model} --weights WEIGHTS --data {data} -o {file}"


def _imagenet(model: str, role: str = "predictions", *, several: bool = False) -> Need:
    name = model.split("_")[0]
    return Need(
        role,
        50_000,
        "ImageNet's validation images",
        _extract(f"timm:{model}", "IMAGENET/val", f"{name}.npz"),
        several=several,
    )


def _texts(model: str, n_calibration: int, train: str, n_test: int, test: str) -> tuple[Need, Need]:
    return (
        Need(
            "calibration",
            n_calibration,
            f"a random fifth of {train}, which the network was not fine-tuned on",
            f"proxcal extract hf:{model} --data CALIBRATION.tsv -o calibration.npz",
        ),
        Need("test", n_test, test, f"proxcal extract hf:{model} --data TEST.tsv -o test.npz"),
    )


_ALL = (
    Protocol(
        "inaturalist",
        "1",
        "comparison",
        "iNaturalist 2021 (long tail), ResNet50",
        "ours consistently lowers ECE, ACE, MCE and PIECE",
        (
            Need(
                "predictions",
                100_000,
                "iNaturalist 2021's validation images, by a ResNet50 that learned its 10 000 classes",
                _extract("timm:resnet50", "INAT2021/val", "inat.npz"),
            ),
        ),
        split=(50_000, 50_000),
    ),
    Protocol(
        "yahoo",
        "2a",
        "comparison",
        "Yahoo Answers Topics, RoBERTa fine-tuned on it",
        "ours consistently improves the calibration of existing methods",
        _texts("ROBERTA_YAHOO", 280_000, "the 1 400 000 training texts", 60_000, "its test texts"),
    ),
    Protocol(
        "mnli-mismatch",
        "2b",
        "comparison",
        "MultiNLI mismatched (distribution shift), RoBERTa fine-tuned on MultiNLI",
        "ours improves most methods in ECE, ACE and MCE, and consistently in PIECE",
        _texts("ROBERTA_MNLI", 78_540, "the 392 702 training pairs", 9_832, "its mismatched pairs"),
    ),
    Protocol(
        "imagenet",
        "3",
        "comparison",
        "ImageNet, four networks",
        "ours lowers errors, notably those of the best base calibrator too",
        (_imagenet("resnet50", several=True),),
        split=(25_000, 25_000),
        level=0.01,
        note=(
            "One to four files, each known by BeiT, Mixer, ResNet50 or ViT in its name, or as NAME=FILE. The paper does"
            " not say which variants these are; timm has beit_base_patch16_224, mixer_b16_224, resnet50 and"
            " vit_base_patch16_224."
        ),
    ),
    Protocol(
        "mnli-match",
        "4",
        "comparison",
        "MultiNLI matched, RoBERTa-base fine-tuned on it",
        "ours improves calibration, and does about as well in proximity bias",
        _texts("ROBERTA_MNLI", 78_540, "the 392 702 training pairs", 9_815, "its matched pairs"),
    ),
    Protocol(
        "imagenet-lt",
        "5",
        "comparison",
        "ImageNet-LT (long tail), ResNext50 with its classifier trained anew",
        "ours improves most methods in all four errors, in ECE, ACE and PIECE above all",
        (
            Need(
                "predictions",
                10_000,
                "ImageNet-LT's held-out images",
                _extract("MODULE:FUNCTION", "IMAGENET_LT_val.txt", "imagenet-lt.npz"),
            ),
        ),
        split=(5_000, 5_000),
    ),
    Protocol(
        "imagenet-sketch",
        "6",
        "comparison",
        "ImageNet-Sketch (distribution shift), vit_large_patch14_clip_336",
        "ours lowers PIECE of all methods; ECE, ACE and MCE may rise for PTS and PTSK",
        (
            _imagenet("vit_large_patch14_clip_336", "calibration"),
            Need(
                "test",
                50_000,
                "ImageNet-Sketch's images",
                _extract("timm:vit_large_patch14_clip_336", "IMAGENET_SKETCH", "sketch.npz"),
            ),
        ),
    ),
    Protocol(
        "imagenet-c",
        None,
        "shift",
        "ImageNet-C: reduction of PIECE under corruptions",
        "ours consistently lowers PIECE under distribution shift",
        (
            _imagenet("resnet50", "clean"),
            Need(
                "corrupted",
                25_000,
                "ImageNet-C's images, a file a corruption and severity",
                _extract("timm:resnet50", "IMAGENET_C/gaussian_noise/3", "gaussian_noise-3.npz"),
                several=True,
            ),
        ),
        split=(25_000, 25_000),
        given_methods=STUDIED,
        note=(
            "A file's name up to the last - is the corruption, what follows its severity. Where it holds the clean"
            " file's images in the same order, those that calibrate are not tested on. The paper prints no numbers"
            " here, and does not name the network."
        ),
    ),
    Protocol(
        "hyper-k",
        None,
        "neighbors",
        "Sensitivity to the number of neighbours K, ResNet50 on ImageNet",
        "a V: errors fall from K = 1 on, K = 10 is enough, and they rise from K > 50 on; 10 to 50 is best",
        (_imagenet("resnet50"),),
        split=(25_000, 25_000),
        given_methods=STUDIED,
        note="PIECE is always measured by proximity with K = 10, so that one ruler measures all.",
    ),
    Protocol(
        "distance",
        None,
        "distance",
        "Sensitivity to the distance: L2, cosine, IVFFlat, IVFPQ, ResNet50 on ImageNet",
        "the differences are small; IVFFlat has slightly smaller errors",
        (_imagenet("resnet50"),),
        split=(25_000, 25_000),
        given_methods=STUDIED,
        extras=("faiss",),
        note="PIECE is always measured by proximity with L2, so that one ruler measures all.",
    ),
    Protocol(
        "inference-time",
        None,
        "time",
        "Inference time a sample, ViT-B/16 on ImageNet",
        "Bin-Mean-Shift adds 1.17 %, Density-Ratio 12.3 % to the network's time",
        (_imagenet("vit_base_patch16_224"),),
        split=(25_000, 25_000),
        given_methods=tuple(METHODS),
        note=(
            "A predictions file says nothing of the network's own time: give it as --network-time, in milliseconds a"
            " sample. The paper's 1.17 % is its text's; its table has 5.60 and 5.70 ms, which is 1.79 %."
        ),
    ),
    Protocol(
        "overfit",
        None,
        "overfit",
        "Training against held-out accuracy by proximity, on ImageNet",
        "the accuracies differ by 31.67 points at low proximity, by 0.6 at high",
        (
            _imagenet("resnet50"),
            Need(
                "train",
                50_000,
                "ImageNet's training images, or a random part of them",
                _extract("timm:resnet50", "IMAGENET/train", "train.npz"),
            ),
        ),
        given_methods=("Conf",),
        note="Ten groups, as in the paper's first figure; the paper does not name the network.",
    ),
)
PROTOCOLS = {protocol.name: protocol for protocol in _ALL}


def find_protocol(table: str) -> Protocol:
    """By its name, or by its number among the paper's tables of calibration errors."""
    numbered = (protocol for protocol in PROTOCOLS.values() if protocol.number is not None)
    by_number = {protocol.number: protocol for protocol in numbered}
    if table in by_number:
        return by_number[table]
    return PROTOCOLS[check_choice("TABLE", table, tuple(PROTOCOLS))]
