"""What the tests of every framework here need."""


def _declare_the_operators_that_torchvision_lacks_beside_a_cpu_torch() -> None:
    """Its wheel is built for one torch; beside another its compiled operators are absent, and importing it fails on the
    first one that it describes."""
    try:
        import torch
    except ImportError:
        return
    try:
        import torchvision  # noqa: F401
    except ImportError:
        return
    except RuntimeError:
        for name in ("nms", "qnms"):
            torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


_declare_the_operators_that_torchvision_lacks_beside_a_cpu_torch()
