"""Tensors made as SciPy's functions of these names make arrays, in any format.

eye_array(3, k=1)                      ones on a diagonal
diags_array([x, y], offsets=[0, -1])   x and y on diagonals
random_array((9, 9), density=0.1)      entries at random, SciPy's for the same rng
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._guard import guarded
from ._operands import refused
from ._tensor import Tensor, asarray, usual


@guarded
def eye(
    m: int, n: int | None = None, k: int = 0, dtype: Any = float, format: str | None = None
) -> Tensor:
    """Ones on the diagonal ``k`` of ``m`` rows, and as many columns or ``n``."""
    from . import array_api

    made = array_api.eye(m, n, k=k, dtype=np.dtype(dtype))
    return made if format is None else made.asformat(format)


@guarded
def diags(
    diagonals: Any, offsets: Any = 0, shape: Any = None, format: str | None = None, dtype: Any = None
) -> Tensor:
    """Elements on diagonals: one for each offset, of numbers or of one that is repeated."""
    options = {} if dtype is None else {"dtype": dtype}
    made = _scipy().diags_array(diagonals, offsets=offsets, shape=shape, format="coo", **options)
    return _owned(made, format or usual(made.shape, made.nnz))


@guarded
def random(
    m: int, n: int, density: float = 0.01, format: str | None = "coo", dtype: Any = None, **options: Any
) -> Tensor:
    """A matrix of random entries, uniform in [0, 1); ``rng`` and ``data_rvs`` are SciPy's."""
    made = _scipy().random(m, n, density, "coo", dtype, **options)
    return _owned(made, format)


@guarded
def random_array(
    shape: Any, *, density: float = 0.01, format: str | None = "coo", dtype: Any = None, **options: Any
) -> Tensor:
    """Random entries, uniform in [0, 1); ``rng`` and ``data_sampler`` are SciPy's."""
    made = _scipy().random_array(shape, density=density, format="coo", dtype=dtype, **options)
    return _owned(made, format)


#: SciPy's names for what gives arrays, not matrices.
eye_array, diags_array = eye, diags


def _owned(made: Any, format: str | None) -> Tensor:
    """The tensor of SciPy's list of coordinates, in arrays of its own."""
    tensor = asarray(made, format=format)
    return tensor.copy() if tensor.is_borrowed else tensor


def _scipy() -> Any:
    try:
        import scipy.sparse
    except ImportError as error:
        raise refused("SciPy draws the entries, and is not installed", "pip install scipy") from error
    return scipy.sparse
