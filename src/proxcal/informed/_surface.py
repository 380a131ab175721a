"""A smooth surface over (confidence, proximity), as columns for a ridge.

Both axes are normal scores, so the surface does not depend on their units; expanded in Hermite polynomials, which are
uncorrelated for normal scores, its terms are shrunk each on its own. The penalty grows with the square of the degree.
"""

from math import factorial

import numpy as np
from scipy.special import eval_hermitenorm

from proxcal._validation import Floats


def surface(u: Floats, v: Floats, degree: int) -> Floats:
    """He_i(u) He_j(v) / √(i! j!) for i + j ≤ degree, the constant first."""
    return np.column_stack(
        [
            eval_hermitenorm(i, u) * eval_hermitenorm(j, v) / np.sqrt(factorial(i) * factorial(j))
            for i, j in exponents(degree)
        ]
    )


def surface_penalty(degree: int) -> Floats:
    return np.array([max(1, i + j) ** 2 for i, j in exponents(degree)], dtype=np.float64)


def exponents(degree: int) -> list[tuple[int, int]]:
    return [(i, total - i) for total in range(degree + 1) for i in range(total, -1, -1)]
