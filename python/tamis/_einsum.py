"""Einstein summation, complete: any operands, any labels, any semiring."""

from __future__ import annotations

import operator
from typing import Any

from ._errors import TamisTypeError, TamisValueError
from ._guard import guarded
from ._operands import plain, type_name
from ._programs import Kernel, keep, result_format

#: Per semiring how products are added up, how factors are multiplied, and what is not stored.
SEMIRINGS = {
    "plus_times": ("sum", "*", None),
    "min_plus": ("min", "+", "inf"),
    "max_plus": ("max", "+", "-inf"),
    "max_times": ("max", "*", None),
    "min_max": ("min", "max", "inf"),
    "max_min": ("max", "min", "-inf"),
    "or_and": ("any", "and", None),
}

_kernels: dict[Any, Kernel] = {}
_by_shape: dict[Any, Kernel] = {}


@guarded
def einsum(
    subscripts: Any,
    *operands: Any,
    format: str | None = None,
    fill_value: Any = None,
    semiring: str | None = None,
    dtype: Any = None,
) -> Any:
    """Evaluates ``subscripts`` on the operands, as ``numpy.einsum`` does.

    ``"ij,jk"`` without an arrow has the labels that occur once, in alphabetical order, on its
    right side; ``...`` stands for axes that broadcast; a label that is repeated in one operand
    takes a diagonal; labels may also be lists of integers beside the operands. Axes of one
    element fit any size.

    ``format`` and ``fill_value`` are those of the result, ``dtype`` is its type. ``semiring`` is
    one of ``plus_times min_plus max_plus max_times min_max max_min or_and``; of the others than
    the first, what SciPy's arrays do not store is the semiring's zero: infinity for ``min_plus``.
    Booleans are added by ``or`` unless a semiring or ``dtype`` says otherwise, as in NumPy.

    Results are NumPy's or SciPy's like those of ``evaluate``.
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _interleaved((subscripts, *operands))
    try:
        shapes = tuple([operand.shape for operand in operands])
        is_logical = _is_logical(operands)
    except AttributeError:
        operands = tuple([_known(operand) for operand in operands])
        shapes = tuple([operand.shape for operand in operands])
        is_logical = _is_logical(operands)
    if semiring is None and dtype is None and is_logical:
        semiring = "or_and"
    key: Any = (subscripts, shapes, format, semiring, dtype, fill_value)
    try:
        kernel = _by_shape.get(key)
    except TypeError:
        # Options that are no keys, such as an array of no axes.
        kernel, key = None, repr(key)
    if kernel is None:
        kernel = _kernel(subscripts, shapes, format, fill_value, semiring, dtype)
        keep(_by_shape, key, kernel)
    return kernel(*operands)


def _known(operand: Any) -> Any:
    """An operand that tells its shape and its type."""
    return operand if hasattr(operand, "shape") and hasattr(operand, "dtype") else plain(operand)


def _is_logical(operands: tuple[Any, ...]) -> bool:
    for operand in operands:
        # As text, since NumPy takes its time to compare types.
        if operand.dtype.char != "?":
            return False
    return bool(operands)


def _kernel(
    subscripts: str,
    shapes: tuple[tuple[int, ...], ...],
    format: str | None,
    fill_value: Any,
    semiring: str | None,
    dtype: Any,
) -> Kernel:
    text = expression(subscripts, shapes, semiring or "plus_times")
    absent = SEMIRINGS[semiring or "plus_times"][2]
    result = result_format(text, format, fill_value)
    dtype_name = None if dtype is None else type_name(dtype)
    if dtype_name is None and semiring == "or_and":
        dtype_name = "bool"
    key = (text, result, dtype_name, absent)
    kernel = _kernels.get(key)
    if kernel is None:
        kernel = Kernel(text, {}, dtype_name, {}, {}, "", "auto", result, absent)
        keep(_kernels, key, kernel)
    return kernel


def expression(subscripts: str, shapes: tuple[tuple[int, ...], ...], semiring: str) -> str:
    """The statement in index notation for subscripts and operands ``op0``, ``op1``, ..

    >>> expression("ij,j->i", ((3, 4), (4,)), "plus_times")
    'out(i) = op0(i,j) * op1(j)'
    >>> expression("ik,kj", ((2, 3), (3, 2)), "min_plus")
    'out(i,j) = min(k, op0(i,k) + op1(k,j))'
    """
    if not isinstance(semiring, str) or semiring not in SEMIRINGS:
        raise _refused(f"there is no semiring named {semiring}", f"use {', '.join(SEMIRINGS)}")
    inputs, output = _labels(subscripts, shapes)
    reduce, multiply, _ = SEMIRINGS[semiring]
    sizes: dict[str, int] = {}
    for labels, shape in zip(inputs, shapes):
        for label, size in zip(labels, shape):
            # No element at all beats one that fits any size.
            known = sizes.get(label, 1)
            sizes[label] = 0 if 0 in (known, size) else max(known, size)
    factors, bound = [], []
    for k, (labels, shape) in enumerate(zip(inputs, shapes)):
        names = []
        for axis, (label, size) in enumerate(zip(labels, shape)):
            if size == 1 and sizes[label] != 1:
                # One element fits any size: it is the only one of a sum of its own.
                names.append(f"one{k}_{axis}")
                bound.append(names[-1])
            else:
                names.append(label)
        factors.append(f"op{k}({','.join(names)})" if names else f"op{k}")
    for label in sizes:
        if label not in output:
            bound.append(label)
    result = f"out({','.join(output)})" if output else "out"
    return f"{result} = {_combined(factors, bound, reduce, multiply)}"


def _combined(factors: list[str], bound: list[str], reduce: str, multiply: str) -> str:
    if len(factors) == 1 or not multiply.isalpha():
        product = f" {multiply} ".join(factors)
    elif multiply == "and":
        product = factors[0]
        for factor in factors[1:]:
            product = f"and({product}, {factor})"
    else:
        product = factors[0]
        for factor in factors[1:]:
            product = f"{multiply}({product}, {factor})"
    if reduce == "sum":
        # Sums of products are implicit.
        return product
    for label in reversed(bound):
        product = f"{reduce}({label}, {product})"
    return product


def _labels(
    subscripts: str, shapes: tuple[tuple[int, ...], ...]
) -> tuple[list[list[str]], list[str]]:
    """The labels of each operand, and of the result."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise _refused(
            f"{subscripts!r} has {len(terms)} terms for {len(shapes)} operands",
            "write one term per operand, separated by commas",
        )
    inputs = []
    longest = 0
    for k, (term, shape) in enumerate(zip(terms, shapes)):
        before, dots, after = term.partition("...")
        rest = len(shape) - len(before) - len(after)
        if rest < 0 or (rest and not dots):
            raise _refused(
                f"operand {k} has {len(shape)} axes, its term {term!r} has "
                f"{len(before) + len(after)} labels",
                "write one label per axis, or ... for those that broadcast",
            )
        _check(before + after, subscripts)
        longest = max(longest, rest)
        inputs.append([*before, *(f"dim{rest - n}" for n in range(rest)), *after])
    shared = [f"dim{longest - n}" for n in range(longest)]
    known = {label for labels in inputs for label in labels}
    if not arrow:
        counts = left.replace(".", "").replace(",", "")
        output = [*shared, *sorted(c for c in set(counts) if counts.count(c) == 1)]
        return inputs, output
    before, dots, after = right.partition("...")
    if shared and not dots:
        raise _refused(
            f"the result of {subscripts!r} leaves out the axes that ... stands for",
            "write -> and ... with its labels; sum over axes that have labels",
        )
    _check(before + after, subscripts)
    output = [*before, *(shared if dots else []), *after]
    for label in output:
        if label not in known:
            raise _refused(
                f"the label {label!r} of the result is in no operand of {subscripts!r}",
                "use labels of the operands",
            )
        if output.count(label) > 1:
            raise _refused(
                f"the result of {subscripts!r} has the label {label!r} twice",
                "write a result label once",
            )
    return inputs, output


def _check(labels: str, subscripts: str) -> None:
    for label in labels:
        if not (label.isascii() and label.isalpha()):
            raise _refused(
                f"{subscripts!r} has the character {label!r}",
                "labels are letters, operands are separated by commas",
            )


def _interleaved(arguments: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Subscripts and operands of ``einsum(A, [0, 1], x, [1], [0])``."""
    operands, terms = arguments[0::2], arguments[1::2]
    output = None
    if len(operands) > len(terms):
        *operands_list, output = operands
        operands = tuple(operands_list)
    if not operands or any(not isinstance(term, (list, tuple)) for term in terms):
        raise TamisTypeError(
            "type-mismatch",
            "error[type-mismatch]: einsum takes subscripts first, or operands each with a list\n"
            '  = help: write einsum("ij,j->i", A, x)',
        )
    text = ",".join(_term(term) for term in terms)
    return (text if output is None else f"{text}->{_term(output)}"), tuple(operands)


def _term(labels: Any) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    out = ""
    for label in labels:
        if label is Ellipsis:
            out += "..."
            continue
        try:
            number = operator.index(label)
        except TypeError:
            number = -1
        if not 0 <= number < len(letters):
            raise _refused(f"{label!r} is no label", f"use integers below {len(letters)}")
        out += letters[number]
    return out


def _refused(reason: str, way_out: str) -> TamisValueError:
    return TamisValueError("syntax", f"error[syntax]: {reason}\n  = help: {way_out}")
