"""Calls whose wrong arguments Python or NumPy refuse somewhere inside: the refusal names the call.

T.item("a")   error[type-mismatch]: Tensor.item does not take ('a')
"""

from __future__ import annotations

import re
import reprlib
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ._errors import (
    TamisError,
    TamisIndexError,
    TamisMemoryError,
    TamisOverflowError,
    TamisTypeError,
    TamisValueError,
)

P = ParamSpec("P")
R = TypeVar("R")

#: What Python and NumPy raise for arguments, with the code and the class that Tamis has for it.
_CLASSES: tuple[tuple[type[Exception], str, type[TamisError]], ...] = (
    (OverflowError, "integer-overflow", TamisOverflowError),
    (MemoryError, "out-of-memory", TamisMemoryError),
    (IndexError, "invalid-option", TamisIndexError),
    (TypeError, "type-mismatch", TamisTypeError),
    (NotImplementedError, "type-mismatch", TamisTypeError),
    (AttributeError, "type-mismatch", TamisTypeError),
    (ValueError, "invalid-option", TamisValueError),
    (LookupError, "invalid-option", TamisValueError),
    (ArithmeticError, "invalid-option", TamisValueError),
)
FOREIGN = tuple(known for known, _, _ in _CLASSES)


def guarded(function: Callable[P, R]) -> Callable[P, R]:
    """A function of which every refusal is a ``TamisError``."""

    @wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        try:
            return function(*arguments, **options)
        except TamisError:
            raise
        except FOREIGN as error:
            owner, _, name = function.__qualname__.rpartition(".")
            own = 1 if owner else 0
            public = _public(function, owner, name)
            told = refusal(public, error, arguments[own:], options)
            raise told from error

    return call


#: Where users find functions, the first before the others.
_MODULES = ("tamis", "tamis.array_api", "tamis.dask", "tamis.mpi")


def _public(function: Callable[..., Any], owner: str, name: str) -> str:
    """The name under which a user finds a function, or a method of a tensor."""
    if owner in ("Methods", "Operators", "ScipyMethods"):
        return f"tamis.Tensor.{name}"
    for module in _MODULES:
        found = getattr(sys.modules.get(module), name, None)
        if getattr(found, "__wrapped__", None) is function:
            return f"{module}.{name}"
    return f"{owner or function.__module__}.{name}"


def guard(owner: type) -> None:
    """Guards the public methods of a class, and its keys."""
    for name, method in list(vars(owner).items()):
        if callable(method) and (name[0] != "_" or name == "__getitem__"):
            setattr(owner, name, guarded(method))


def refusal(name: str, error: Exception, arguments: Any, options: Any) -> TamisError:
    """The refusal of a call for a foreign exception. What an exception says of the inside of the
    package is no help to the caller, and stays behind it."""
    code, made = next((code, made) for known, code, made in _CLASSES if isinstance(error, known))
    shown = [*map(_shown, arguments), *(f"{key}={_shown(x)}" for key, x in options.items())]
    reason = f"{name} does not take ({', '.join(shown)})"
    way_out = f"help({name}) says what it takes"
    if isinstance(error, (MemoryError, OverflowError)):
        reason = f"{name}: {error}"
        way_out = "use astype first, or smaller numbers"
        if isinstance(error, MemoryError):
            way_out = "use a smaller array, or parts of it"
    elif _is_of_signature(error):
        # Users know no classes that tensors are made of.
        reason = re.sub(r"^[\w.<>]+\(\)", lambda _: f"{name}()", str(error))
    return made(code, f"error[{code}]: {reason}\n  = help: {way_out}")


def _is_of_signature(error: Exception) -> bool:
    """Whether Python refused the call itself, before anything of it was run."""
    trace = error.__traceback__
    return isinstance(error, TypeError) and trace is not None and trace.tb_next is None


def _shown(x: Any) -> str:
    """An argument in a few words."""
    try:
        if isinstance(x, np.ndarray):
            return f"array of {x.dtype} and shape {x.shape}"
        if hasattr(x, "shape") and hasattr(x, "dtype"):
            return f"{type(x).__name__} of {x.dtype} and shape {x.shape}"
        # Long lists are shown in part, without making the text of all of them.
        text = " ".join(reprlib.repr(x).split())
    except Exception:
        return type(x).__name__
    return text if len(text) < 60 else f"{text[:50]} .."
