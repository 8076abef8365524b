"""The exceptions of Tamis: each has the code of its diagnostic, and as text the whole of it."""

import sys
import warnings
from types import FrameType

_PACKAGE = __name__.partition(".")[0]


class TamisError(Exception):
    """What Tamis refuses or fails at.

    ``str(error)`` is the diagnostic: the code, the reason, the location with a caret where there is
    one, and the way out. ``error.code`` is the code alone, such as ``"dimension-mismatch"``.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.code, str(self))

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class TamisValueError(TamisError, ValueError):
    """A wrong expression, format, schedule, shape or array."""


class TamisTypeError(TamisError, TypeError):
    """A type that is not supported, or a value that does not fit its type."""


class TamisIndexError(TamisError, IndexError):
    """A coordinate outside of a tensor."""


class TamisAxisError(TamisValueError, TamisIndexError):
    """An axis that a tensor does not have, or one that is named twice."""


class TamisMemoryError(TamisError, MemoryError):
    """An array that does not fit in memory, or beyond the limit."""


class TamisOverflowError(TamisError, OverflowError):
    """A result that does not fit its type of integers, or positions beyond theirs."""


class TamisRuntimeError(TamisError, RuntimeError):
    """A mistake of Tamis itself, or of the system's C compiler."""


class TamisFileError(TamisError, OSError):
    """A file that cannot be read or written."""


class TamisFileNotFoundError(TamisFileError, FileNotFoundError):
    """A file that does not exist."""


class PerformanceWarning(UserWarning):
    """A program that is going to be slow, or a result that is going to be large.

    Its text is a diagnostic: what happens, why, and how to write the program so that it does not.
    ``warnings.simplefilter("ignore", tamis.PerformanceWarning)`` silences it.
    """


def warn(text: str) -> None:
    """Warns the caller of the package of what it is about to do."""
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, PerformanceWarning, stacklevel=level)
