"""What calls of kernels take, ``with tamis.profile() as found: ..``, and where the time of one program goes,
``tamis.profile("y(i) = A(i,j) * x(j)", A=A, x=x)``.

y(i) = A(i,j) * x(j)   3 calls, tier jit, compiled in 2.1 ms, ran in 0.02 ms, 1.2 kB
"""

from __future__ import annotations

from html import escape
from threading import Lock
from typing import Any, NamedTuple, overload

from . import _native
from ._guard import guarded
from ._operands import refused
from ._programs import Kernel, compile

#: The profiles that calls are noted in, of all threads.
_open: list[Profile] = []
_lock = Lock()


class Call(NamedTuple):
    """A call of a kernel."""

    #: The program in index notation.
    expression: str
    #: What ran: ``"jit"``, machine code made in process, ``"c"``, the C compiler's, or ``"interp"``.
    tier: str | None
    #: The seconds until operands were borrowed and the program was compiled for them, or found.
    compile_seconds: float
    #: The seconds of its run.
    run_seconds: float
    #: The bytes of operands and results.
    bytes: int


class Profile:
    """The calls of kernels inside of a ``with`` block, in the order in which they ended."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def __enter__(self) -> Profile:
        with _lock:
            if not _open:
                Kernel.__call__ = _called  # type: ignore[method-assign,assignment]
                Kernel.all = _all_called  # type: ignore[method-assign,assignment]
            _open.append(self)
        return self

    def __exit__(self, *raised: Any) -> None:
        with _lock:
            _open.remove(self)
            if not _open:
                # Calls are the native module's again, and take what they took.
                del Kernel.__call__, Kernel.all

    @property
    def seconds(self) -> float:
        """What all calls took."""
        return sum(call.compile_seconds + call.run_seconds for call in self.calls)

    def rows(self) -> list[tuple[str, ...]]:
        """A row for each program and tier, those that took longest first: the program, its calls, the tier,
        the milliseconds of compilation and of runs, and the most bytes of a call."""
        groups: dict[tuple[str, str], list[Call]] = {}
        for call in self.calls:
            groups.setdefault((call.expression, call.tier or "none"), []).append(call)
        made = []
        for (expression, tier), calls in groups.items():
            before, ran = sum(c.compile_seconds for c in calls), sum(c.run_seconds for c in calls)
            largest = max(c.bytes for c in calls)
            row = (expression, str(len(calls)), tier, f"{1e3 * before:.3f}", f"{1e3 * ran:.3f}")
            made.append((before + ran, (*row, str(largest))))
        return [row for _, row in sorted(made, key=lambda pair: -pair[0])]

    def __repr__(self) -> str:
        table = [_TITLES, *self.rows()]
        widths = [max(len(row[k]) for row in table) for k in range(len(_TITLES))]
        return "\n".join(
            "  ".join([row[0].ljust(widths[0]), *(x.rjust(n) for x, n in zip(row[1:], widths[1:]))])
            for row in table
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{title}</th>" for title in _TITLES)
        rows = ["".join(f"<td>{escape(x)}</td>" for x in row) for row in self.rows()]
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


_TITLES = ("kernel", "calls", "tier", "compile ms", "run ms", "bytes")


class ProgramProfile:
    """Where the time of a program goes: ``print`` it, or have a notebook show it."""

    #: The last result.
    result: Any
    #: The seconds of each stage of compilation, by its name.
    stages: dict[str, float]
    #: The seconds of each run.
    run_seconds: list[float]
    #: What ran each: ``"jit"``, machine code made in process, or ``"c"``, the C compiler's.
    ran_on: list[str]
    #: How many threads there were.
    threads: int
    #: The bytes that memory moves in a second, measured.
    bandwidth: float
    #: Whether iterations, loads and stores were counted; else iterations are estimates.
    counted: bool
    #: A dictionary for each kernel and, under ``"loops"``, each of its loops, with the keys that ``--json`` has.
    kernels: list[dict[str, Any]]

    def __init__(self, result: Any, facts: dict[str, Any], text: str) -> None:
        self.result = result
        for name, value in facts.items():
            setattr(self, name, value)
        self._text = text

    def __repr__(self) -> str:
        return self._text.rstrip()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


@overload
def profile() -> Profile: ...
@overload
def profile(
    program: str | Kernel, /, *, runs: int = 3, operands: dict[str, Any] | None = None, **named: Any
) -> ProgramProfile: ...
@guarded
def profile(
    program: str | Kernel | None = None,
    /,
    *,
    runs: int = 3,
    operands: dict[str, Any] | None = None,
    **named: Any,
) -> Profile | ProgramProfile:
    """What calls of kernels take, of any thread, while a ``with`` block runs: the kernel, the tier that ran it,
    the time until it was compiled, or found, and that of its run, and bytes. Functions that NumPy computes of
    stored values alone, such as ``A * 2``, are no calls of kernels.

    >>> import numpy as np, tamis
    >>> A = tamis.asarray(np.eye(3), format="csr")
    >>> with tamis.profile() as found:
    ...     y = A @ np.ones(3)
    >>> [(call.expression, call.bytes) for call in found.calls]
    [('out(i0) = sum(k1, t0(i0,k1) * t1(k1))', 100)]

    Of a program in index notation, or a kernel, and its operands by name: where the time of so many ``runs`` goes, by
    stages of compilation, kernels and loops, with iterations (estimated beside counted), loads, stores, bytes, and the
    share of what memory moves. Printed, it is a table. Operands named ``runs`` or ``operands`` go into ``operands``.

    >>> found = tamis.profile("y(i) = A(i,j) * x(j)", A=A, x=np.ones(3))
    >>> [(row["variable"], row["iterations"], row["loads"]) for row in found.kernels[0]["loops"]]
    [('i', 3, 0), ('j', 3, 15)]
    >>> found.result
    array([1., 1., 1.])
    """
    named = {**(operands or {}), **named}
    if program is None:
        if named:
            raise refused("there is no program for these operands", "give the program first")
        return Profile()
    if not isinstance(runs, int) or not 0 < runs < 2**31:
        raise refused(f"a program does not run {runs!r} times", "run it once, or more often")
    kernel = program if isinstance(program, Kernel) else compile(program)
    return ProgramProfile(*_native.profiled(kernel, runs, **named))


def _called(kernel: Kernel, /, *arguments: Any, **named: Any) -> Any:
    return _traced(kernel, arguments, named)[-1][1]


def _all_called(kernel: Kernel, /, *arguments: Any, **named: Any) -> dict[str, Any]:
    return dict(_traced(kernel, arguments, named))


def _traced(kernel: Kernel, arguments: Any, named: Any) -> list[tuple[str, Any]]:
    results, tier, before, ran = kernel.traced(*arguments, **named)
    held = [*arguments, *named.values(), *(result for _, result in results)]
    call = Call(kernel.expression, tier, before, ran, sum(map(_bytes, held)))
    for open in list(_open):
        open.calls.append(call)
    return results


def _bytes(x: Any) -> int:
    """The bytes of an operand's arrays."""
    if isinstance(x, _native.Tensor) or not hasattr(x, "tocoo"):
        return int(getattr(x, "nbytes", 8))
    return sum(array.nbytes for array in vars(x).values() if hasattr(array, "nbytes"))
