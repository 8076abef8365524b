"""What a function of operands came to, kept for the next operands of these kinds: deciding takes longer
than computing what is small.

A @ x   csr f64 of 3 x 3 and an array of 3    the compiled kernel
A * 2   csr f64 of 3 x 3 and the number 2     NumPy's function, of the values of A
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _native
from ._programs import Kernel, keep

#: What computes a function, by its name and the kinds of its operands.
_plans: dict[Any, Callable[..., Any]] = {}


def key_of(name: str, operands: Sequence[Any]) -> Any:
    """The key of a function of such operands: all that decides how it is computed; none where values
    of the operands may decide."""
    kinds = []
    for x in operands:
        of = type(x)
        if isinstance(x, _native.Tensor):
            kind: Any = x._kind  # type: ignore[attr-defined]
        elif of is np.ndarray:
            # An array of one element may be taken for a number.
            kind = (x.shape, x.dtype) if x.size > 1 else None
        else:
            # Zeros differ in their signs, which keys do not tell.
            kind = (of, x) if (of is float or of is int) and x else None
        if kind is None:
            return None
        kinds.append(kind)
    return name, len(operands) > 1 and operands[0] is operands[1], *kinds


def plan_of(key: Any) -> Callable[..., Any] | None:
    """What computes a function of operands with this key, if that is known."""
    return _plans.get(key)


def keep_plan(key: Any, plan: Callable[..., Any] | None) -> None:
    """Keeps what computes a function of operands with this key, if there is one."""
    if key is not None and plan is not None:
        keep(_plans, key, plan)


def by_kernel(
    kernel: Kernel, named: dict[str, Any], operands: Sequence[Any]
) -> Callable[..., Any] | None:
    """The call of a kernel with the operands of a function in its own order; none if it is of others,
    which were made of them."""
    found = [[k for k, x in enumerate(operands) if x is named[name]] for name in kernel.operands]
    if not all(found):
        return None
    order = [places[0] for places in found]
    if order == list(range(len(operands))):
        return kernel
    return lambda *operands: kernel(*[operands[k] for k in order])
