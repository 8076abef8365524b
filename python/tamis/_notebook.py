"""The cell magic ``%%tamis`` of IPython and Jupyter: ``%load_ext tamis``, then

%%tamis C=csr
C(i,j) = A(i,k) * B(k,j)
y(i) = C(i,j) * x(j)

computes C and y of the variables A, B and x.
"""

from __future__ import annotations

import shlex
from importlib import import_module
from typing import Any

from ._errors import TamisValueError
from ._explained import explain
from ._profile import profile
from ._programs import compile


def load_ipython_extension(shell: Any) -> None:
    """Registers ``%%tamis`` and ``%tamis``: what ``%load_ext tamis`` calls."""
    shell.register_magic_function(_Magic(shell), "line_cell", "tamis")


class _Magic:
    """The magic of a shell, whose variables are operands and results."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.__doc__ = (
            "Computes statements in index notation of the variables that they read, and assigns the results.\n\n"
            "Words of the line are formats of results and operands, such as C=csr; --explain shows loops, plan\n"
            "and code, --profile what the call took. %tamis STATEMENT computes one statement."
        )

    def __call__(self, line: str, cell: str | None = None) -> Any:
        words = shlex.split(line) if cell is not None else []
        flags = {word for word in words if word.startswith("--")}
        unknown = flags - {"--explain", "--profile"} or {w for w in words if "=" not in w} - flags
        if unknown:
            reason = f"%%tamis does not know {' '.join(sorted(unknown))}"
            way_out = "write formats by name, such as C=csr, --explain or --profile"
            raise _refused("invalid-option", reason, way_out)
        formats = dict(word.split("=", 1) for word in words if word not in flags)
        kernel = compile(line if cell is None else cell, format=formats)
        operands = {name: self._variable(name) for name in kernel.operands}
        if "--explain" in flags:
            self._show(explain(kernel, **operands))
        with profile() as found:
            results = kernel.all(**operands)
        if "--profile" in flags:
            self._show(found)
        self.shell.push(results)
        return list(results.values())[-1]

    def _variable(self, name: str) -> Any:
        try:
            return self.shell.user_ns[name]
        except KeyError:
            reason = f"there is no variable {name}"
            raise _refused("unknown-tensor", reason, f"assign it: {name} = tamis.asarray(..)") from None

    def _show(self, x: Any) -> None:
        import_module("IPython.display").display(x)


def _refused(code: str, reason: str, way_out: str) -> TamisValueError:
    return TamisValueError(code, f"error[{code}]: {reason}\n  = help: {way_out}")
