"""What a program is compiled to: ``tamis.explain``, as text and as a page of notebooks.

explain("y(i) = A(i,j) * x(j)", A=A, x=x)    its loops, plan and code for operands stored like these
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from ._guard import guarded
from ._html import drawn
from ._programs import OPTIONS, Kernel, compile
from ._tensor import Tensor, asarray

#: The stages that are shown, with what they are called.
_SHOWN = {"notation": "index notation", "cin": "loops", "plan": "plan", "c": "code"}


class Explanation:
    """A program and what it is compiled to: ``print`` it, or have a notebook show it."""

    def __init__(self, kernel: Kernel, operands: dict[str, Tensor]) -> None:
        self.kernel = kernel
        self._operands = operands

    def stage(self, name: str) -> str:
        """A stage of compilation as text: ``notation cin schedule graph lattice plan comm ir c cuda asm``."""
        return self.kernel.explain(name)

    def __repr__(self) -> str:
        return "\n\n".join(
            f"{title}\n\n{self.stage(name).strip()}" for name, title in list(_SHOWN.items())[:3]
        )

    def _repr_html_(self) -> str:
        parts = []
        for name, title in _SHOWN.items():
            is_open = " open" if name == "cin" else ""
            text = escape(self.stage(name).strip())
            parts.append(f"<details{is_open}><summary>{title}</summary><pre>{text}</pre></details>")
        for name, tensor in self._operands.items():
            parts.append(f"<details><summary>{escape(name)}</summary>{drawn(tensor)}</details>")
        return "".join(parts)


@guarded
def explain(program: str | Kernel, /, **operands: Any) -> Explanation:
    """What a program in index notation, or a kernel, is compiled to: loops, plan and code. Operands are arrays
    or tensors by name, stored like those that will come, and are not computed with; what is not given is dense,
    of a kernel as in its last call. Notebooks show it with the patterns of operands drawn.

    >>> import numpy as np, tamis
    >>> A = tamis.asarray(np.eye(3), format="csr")
    >>> print(tamis.explain("y(i) = A(i,j) * x(j)", A=A, x=np.ones(3)).stage("cin").strip())
    forall(i, where(y(i) = s, forall(j, s += A(i,j) * x(j))))
    """
    kernel = program if isinstance(program, Kernel) else compile(program)
    tensors = {name: asarray(x) for name, x in operands.items()}
    if tensors:
        kernel = _for_operands(kernel, tensors)
    return Explanation(kernel, {name: x for name, x in tensors.items() if x.ndim})


def _for_operands(kernel: Kernel, tensors: dict[str, Tensor]) -> Kernel:
    """A kernel of the same program and options for operands like these, where it converts them to no format."""
    expression, *given, formats = kernel.arguments
    options = dict(zip(OPTIONS, given))
    known = options["format"] if isinstance(options["format"], Mapping) else {}
    stored = {name: x.storage for name, x in tensors.items() if name not in known}
    options["shapes"] = {**(options["shapes"] or {}), **{n: x.shape for n, x in tensors.items()}}
    return compile(expression, **options, **{**stored, **formats})
