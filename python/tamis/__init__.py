"""Tamis, a sparse tensor algebra compiler: index notation in, fast kernels out.

>>> import numpy as np, scipy.sparse as sp, tamis
>>> A = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
>>> tamis.einsum("ij,j->i", A, np.ones(3))
array([3., 3.])
>>> tamis.evaluate("B(i,j) = A(i,j) * A(i,j)", A=A).toarray()
array([[1., 0., 4.],
       [0., 9., 0.]])
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from . import _native
from ._errors import (
    PerformanceWarning,
    TamisAxisError,
    TamisError,
    TamisFileError,
    TamisFileNotFoundError,
    TamisIndexError,
    TamisMemoryError,
    TamisOverflowError,
    TamisRuntimeError,
    TamisTypeError,
    TamisValueError,
)
from ._native import (
    get_borrowing,
    get_num_threads,
    release_memory,
    set_borrowing,
    set_memory_limit,
    set_num_threads,
)

if TYPE_CHECKING:
    from . import array_api as array_api
    from ._einsum import einsum
    from ._explained import explain
    from ._expressions import compute
    from ._operators import Lazy, lazy
    from ._profile import profile
    from ._programs import Kernel, compile, evaluate
    from ._files import read, write
    from ._making import diags, diags_array, eye, eye_array, random, random_array
    from ._tensor import Tensor, asarray, coo

__version__ = _native.version

#: Where what needs NumPy is: NumPy is imported when it is used first.
_HOMES = {
    "evaluate": "_programs",
    "compile": "_programs",
    "Kernel": "_programs",
    "einsum": "_einsum",
    "Tensor": "_tensor",
    "asarray": "_tensor",
    "read": "_files",
    "write": "_files",
    "coo": "_tensor",
    "diags": "_making",
    "diags_array": "_making",
    "eye": "_making",
    "eye_array": "_making",
    "random": "_making",
    "random_array": "_making",
    "Lazy": "_operators",
    "lazy": "_operators",
    "compute": "_expressions",
    "explain": "_explained",
    "profile": "_profile",
    "load_ipython_extension": "_notebook",
}

__all__ = [
    "Kernel",
    "Lazy",
    "PerformanceWarning",
    "TamisAxisError",
    "TamisError",
    "TamisFileError",
    "TamisFileNotFoundError",
    "TamisIndexError",
    "TamisMemoryError",
    "TamisOverflowError",
    "TamisRuntimeError",
    "TamisTypeError",
    "TamisValueError",
    "Tensor",
    "asarray",
    "compile",
    "compute",
    "coo",
    "diags",
    "diags_array",
    "einsum",
    "evaluate",
    "explain",
    "eye",
    "eye_array",
    "get_borrowing",
    "get_num_threads",
    "lazy",
    "profile",
    "random",
    "random_array",
    "read",
    "release_memory",
    "set_borrowing",
    "set_memory_limit",
    "set_num_threads",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in ("array_api", "dask", "mpi"):
        return importlib.import_module(f"tamis.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tamis' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"tamis.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_native.after_fork)
