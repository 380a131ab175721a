"""A network with two hidden layers of five tanh units and one output, its parameters laid flat, its gradient explicit.

It starts as the zero function, so whatever it corrects starts uncorrected.
"""

from collections.abc import Callable, Iterator

import numpy as np

from proxcal._validation import Floats

_HIDDEN = 5


def n_parameters(n_inputs: int) -> int:
    return (n_inputs + 1) * _HIDDEN + (_HIDDEN + 1) * _HIDDEN + _HIDDEN + 1


def start(n_inputs: int, rng: np.random.Generator) -> Floats:
    """Random hidden layers; the last is zero, and so is the output for every input."""
    sizes = (n_inputs + 1) * _HIDDEN, (_HIDDEN + 1) * _HIDDEN, _HIDDEN + 1
    scales = 1 / np.sqrt(n_inputs), 1 / np.sqrt(_HIDDEN), 0.0
    return np.concatenate([scale * rng.normal(size=size) for size, scale in zip(sizes, scales, strict=True)])


def outputs(inputs: Floats, parameters: Floats) -> Floats:
    """One number a row, summed term by term: BLAS would let its last bits depend on how many rows came."""
    units = inputs
    for weights, bias in layers(parameters, inputs.shape[1]):
        total = np.tile(bias, (len(inputs), 1))
        for column, row in zip(units.T, weights, strict=True):
            total += column[:, None] * row
        units = np.tanh(total)
    return total[:, 0]


def outputs_and_pullback(inputs: Floats, parameters: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
    """The outputs, and what turns a slope along each of them into the slope along the parameters."""
    (w1, b1), (w2, b2), (w3, b3) = layers(parameters, inputs.shape[1])
    first = np.tanh(inputs @ w1 + b1)
    second = np.tanh(first @ w2 + b2)

    def pullback(slope: Floats) -> Floats:
        last = slope[:, None]
        middle = (last @ w3.T) * (1 - second**2)
        early = (middle @ w2.T) * (1 - first**2)
        parts = ((inputs, early), (first, middle), (second, last))
        return np.concatenate([np.append((units.T @ back).ravel(), back.sum(axis=0)) for units, back in parts])

    return (second @ w3 + b3)[:, 0], pullback


def layers(parameters: Floats, n_inputs: int) -> Iterator[tuple[Floats, Floats]]:
    """Weights (inputs, units) and biases of each layer, as views."""
    at = 0
    for n_in, n_out in ((n_inputs, _HIDDEN), (_HIDDEN, _HIDDEN), (_HIDDEN, 1)):
        end = at + n_in * n_out
        yield parameters[at:end].reshape(n_in, n_out), parameters[end : end + n_out]
        at = end + n_out
