"""What a program is: operands, and two functions that compute the same from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

#: All programs, by name, in the order of their files.
PROGRAMS: dict[str, Any] = {}


def program(made: Any) -> Any:
    """Registers a class of three functions: ``inputs`` takes the data and gives operands by name,
    ``tamis`` and ``scipy`` take these. The first line of its text says what it computes."""
    PROGRAMS[made.__name__] = made
    return made


def like(A: Any, values: Any) -> Any:
    """Other values at the entries of a csr matrix."""
    return sp.csr_array((values, A.indices, A.indptr), shape=A.shape)


def repeated(A: Any, rows: Any) -> Any:
    """A number, or a vector, of each row at each entry of a csr matrix."""
    return np.repeat(rows, np.diff(A.indptr), axis=0)
