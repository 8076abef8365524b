"""Programs in index notation on several processes, by the communicators of mpi4py.

Every rank calls the same function with the same operands, and has the result afterwards:

    from mpi4py import MPI
    import tamis.mpi

    y = tamis.mpi.run("y(i) = A(i,j) * x(j)", comm=MPI.COMM_WORLD, A=A, x=x)

started by ``mpiexec -n 4 python program.py``. Results have the bits of ``tamis.evaluate``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import _native
from ._errors import TamisError, TamisTypeError
from ._guard import guarded
from ._programs import Kernel, compile, keep

__all__ = ["run"]

#: The programs that this process ran on ranks.
_kernels: dict[str, Kernel] = {}


@guarded
def run(
    expression: str,
    *,
    comm: Any = None,
    format: str | Mapping[str, str] | None = None,
    dtype: Any = None,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    schedule: str = "",
    backend: str = "auto",
    fill_value: Any = None,
    strict: bool = False,
    grid: str | None = None,
    operands: Mapping[str, Any] | None = None,
    **named: Any,
) -> Any:
    """The last result of ``expression``, computed by all ranks of ``comm`` together, each a part of
    it: the whole of it on every rank.

    ``comm`` is a communicator of mpi4py, by default ``MPI.COMM_WORLD``. Each rank gives the whole
    of the same operands. An error of one rank is raised on all of them. Options are those of
    ``tamis.evaluate``; what stands behind the format of an operand and ``@`` says where it lies,
    ``format={"A": "csr @ rows(x)"}``, ``nz(x)``, ``blocks(i: x, j: y)`` or ``replicated``, over a grid
    of ranks whose axes have names: ``grid="x=2,y=2"`` is refused where there are not as many.
    """
    if comm is None:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    handle = getattr(comm, "handle", None)
    if not isinstance(handle, int):
        text = f"error[type-mismatch]: a {type(comm).__name__} is no communicator"
        help = "give one of mpi4py (4.0 or later), as MPI.COMM_WORLD"
        raise TamisTypeError("type-mismatch", f"{text}\n  = help: {help}")
    formats = dict(format) if isinstance(format, Mapping) else {}
    options = (format, dtype, dims, shapes, schedule, backend, fill_value, strict)
    key = repr((expression, options))
    kernel = _kernels.get(key)
    if kernel is None:
        try:
            bare = {
                name: _native.bare_format(text) if isinstance(text, str) else text
                for name, text in formats.items()
            }
            kernel = compile(
                expression,
                format=bare or format,
                dtype=dtype,
                dims=dims,
                shapes=shapes,
                schedule=schedule,
                backend=backend,
                fill_value=fill_value,
                strict=strict,
            )
        except TamisError as error:
            # Others may have been given another program.
            _native.fail_on_ranks(handle, str(error))
            raise
        keep(_kernels, key, kernel)
    given = {**(operands or {}), **named}
    return _native.run_on_ranks(kernel, handle, formats, grid, **given)
