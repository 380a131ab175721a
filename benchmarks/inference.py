"""What calibration adds to a network's own inference: a ViT-B/16 with 25 000 × 768 references, batches of 64 images.

    python benchmarks/inference.py        # needs the `torch` and `timm` extras; weights are random
    python benchmarks/inference.py --model NAME --batch 256 --device cuda

In every turn the network runs on the batch, then each ProCal on the scores and features that it gave, which is what
`CalibratedModule` does; and then the default `CalibratedModule` whole. Times are medians over turns. Last, `extract`
takes turns with a bare loop of forward passes over the same images.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import timm
import torch
from torch.utils.data import DataLoader, TensorDataset

import proxcal as px
from proxcal.integrations.torch import CalibratedModule, HeadInput, extract, find_head

N_REFERENCES = 25_000
DEFAULT = "default (neighborhood, K' = 50)"
SETTINGS: dict[str, Any] = {
    DEFAULT: "neighborhood",
    "logistic": "logistic",
    "bin-mean-shift": "bin-mean-shift",
    "density-ratio": "density-ratio",
    "density-ratio as the paper's": px.DensityRatio(coordinates="paper", evaluation="exact"),
}
Works = dict[str, Callable[[], Any]]


def samples(width: int, n_classes: int) -> px.Predictions:
    """Features around a centre a class, labels that go with them, and logits that are right of most."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_classes, width)).astype(np.float32)
    labels = rng.integers(n_classes, size=N_REFERENCES)
    features = centres[labels] + rng.normal(size=(N_REFERENCES, width)).astype(np.float32)
    logits = 2 * rng.normal(size=(N_REFERENCES, n_classes)).astype(np.float32)
    logits[np.arange(N_REFERENCES), labels] += 7
    return px.Predictions(logits=logits, labels=labels, features=features)


def fitted(informed: Any, data: px.Predictions) -> px.ProCal:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.ProxcalWarning)
        return px.ProCal(informed=informed).fit(data.logits, data.labels, features=data.features)


def interleaved(works: Works, device: str, repeats: int) -> dict[str, float]:
    """Median seconds of each, all taking turns, after a turn that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    for turn in range(repeats + 1):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            synchronize()
            if turn:
                taken[name].append(time.perf_counter() - start)
    return {name: median(times) for name, times in taken.items()}


def inference(model: Any, images: Any, modules: dict[str, Any], device: str, repeats: int) -> None:
    kept, given = HeadInput(find_head(model)), {}

    def network() -> None:
        given["scores"] = model(images)
        given["features"] = kept.take()

    works: Works = {"network": network}
    works |= {name: lambda m=module: m.calibration(**given) for name, module in modules.items()}
    works["whole"] = lambda: modules[DEFAULT](images)
    spent = interleaved(works, device, repeats)
    print(f"| batch of {len(images)} | ms | of the network alone |\n| --- | ---: | ---: |")
    print(f"| the network alone | {1e3 * spent['network']:.1f} | |")
    for name in modules:
        print(f"| calibration, {name} | {1e3 * spent[name]:.1f} | {spent[name] / spent['network']:.2%} |")
    print(f"| CalibratedModule, default | {1e3 * spent['whole']:.1f} | {spent['whole'] / spent['network']:.2%} |")


def extraction(model: Any, images: Any, device: str, repeats: int) -> None:
    loader = DataLoader(TensorDataset(images.cpu(), torch.zeros(len(images))), batch_size=len(images) // 4)

    def bare() -> None:
        for batch, _ in loader:
            model(batch.to(device)).cpu()

    spent = interleaved({"bare": bare, "extract": lambda: extract(model, loader)}, device, repeats)
    print(f"\nextract: {spent['extract'] / spent['bare'] - 1:+.2%} over a bare loop of {1e3 * spent['bare']:.0f} ms")


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default="vit_base_patch16_224")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    model = timm.create_model(given.model).eval().to(given.device)
    head = find_head(model)
    data = samples(head.in_features, head.out_features)
    modules = {name: CalibratedModule(model, fitted(informed, data)).eval() for name, informed in SETTINGS.items()}
    images = torch.randn(given.batch, *model.pretrained_cfg["input_size"], device=given.device)
    print(f"{given.model}, {N_REFERENCES} x {head.in_features} references, {torch.get_num_threads()} threads\n")
    inference(model, images, modules, given.device, given.repeats)
    extraction(model, images, given.device, given.repeats)


if __name__ == "__main__":
    main()
