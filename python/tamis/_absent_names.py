"""What SciPy's sparse arrays have under names that tensors lack, and what to write instead."""

from __future__ import annotations

import numpy as np

_ARRAYS = "tensor.levels and tensor.values hold the arrays; tensor.to_scipy() is SciPy's array of them"
_ORDER = "tensor.canonical() stores each coordinate once, in order"
_FIXED = "tensors never change: numpy.where(condition, value, tensor) makes another one"

#: The way out by name.
_INSTEAD = {
    **dict.fromkeys(("data", "indices", "indptr", "row", "col", "offsets", "coords"), _ARRAYS),
    **dict.fromkeys(("sum_duplicates", "sort_indices", "sorted_indices"), _ORDER),
    "blocksize": "tensors in blocks have one: asformat('bcsr(2,3)')",
    "compressed_axes": "tensor.format tells",
    "change_compressed_axes": "asformat('csr') and asformat('csc') store rows and columns",
    "enable_caching": "kernels are kept anyway",
    "maybe_densify": "call todense()",
    **dict.fromkeys(("eliminate_zeros", "prune"), "zeros that are stored count as zeros"),
    **dict.fromkeys(("setdiag", "resize"), _FIXED),
}
#: Functions that NumPy's arrays have no methods for, and SciPy's neither.
_FUNCTIONS = ("nansum", "nanmean", "median")


def missing(kind: str, name: str) -> str:
    """The text of the error for an attribute that a tensor lacks."""
    text = f"{kind!r} object has no attribute {name!r}"
    instead = _INSTEAD.get(name)
    function = vars(np).get(name)
    if instead is None and (name in _FUNCTIONS or isinstance(function, np.ufunc)):
        others = ", other" * (getattr(function, "nin", 1) - 1)
        instead = f"call numpy.{name}(tensor{others})"
    return f"{text}: {instead}" if instead else text
