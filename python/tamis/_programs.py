"""Index notation from Python: ``evaluate`` and ``compile``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from . import _native
from ._guard import guarded
from ._operands import number_text, refused, sizes_of, type_name

#: The most programs that ``evaluate`` and ``einsum`` keep compiled.
KEPT = 512

#: The options of ``compile``, in the order of ``Kernel.arguments``.
OPTIONS = ("format", "dtype", "dims", "shapes", "schedule", "backend", "fill_value", "strict")

_kernels: dict[Any, Kernel] = {}
_lock = Lock()


class Kernel(_native.Kernel):
    """A program in index notation, compiled for operands of certain formats when they come first.

    ``kernel(A=A, x=x)`` computes the last result, ``kernel.all(A=A, x=x)`` all results by name.
    Operands may also be given by position, in the order of ``kernel.operands``.
    """

    #: What ``compile`` was called with.
    arguments: tuple[Any, ...]

    def explain(self, stage: str) -> str:
        """A stage of compilation as text: ``notation cin schedule graph lattice plan comm ir c cuda asm``.
        Operands are as they were in the last call; without one, as ``compile`` said, else dense."""
        check_text("stage", stage)
        return super().explain(stage)

    def __reduce__(self) -> tuple[Any, ...]:
        return _compiled, self.arguments

    def __repr__(self) -> str:
        return f"<tamis.Kernel {self.expression!r}>"


@guarded
def compile(
    expression: str,
    *,
    format: str | Mapping[str, str] | None = None,
    dtype: Any = None,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    schedule: str = "",
    backend: str = "auto",
    fill_value: Any = None,
    strict: bool = False,
    **formats: str,
) -> Kernel:
    """A kernel for ``expression``.

    Keywords other than these give formats by name: ``A="csr"`` has every operand ``A`` converted
    to ``csr`` where it is not; results are stored in theirs. ``format`` is that of the last
    result, or formats by name; ``dtype`` the type of results whose format has none; ``dims`` has
    sizes of index variables and ``shapes`` those of results that operands do not fix. With
    ``strict`` zeros that are not stored are divided as IEEE 754 says, at every coordinate: 0 / 0 is
    NaN there, too, where it is 0 otherwise.

    Wrong expressions, formats and schedules raise ``ValueError``; what depends on operands is
    refused when these come.
    """
    for name, value in (("expression", expression), ("schedule", schedule), ("backend", backend)):
        check_text(name, value)
    for name in (*(dims or ()), *(shapes or ())):
        check_text("name of dims and shapes", name)
    options = (format, dtype, dims, shapes, schedule, backend, fill_value, strict)
    arguments = (expression, *options, formats)
    if isinstance(format, Mapping):
        formats = {**format, **formats}
        format = None
    for name, value in formats.items():
        way_out = f"write {name}='csr', say, and give {name} itself to the kernel, or to evaluate"
        check_text(f"format of {name}", value, way_out)
    kernel = Kernel(
        expression,
        formats,
        None if dtype is None else type_name(dtype),
        dict(dims or {}),
        {name: sizes_of(shape) for name, shape in (shapes or {}).items()},
        schedule,
        backend,
        result_format(expression, format, fill_value),
        None,
        bool(strict),
    )
    if schedule:
        kernel.explain("schedule")
    kernel.arguments = arguments
    return kernel


def _compiled(*arguments: Any) -> Kernel:
    """The kernel of what ``compile`` was called with."""
    return compile(arguments[0], **dict(zip(OPTIONS, arguments[1:-1])), **arguments[-1])


@guarded
def evaluate(
    expression: str,
    *,
    format: str | Mapping[str, str] | None = None,
    dtype: Any = None,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    schedule: str = "",
    backend: str = "auto",
    fill_value: Any = None,
    strict: bool = False,
    operands: Mapping[str, Any] | None = None,
    **named: Any,
) -> Any:
    """Computes the last result of ``expression``, whose operands are keywords:
    ``evaluate("y(i) = A(i,j) * x(j)", A=A, x=x)``. Those named like an option go into
    ``operands``.

    A result that is stored in full is a NumPy array; a sparse one is SciPy's where all sparse
    operands are, else a ``tamis.Tensor``. Options are those of ``compile``. The program is
    compiled when operands stored like these come for the first time.
    """
    if operands:
        named = {**operands, **named}
    options = (format, dtype, dims, shapes, schedule, backend, fill_value, strict)
    check_text("expression", expression)
    if options == (None, None, None, None, "", "auto", None, False):
        key: Any = expression
    else:
        key = (expression, *(repr(option) for option in options))
    kernel = _kernels.get(key)
    if kernel is None:
        kernel = compile(
            expression,
            format=format,
            dtype=dtype,
            dims=dims,
            shapes=shapes,
            schedule=schedule,
            backend=backend,
            fill_value=fill_value,
            strict=strict,
        )
        keep(_kernels, key, kernel)
    return kernel(**named)


def check_text(name: str, value: Any, way_out: str = "write it as a str") -> None:
    """Refuses what is no text where text is asked for."""
    if not isinstance(value, str):
        raise refused(f"the {name} is text, not {type(value).__name__}", way_out)


def keep(kept: dict[Any, Any], key: Any, value: Any) -> None:
    """Keeps a value, and no more than so many: those that came first go."""
    with _lock:
        while len(kept) >= KEPT:
            kept.pop(next(iter(kept)))
        kept[key] = value


def result_format(expression: str, format: str | None, fill_value: Any) -> str | None:
    """The format of the last result, with its fill value."""
    if format is not None:
        check_text("format", format)
    if fill_value is None:
        return format
    braces = f"fill: {number_text(fill_value)}"
    if format is None:
        order = last_order(expression)
        format = {0: "dense", 1: "sparse", 2: "csr"}.get(order, "csf")
    if format.rstrip().endswith("}"):
        return f"{format.rstrip()[:-1]}, {braces}}}"
    return f"{format}{{{braces}}}"


def last_order(expression: str) -> int:
    """The number of axes of the last result."""
    statement = expression.rstrip("; \n").rpartition(";")[2]
    result = statement.partition("=")[0]
    inside = result.partition("(")[2].rpartition(")")[0]
    return inside.count(",") + 1 if inside.strip() else 0
