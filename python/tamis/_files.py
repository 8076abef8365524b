"""Files of tensors, by the endings of their names."""

from __future__ import annotations

import os
import secrets
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import _native
from ._errors import (
    TamisError,
    TamisFileError,
    TamisFileNotFoundError,
    TamisMemoryError,
    TamisValueError,
)
from ._guard import guarded
from ._programs import check_text
from ._tensor import Tensor, asarray

#: How the names of archives end that are binsparse, not SciPy's.
_BINSPARSE = ".bsp.npz"


@guarded
def read(path: str | os.PathLike[str], *, format: str | None = None) -> Tensor:
    """The tensor of a file: Matrix Market ``.mtx``, Rutherford-Boeing ``.rb``, FROSTT ``.tns``,
    each also ``.gz``, SciPy's ``.npz``, binsparse ``.bsp.npz``, or in HDF5, ``.bsp.h5``, for which
    h5py is needed. Without ``format`` a matrix is csr, a tensor of more axes csf, a vector dense;
    those of SciPy and of HDF5 are as they were saved."""
    name = os.fspath(path)
    if format is not None:
        check_text("format", format)
    if name.endswith((".h5", ".hdf5")):
        from . import _binsparse

        made = _binsparse.read(name)
        return made if format is None else made.asformat(format)
    if name.endswith(".npz") and _is_scipys(name):
        sparse = _scipy(name)
        with reading(name):
            made = asarray(sparse.load_npz(name)).copy()
        return made if format is None else made.asformat(format)
    tensor, _ = _native.read(name, format)
    return Tensor(tensor)


@guarded
def write(path: str | os.PathLike[str], tensor: Any, *, comments: Sequence[str] = ()) -> None:
    """Writes a tensor, array or matrix to a file, whose name tells the format as in ``read``.
    What was there stays until the new file is complete."""
    name = os.fspath(path)
    known = asarray(tensor)
    if name.endswith(".npz") and not name.endswith(_BINSPARSE):
        sparse, made = _scipy(name), known.to_scipy()
        with writing(name) as own, open(own, "xb") as file:
            sparse.save_npz(file, made)
        return
    if name.endswith((".h5", ".hdf5")):
        from . import _binsparse

        _binsparse.write(name, known, comments)
        return
    _native.write(name, known, list(comments))


def _is_scipys(path: str) -> bool:
    """Whether SciPy knows all that an archive says: it has no fill values, and no binsparse."""
    if path.endswith(_BINSPARSE):
        return False
    with reading(path), zipfile.ZipFile(path) as archive:
        return not {"binsparse.npy", "fill_value.npy"} & set(archive.namelist())


def _scipy(path: str) -> Any:
    try:
        import scipy.sparse
    except ImportError as error:
        text = f"error[file-unsupported]: {path}: files of SciPy are read and written by SciPy"
        raise TamisFileError("file-unsupported", f"{text}\n  = help: pip install scipy") from error
    return scipy.sparse


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Names the file where a library that reads it fails, whatever it raises: a damaged file may
    lead it anywhere."""
    try:
        yield
    except TamisError:
        raise
    except FileNotFoundError as error:
        text = f"error[file-not-readable]: {path}: there is no such file"
        raise TamisFileNotFoundError("file-not-readable", text) from error
    except MemoryError as error:
        text = f"error[out-of-memory]: {path}: an array does not fit in memory"
        raise TamisMemoryError("out-of-memory", f"{text}\n  = help: is it damaged?") from error
    except OSError as error:
        text = f"error[file-not-readable]: {path}: {error}"
        raise TamisFileError("file-not-readable", text) from error
    except Exception as error:
        text = f"error[file-syntax]: {path}: the file is damaged, or of another kind\n"
        text += f"  = help: write it again ({type(error).__name__}: {error})"
        raise TamisValueError("file-syntax", text) from error


@contextmanager
def writing(path: str) -> Iterator[str]:
    """A name for a file that replaces another when it is complete."""
    target = os.path.realpath(path)
    own = os.path.join(os.path.dirname(target), f".tamis-{secrets.token_hex(16)}.tmp")
    try:
        yield own
        os.replace(own, target)
    except OSError as error:
        text = f"error[file-not-writable]: {path}: {error}"
        raise TamisFileError("file-not-writable", text) from error
    finally:
        if os.path.exists(own):
            os.remove(own)
