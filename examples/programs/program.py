"""What a program is: operands, and two functions that compute the same from them."""

from __future__ import annotations

from typing import Any

#: All programs, by name, in the order of their files.
PROGRAMS: dict[str, Any] = {}


def program(made: Any) -> Any:
    """Registers a class of three functions: ``inputs`` takes the data and gives operands by name,
    ``tamis`` and ``scipy`` take these. The first line of its text says what it computes."""
    PROGRAMS[made.__name__] = made
    return made
