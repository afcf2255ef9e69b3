"""Errors that say what was expected, what came, and how to mend it."""

from __future__ import annotations


class ShiftproofError(Exception):
    """Every error that shiftproof raises on purpose.

    Examples
    --------
    >>> import shiftproof as shp
    >>> try:
    ...     shp.RiskCurve(shp.LossCurves.steps([]))
    ... except shp.ShiftproofError as error:
    ...     print(error)
    losses: expected at least one value, got none; calibrate on at least one labelled example
    """


class InputError(ShiftproofError, ValueError):
    """An argument that cannot be used, found before anything is computed.

    Attributes
    ----------
    name, expected, got, repair : str
        The four parts of the message, so that a program can read them too.

    Examples
    --------
    >>> from shiftproof.errors import InputError
    >>> print(InputError("alpha", "at least 0", "-0.1", "state the tolerated risk"))
    alpha: expected at least 0, got -0.1; state the tolerated risk
    """

    def __init__(self, name: str, expected: str, got: str, repair: str) -> None:
        self.name = name
        self.expected = expected
        self.got = got
        self.repair = repair
        super().__init__(f"{name}: expected {expected}, got {got}; {repair}")

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str, str]]:
        # Exceptions are rebuilt from `args`, which holds the joined message only.
        return type(self), (self.name, self.expected, self.got, self.repair)


class ShiftWarning(UserWarning):
    """Something was computed that should not be trusted; the ratio's assumption says so too.

    Examples
    --------
    >>> import shiftproof as shp
    >>> issubclass(shp.ShiftWarning, UserWarning)
    True
    """
