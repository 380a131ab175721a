"""How an image is prepared for a network that does not say how: as ImageNet's networks usually are.

The shorter side becomes 256/224 of the network's input, of which the middle is cut out; values in [0, 1] less their
mean over ImageNet, by their deviation.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from PIL import Image

from proxcal._extras import require
from proxcal._validation import ProxcalWarning

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
MARGIN = 256 / 224


@dataclass(frozen=True)
class UsualImages:
    height: int
    width: int
    channels_last: bool = False

    @classmethod
    def of_shape(cls, name: str, shape: Sequence[int | None], says_how: str) -> Self:
        """For an input of (n, 3, h, w) or (n, h, w, 3), with a warning that this is a guess."""
        channels_last = shape[3] == 3 and shape[1] != 3
        height, width = shape[1:3] if channels_last else shape[2:]
        if height is None or width is None:
            raise ValueError(f"{name} takes images of any size; put a {says_how} beside it that says which")
        warnings.warn(
            f"{name} has no {says_how} beside it: images are prepared as usual for ImageNet, {height} x {width}",
            ProxcalWarning,
            stacklevel=2,
        )
        return cls(height, width, channels_last)

    def __call__(self, image: Image.Image) -> Any:
        scale = MARGIN * max(self.height / image.height, self.width / image.width)
        size = (round(scale * image.width), round(scale * image.height))
        left, top = (size[0] - self.width) // 2, (size[1] - self.height) // 2
        resized = image.resize(size, Image.Resampling.BILINEAR)
        cut = resized.crop((left, top, left + self.width, top + self.height))
        values = (np.asarray(cut, dtype=np.float32) / 255 - np.array(MEAN, np.float32)) / np.array(
            DEVIATION, np.float32
        )
        values = values if self.channels_last else values.transpose(2, 0, 1)
        return require("torch", "torch", "extract").from_numpy(np.ascontiguousarray(values))
