"""Signal strengths as inputs of a model: 0 where not heard, more where stronger.

0 dBm is a very strong signal, so what was not heard cannot be set to 0 before signals are made
positive. The forms are those that are common for fingerprints (Torres-Sospedra, Montoliu, Trilles,
Belmonte and Huerta, "Comprehensive analysis of distance and similarity measures for Wi-Fi
fingerprinting indoor positioning systems", 2015), each scaled so that the strongest signal is 1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from shiftproof import _checks
from shiftproof._types import FloatArray
from shiftproof.errors import InputError
from shiftproof.localization.fingerprints import Fingerprints, messages_of


class Recipe(ABC):
    """A form of signal strengths whose two constants are open: fitted to data, or given."""

    @abstractmethod
    def scaled(self, rssi: FloatArray, weakest: float, strongest: float) -> FloatArray:
        """The input for each signal strength, NaN where that is NaN."""

    def between(self, weakest: float, strongest: float, *, clip: bool = False) -> Representation:
        """With constants that are given, in dBm."""
        return Representation(self, weakest, strongest, clip)

    def fit(self, fingerprints: Fingerprints, *, clip: bool = False) -> Representation:
        """With the weakest and the strongest signal of some messages, those of training."""
        messages = messages_of("fingerprints", fingerprints)
        heard = messages.rssi[messages.heard]
        _checks.non_empty("fingerprints", heard, "no station heard any of these messages")
        return self.between(float(heard.min()), float(heard.max()), clip=clip)


@dataclass(frozen=True)
class Linear(Recipe):
    """(x - weakest + 1) / (strongest - weakest + 1).

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.localization import Fingerprints, Linear
    >>> messages = Fingerprints([[-149.0, -100.0, np.nan]], [[0.0, 0.0]], ["a", "b", "c"])
    >>> Linear().fit(messages).values(messages)
    array([[0.02, 1.  , 0.  ]])
    >>> Linear().between(-148, -49).values(messages)
    Traceback (most recent call last):
    ...
    shiftproof.errors.InputError: rssi: expected signals from -148 to -49 dBm, got -149.0 at \
position 0; fit on more data, give constants with room, or clip=True to take the nearest end
    """

    def scaled(self, rssi: FloatArray, weakest: float, strongest: float) -> FloatArray:
        """(x - weakest + 1) / (strongest - weakest + 1)."""
        return (rssi - weakest + 1) / (strongest - weakest + 1)


@dataclass(frozen=True)
class Powed(Recipe):
    """The linear form to a power, that of Euler's number where left out.

    Parameters
    ----------
    exponent : float

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.localization import Fingerprints, Powed
    >>> messages = Fingerprints([[-124.5, -100.0, np.nan]], [[0.0, 0.0]], ["a", "b", "c"])
    >>> Powed().between(-149, -100).values(messages).round(4)
    array([[0.1604, 1.    , 0.    ]])
    """

    exponent: float = math.e

    def __post_init__(self) -> None:
        _above_zero("exponent", self.exponent)

    def scaled(self, rssi: FloatArray, weakest: float, strongest: float) -> FloatArray:
        """The linear form to the power `exponent`."""
        return np.asarray(Linear().scaled(rssi, weakest, strongest) ** self.exponent)


@dataclass(frozen=True)
class Exponential(Recipe):
    """exp((x - strongest) / scale).

    Parameters
    ----------
    scale : float
        Decibels over which the input falls to 1/e.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.localization import Exponential, Fingerprints
    >>> messages = Fingerprints([[-124.0, -100.0, np.nan]], [[0.0, 0.0]], ["a", "b", "c"])
    >>> Exponential().fit(messages).values(messages).round(4)
    array([[0.3679, 1.    , 0.    ]])
    """

    scale: float = 24.0

    def __post_init__(self) -> None:
        _above_zero("scale", self.scale)

    def scaled(self, rssi: FloatArray, weakest: float, strongest: float) -> FloatArray:
        """exp((x - strongest) / scale)."""
        del weakest
        return np.asarray(np.exp((rssi - strongest) / self.scale))


@dataclass(frozen=True)
class Binary(Recipe):
    """1 where heard. It has no constants.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.localization import Binary, Fingerprints
    >>> messages = Fingerprints([[-149.0, -100.0, np.nan]], [[0.0, 0.0]], ["a", "b", "c"])
    >>> Binary().fit(messages).values(messages)
    array([[1., 1., 0.]])
    """

    def fit(
        self, fingerprints: Fingerprints | None = None, *, clip: bool = False
    ) -> Representation:
        """As it is: nothing is fitted."""
        del fingerprints
        return self.between(-math.inf, math.inf, clip=clip)

    def scaled(self, rssi: FloatArray, weakest: float, strongest: float) -> FloatArray:
        """1."""
        del weakest, strongest
        return np.ones_like(rssi)


@dataclass(frozen=True)
class Representation:
    """A form of signal strengths with its constants: from fingerprints to inputs in [0, 1].

    Made by ``fit`` or ``between`` of :class:`Linear`, :class:`Powed`, :class:`Exponential` and
    :class:`Binary`. A signal weaker than `weakest` would be as good as not heard, and one stronger
    than `strongest` lies where no model was fitted: both are refused unless `clip` is asked for.

    Attributes
    ----------
    recipe : Linear, Powed, Exponential or Binary
    weakest, strongest : float
        dBm.
    clip : bool
        Whether signals beyond count as the weakest and the strongest.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.localization import Fingerprints, Linear
    >>> messages = Fingerprints([[-149.0, -100.0, np.nan]], [[0.0, 0.0]], ["a", "b", "c"])
    >>> clipped = Linear().between(-148, -49, clip=True)
    >>> clipped.values(messages), clipped.beyond(messages)
    (array([[0.01, 0.49, 0.  ]]), 0.5)
    """

    recipe: Recipe
    weakest: float
    strongest: float
    clip: bool = False

    def __post_init__(self) -> None:
        repair = "pass dBm, the weaker one first: between(-148, -59)"
        ends = [_checks.scalar(name, getattr(self, name), repair) for name in _ENDS]
        if not ends[0] <= ends[1]:
            raise InputError("strongest", f"at least {ends[0]:g}", f"{ends[1]:g}", repair)
        bounded = all(map(math.isfinite, ends))
        if not bounded and not isinstance(self.recipe, Binary):
            raise InputError("weakest and strongest", "finite dBm", f"{ends}", repair)
        _checks.flag("clip", self.clip)
        for name, end in zip(_ENDS, ends, strict=True):
            object.__setattr__(self, name, end)
        if not self.recipe.scaled(np.array([ends[0]]), *ends)[0] > 0:
            got = f"{self.recipe}, which is 0 in floating point at {ends[0]:g} dBm"
            repair = "0 means not heard: choose a gentler form"
            raise InputError("recipe", "inputs above 0 for all that is heard", got, repair)

    def values(self, fingerprints: Fingerprints) -> FloatArray:
        """The inputs, (n, d): 0 where not heard."""
        rssi = messages_of("fingerprints", fingerprints).rssi
        if self.clip:
            rssi = np.clip(rssi, self.weakest, self.strongest)
        else:
            _checks.demand(
                "rssi",
                rssi,
                np.isnan(rssi) | ((rssi >= self.weakest) & (rssi <= self.strongest)),
                f"signals from {self.weakest:g} to {self.strongest:g} dBm",
                "fit on more data, give constants with room, or clip=True to take the nearest end",
            )
        scaled = self.recipe.scaled(rssi, self.weakest, self.strongest)
        return np.where(fingerprints.heard, scaled, 0.0)

    def beyond(self, fingerprints: Fingerprints) -> float:
        """The share of heard signals that lie beyond the constants; NaN if none was heard."""
        messages = messages_of("fingerprints", fingerprints)
        heard = messages.rssi[messages.heard]
        if not len(heard):
            return math.nan
        return float(np.mean((heard < self.weakest) | (heard > self.strongest)))


_ENDS = ("weakest", "strongest")


def _above_zero(name: str, value: float) -> None:
    number = _checks.scalar(name, value, "pass a number above 0")
    if not 0 < number < math.inf:
        raise InputError(name, "a number above 0", f"{value!r}", "leave it out for the usual one")
