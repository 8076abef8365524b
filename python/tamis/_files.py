"""Files of tensors, by the endings of their names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import _native
from ._tensor import Tensor, asarray


def read(path: str | os.PathLike[str], *, format: str | None = None) -> Tensor:
    """The tensor of a file: Matrix Market ``.mtx``, Rutherford-Boeing ``.rb``, FROSTT ``.tns``,
    each also ``.gz``, SciPy's ``.npz``, or binsparse in HDF5, ``.bsp.h5``, for which h5py is
    needed. Without ``format`` a matrix is csr, a tensor of more axes csf, a vector dense; those of
    SciPy and binsparse are as they were saved."""
    name = os.fspath(path)
    if name.endswith((".h5", ".hdf5")):
        from . import _binsparse

        made = _binsparse.read(name)
        return made if format is None else made.asformat(format)
    if name.endswith(".npz"):
        import scipy.sparse

        return asarray(scipy.sparse.load_npz(name), format=format).copy()
    tensor, _ = _native.read(name, format)
    return Tensor(tensor)


def write(path: str | os.PathLike[str], tensor: Any, *, comments: Sequence[str] = ()) -> None:
    """Writes a tensor, array or matrix to a file, whose name tells the format as in ``read``.
    What was there stays until the new file is complete."""
    name = os.fspath(path)
    if name.endswith(".npz"):
        import scipy.sparse

        scipy.sparse.save_npz(name, asarray(tensor).to_scipy())
        return
    if name.endswith((".h5", ".hdf5")):
        from . import _binsparse

        _binsparse.write(name, asarray(tensor), comments)
        return
    _native.write(name, asarray(tensor), list(comments))
