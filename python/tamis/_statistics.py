"""Histograms, covariances and correlations, of the entries of tensors and of how many are absent.

histogram(A, bins=4)   how many entries are in each bin, and in that of the fill value all others
cov(A)                 the products of rows less those of their means: a dense array of rows by rows
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from . import array_api
from ._arranging import _of_fill
from ._errors import TamisValueError
from ._moves import refused
from ._native import check_memory
from ._operands import refused as unfit
from ._tensor import Tensor, asarray, compact

Array = np.ndarray[Any, Any]
xp: Any = array_api


def _stored(a: Any) -> tuple[Array, Array, int]:
    """The values of the entries, the fill value, and how often that is absent."""
    tensor = asarray(a)
    values = compact(tensor.canonical()).values
    if values.dtype == bool:
        values = values.view(np.uint8)
    absent = tensor.size - len(values)
    if absent >= 2**63:
        reason = f"{tensor.size} elements are more than a count reaches"
        raise refused(reason, "take parts of the tensor")
    return values, np.asarray([tensor.fill_value]).astype(values.dtype), absent


def _range(values: Array, fill: Array, absent: int, given: Any) -> Any:
    """Between which numbers bins are: what is asked for, or the least and the greatest."""
    if given is not None or not len(values) + absent:
        return given
    every = [x for x in (values, fill if absent else fill[:0]) if len(x)]
    ends = np.array([np.min([x.min() for x in every]), np.max([x.max() for x in every])])
    if not np.isfinite(ends).all():
        reason = f"bins from {ends[0]} to {ends[1]} are not finite"
        raise refused(reason, "say between which numbers they are: range=(low, high)")
    return ends


def _binned(a: Any, bins: Any, range: Any) -> tuple[tuple[Array, Array, int], Any, Any]:
    """What is stored, the number of bins or their edges, and between which numbers they are."""
    if isinstance(bins, str):
        reason = f"the rule {bins!r} looks at all elements to choose bins"
        raise unfit(reason, "give a number of bins, or their edges")
    bins = bins.to_numpy() if isinstance(bins, Tensor) else bins
    stored = _stored(a)
    ends = _range(*stored, range) if np.ndim(bins) == 0 else range
    return stored, bins, ends if ends is None else (ends[0], ends[1])


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None) -> Any:
    """How many elements are in each bin, and the edges of the bins."""
    (values, fill, absent), bins, ends = _binned(a, bins, range)
    counts, edges = np.histogram(values, bins, ends)
    if absent:
        counts = counts + np.histogram(fill, bins, ends)[0] * absent
    if density:
        widths = np.diff(edges).astype(np.float64)
        with np.errstate(all="ignore"):
            return counts / widths / counts.sum(), edges
    return counts, edges


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None) -> Any:
    """The edges of the bins of a histogram."""
    (values, _, _), bins, ends = _binned(a, bins, range)
    return np.histogram_bin_edges(values[:0], bins, ends)


def bincount(x: Any, minlength: int = 0) -> Any:
    """How often each of the integers 0, 1, .. is an element of a vector."""
    tensor = asarray(x)
    if tensor.ndim != 1 or tensor.dtype.kind not in "iub":
        raise unfit(f"{tensor.dtype} of {tensor.ndim} axes is not counted", "use a vector of integers")
    values, fill, absent = _stored(tensor)
    largest = max([int(v.max()) for v in (values, fill if absent else fill[:0]) if len(v)], default=0)
    check_memory("the counts", 8.0 * max(largest, minlength))
    counts = np.bincount(values, minlength=minlength)
    return counts if not absent else _added(counts, np.bincount(fill, minlength=minlength) * absent)


def _added(one: Array, other: Array) -> Array:
    """The sum of two arrays of counts, of which one may be longer."""
    made = np.zeros(max(len(one), len(other)), dtype=np.int64)
    made[: len(one)] += one
    made[: len(other)] += other
    return made


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """The covariances of rows, or of columns: a dense array, of as many rows and columns as there are."""
    if ddof is not None and not _is_whole(ddof):
        raise TamisValueError(
            "invalid-option", f"error[invalid-option]: ddof is {ddof}\n  = help: use an integer"
        )
    parts = [_variables(m, rowvar)]
    if y is not None:
        # As NumPy has it: one row is one variable.
        parts.append(_variables(y, rowvar or np.ndim(y) < 2 or np.shape(y)[0] == 1))
    common = np.result_type(*(x.dtype for x in parts), np.float64)
    # Arrays are joined beside one fill value, which each of their types may not have.
    fill = parts[0].fill_value
    alike = [_of_fill(x.astype(common), fill) for x in parts]
    X = parts[0] if len(parts) == 1 else xp.concat(alike, axis=0)
    if X.ndim > 2:
        raise refused(f"{X.ndim} axes are those of no matrix", "give it two axes at most")
    made = np.dtype(dtype or common)
    check_memory("the covariances", 2.0 * made.itemsize * X.shape[0] ** 2)
    taken = (0 if bias else 1) if ddof is None else int(ddof)
    if not X.shape[0]:
        return np.array([]).reshape(0, 0)
    fweights, aweights = (w.to_numpy() if isinstance(w, Tensor) else w for w in (fweights, aweights))
    weights = _weights(fweights, aweights, X.shape[1])
    found = _by_products(X, made, taken, weights, aweights)
    if found is None:
        # Rows of which most is stored may be far from the fill value, beside how far they spread.
        check_memory("the rows", float(made.itemsize) * X.size)
        how: Any = {"fweights": fweights, "aweights": aweights, "dtype": made}
        with np.errstate(all="ignore"):
            return np.cov(X.to_numpy(), ddof=taken, **how)
    return found.squeeze()


def _is_whole(x: Any) -> bool:
    return isinstance(x, Real) and float(x).is_integer()


def _variables(x: Any, rowvar: bool) -> Tensor:
    """A matrix with a variable in each row."""
    tensor = asarray(x)
    if tensor.ndim < 2:
        return tensor.reshape(1, tensor.size)
    return tensor if rowvar else tensor.T


def _weights(fweights: Any, aweights: Any, count: int) -> Array | None:
    """How much each observation counts, if not all alike; NumPy says what it refuses."""
    if fweights is None and aweights is None:
        return None
    for given in (fweights, aweights):
        if given is not None and np.shape(given) != (count,):
            raise refused(
                f"weights have the shape {np.shape(given)}, observations are {count}",
                "give one weight for each observation",
            )
    np.cov(np.zeros((1, count)), fweights=fweights, aweights=aweights, ddof=0)
    both = [np.asarray(w, dtype=np.float64) for w in (fweights, aweights) if w is not None]
    made: Array = both[0] if len(both) == 1 else both[0] * both[1]
    return made


def _by_products(
    X: Tensor, made: np.dtype[Any], taken: int, weights: Array | None, aweights: Any
) -> Array | None:
    """Covariances by the products of what differs from the fill value, less those of means; none where
    both might be nearly the same."""
    if not np.isfinite(X.fill_value):
        return None
    stored = compact(X.canonical())
    values = stored.values.astype(made)
    values = values - made.type(X.fill_value) if X.fill_value else values
    apart = stored._with_values(values, 0)
    pattern = stored._with_values(np.ones(len(values)), 0)
    total = float(X.shape[1]) if weights is None else weights.sum()
    if (2 * _weighted_sums(pattern, weights) > total).any():
        return None
    mean = _weighted_sums(apart, weights) / total
    weighted = apart if weights is None else apart * weights
    products = _array(weighted @ apart.conj().T)
    divisor = total - taken
    if aweights is not None and weights is not None and taken:
        divisor = total - taken * (weights * np.asarray(aweights, np.float64)).sum() / total
    with np.errstate(all="ignore"):
        found = products - total * np.outer(mean, mean.conj())
        found = found / np.float64(max(divisor, 0.0))
    return found.astype(made) if np.isfinite(found).all() or not divisor > 0 else None


def _weighted_sums(X: Tensor, weights: Array | None) -> Array:
    """The sums of rows, of whose elements each counts so much."""
    return _array(X.sum(axis=1) if weights is None else X @ weights.astype(X.dtype))


def _array(x: Any) -> Array:
    return x.to_numpy() if isinstance(x, Tensor) else np.asarray(x)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """The correlations of rows, or of columns."""
    found = cov(x, y, rowvar, dtype=dtype)
    with np.errstate(all="ignore"):
        if not found.ndim:
            return found / found
        spread = np.sqrt(np.diag(found).real)
        found = found / spread[:, None] / spread[None, :]
        if found.dtype.kind == "c":
            return np.clip(found.real, -1, 1) + 1j * np.clip(found.imag, -1, 1)
        return np.clip(found, -1, 1)
