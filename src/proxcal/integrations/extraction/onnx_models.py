"""onnx:FILE, a classifier of images or texts as an ONNX file, run by onnxruntime; FILE may be a glob.

How its inputs are prepared, the files beside it say, as exporters leave them: `preprocessor_config.json` of images, the
tokenizer's files of texts, and in `config.json` the names of the classes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any, Self

import numpy as np

from proxcal._extras import require
from proxcal._files import check_readable
from proxcal._validation import Array
from proxcal.integrations.extraction import onnx_graph, transformers_models
from proxcal.integrations.extraction.network import Network, as_it_is, digest, one_line
from proxcal.integrations.extraction.preparation import UsualImages

PROCESSOR, CONFIG = "preprocessor_config.json", "config.json"
IDS = "input_ids"  # what an input of texts is called
_UNNAMED = "model"  # many files are called so, each in a folder that says which it is
_EXTERNAL = "session.model_external_initializers_file_folder_path"


def names(pattern: str, weights: Path | None) -> list[str]:
    """The files that a glob is."""
    found = sorted(glob(pattern))
    if not found:
        raise ValueError(f"onnx:{pattern} is no file")
    return found


def called(name: str) -> str:
    """What a model is called: as its file, or as the folder of a `model.onnx`."""
    path = Path(name)
    return path.resolve().parent.name if path.stem == _UNNAMED else path.stem


def load(name: str, weights: Path | None) -> Network:
    path = check_readable(name)
    if weights is not None:
        raise ValueError(f"onnx:{name} has its weights in itself; leave out --weights")
    graph = onnx_graph.read(path).graph
    known: dict[str, Any] = {
        "extractor": partial(Extractor, path),
        "fingerprint": digest([path, *map(check_readable, onnx_graph.external_files(graph, path.parent))]),
        "n_parameters": sum(math.prod(weight.dims) for weight in graph.initializer) or None,
    }
    shapes = _shapes(graph)
    if (path.parent / CONFIG).is_file():
        known["classes"] = transformers_models.classes_of(transformers_models.config_of(path.parent))
    if IDS in shapes:
        texts = transformers_models.text_inputs(path.parent, fixed=shapes[IDS][1])
        return Network(called(name), "text", as_it_is, texts, **known)
    collate = require("torch.utils.data", "torch", "extract").default_collate
    return Network(called(name), "image", _prepare(path, shapes), collate, **known)


def _shapes(graph: Any) -> dict[str, list[int | None]]:
    """Of each input that is asked for; None where a size is free."""
    given = {weight.name for weight in graph.initializer}
    return {
        value.name: [size.dim_value or None for size in value.type.tensor_type.shape.dim]
        for value in graph.input
        if value.name not in given
    }


def _prepare(path: Path, shapes: Mapping[str, list[int | None]]) -> Any:
    if (path.parent / PROCESSOR).is_file():
        return transformers_models.image_inputs(path.parent)
    shape = next(iter(shapes.values()), [])
    if len(shapes) != 1 or len(shape) != 4:
        raise ValueError(f"onnx:{path} takes {', '.join(shapes)}; an image (n, 3, h, w), or {IDS} of texts, is needed")
    return UsualImages.of_shape(str(path), shape, PROCESSOR)


@dataclass
class Extractor:
    """An ONNX file giving (logits, features) of a batch; used in a `with`."""

    path: Path
    head: str | None = None
    device: str = "cpu"
    amp: bool = False

    def __enter__(self) -> Self:
        if self.amp:
            raise ValueError(f"amp: onnx:{self.path} has its own precision; leave out --amp")
        model, self._head = onnx_graph.with_features(self.path, self.head)
        self._session = self._opened(model)
        self._inputs = {each.name: each for each in self._session.get_inputs()}
        return self

    def __exit__(self, *_: object) -> None:
        del self._session

    def __call__(self, inputs: Any) -> tuple[Any, Any]:
        torch = require("torch", "torch", "extract")
        logits, features = self._run(self._feeds(inputs))
        return torch.from_numpy(logits), torch.from_numpy(self._rows(features))

    def _opened(self, model: bytes) -> Any:
        runtime = require("onnxruntime", "onnx", "onnx:FILE")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = require("torch", "torch", "extract").get_num_threads()
        options.log_severity_level = 3
        options.add_session_config_entry(_EXTERNAL, str(self.path.resolve().parent))
        name, _, number = self.device.partition(":")
        provider = f"{name.upper()}ExecutionProvider"
        if provider not in runtime.get_available_providers():
            raise ValueError(f"device is {self.device!r}; onnxruntime here has no {provider} (onnxruntime-gpu has)")
        providers = [(provider, {"device_id": number or "0"} if name == "cuda" else {})]
        try:
            return runtime.InferenceSession(model, options, providers=providers)
        except Exception as error:  # onnxruntime's exceptions have no common class
            raise ValueError(f"onnx:{self.path} cannot be run by onnxruntime: {one_line(error)}") from None

    def _feeds(self, inputs: Any) -> dict[str, Array]:
        """What the graph asks for, by its names and in its types."""
        given = {name: _array(value) for name, value in inputs.items()} if isinstance(inputs, Mapping) else {}
        if len(self._inputs) == 1 and len(given) <= 1:  # one tensor, however it is called
            given = dict.fromkeys(self._inputs, next(iter(given.values())) if given else _array(inputs))
        missing = [name for name in self._inputs if name not in given]
        if missing:
            raise ValueError(f"onnx:{self.path} asks for {missing[0]!r}; what is prepared has {', '.join(given)}")
        return {name: given[name].astype(_TYPES.get(each.type, "f4")) for name, each in self._inputs.items()}

    def _run(self, feeds: dict[str, Array]) -> list[Array]:
        """In batches of the size that the graph is made for, the last one filled up with its last row."""
        outputs, fixed = list(self._head[:2]), next(iter(self._inputs.values())).shape[0]
        if not isinstance(fixed, int):
            return list(self._session.run(outputs, feeds))
        n = len(next(iter(feeds.values())))
        rows = np.minimum(np.arange(-(-n // fixed) * fixed), n - 1).reshape(-1, fixed)
        parts = [self._session.run(outputs, {name: array[part] for name, array in feeds.items()}) for part in rows]
        return [np.concatenate(arrays)[:n] for arrays in zip(*parts, strict=True)]

    def _rows(self, features: Array) -> Array:
        if self._head.is_map and features.ndim == 4:
            of_map: Array = features.mean(axis=(2, 3))
            return of_map
        if features.ndim > 2 and math.prod(features.shape[2:]) == 1:
            return features.reshape(features.shape[:2])
        if features.ndim != 2:
            raise ValueError(
                f"head: the features {self._head.features!r} have shape {features.shape}; a row a sample, (n, d), is"
                f" needed: name others with {onnx_graph.NAME_IT}"
            )
        return features


_TYPES = {"tensor(float16)": "f2", "tensor(double)": "f8", "tensor(int64)": "i8", "tensor(int32)": "i4"}


def _array(value: Any) -> Array:
    array: Array = np.asarray(value)
    return array
