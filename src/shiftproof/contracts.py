"""How the parts meet: protocols, and the assumption that travels with every number.

A ratio is asked for the weights of test points and for the curve of the calibration examples; it
alone knows whether weights are numbers, boxes or candidates that move together.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeVar, runtime_checkable

from shiftproof._tables import Column
from shiftproof._types import KeyArray
from shiftproof.risk import LossCurves, ThresholdRule

Weights = TypeVar("Weights")


class Certainty(Enum):
    """How far a number can be trusted, in the words that stand beside it.

    Examples
    --------
    >>> import shiftproof as shp
    >>> print(shp.Certainty.ESTIMATED)
    estimated
    """

    EXACT = "exact"
    GIVEN_WEIGHTS = "exact given the weights"
    ESTIMATED = "estimated"
    CERTIFIED = "certified at 1 - delta"

    def __str__(self) -> str:
        return self.value


#: What is promised where the ratio is learnt or counted, and nothing bounds its error.
UP_TO_ITS_ERROR = (
    "E[loss] <= alpha + Lmax TV(P', the estimated target), on average over calibration draws and "
    "test points"
)


@dataclass(frozen=True)
class Assumption:
    """What a promise rests on, and what is then promised.

    Attributes
    ----------
    certainty : Certainty
    basis : str
        Where the weights come from.
    promise : str
        What holds if that is right: always an average over calibration draws and test points.
    delta : float or None
        The probability with which the basis may fail, where it is known.
    cautions : tuple of str
        What a reader has to know besides.

    Examples
    --------
    >>> import shiftproof as shp
    >>> print(shp.NoShift().assumption)
    exact given the weights: inputs in use have the law of the calibration inputs (w = 1); \
then E[loss] <= alpha, on average over calibration draws and test points
    """

    certainty: Certainty
    basis: str
    promise: str = "E[loss] <= alpha, on average over calibration draws and test points"
    delta: float | None = None
    cautions: tuple[str, ...] = ()

    def with_promise(self, promise: str) -> str:
        """A promise of what is built on this, which is no more certain than this.

        Examples
        --------
        >>> import shiftproof as shp
        >>> shp.NoShift().assumption.with_promise("E[loss] <= alpha")
        'E[loss] <= alpha'
        >>> guess = shp.Assumption(shp.Certainty.ESTIMATED, "a guess", "E[loss] <= 1")
        >>> guess.with_promise("E[loss] <= alpha")
        'if the ratio is right, E[loss] <= alpha; of the ratio itself: E[loss] <= 1'
        """
        if self.certainty is Certainty.GIVEN_WEIGHTS:
            return promise
        return f"if the ratio is right, {promise}; of the ratio itself: {self.promise}"

    def __str__(self) -> str:
        kind = str(self.certainty)
        if self.delta is not None:
            kind = kind.replace("1 - delta", f"{1 - self.delta:.6g}")
        return "; ".join([f"{kind}: {self.basis}", f"then {self.promise}", *self.cautions])


@runtime_checkable
class Ratio(Protocol[Weights]):
    """w(x) = dP'_X / dP_X as a function of x, up to one constant.

    `Weights` is the form in which weights come: an array, a WeightBox or a CoherentBox.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> ratio = shp.KnownRatio(lambda x: np.exp(x[:, 0]))
    >>> isinstance(ratio, shp.Ratio)
    True
    >>> curve = ratio.curve(shp.LossCurves.steps([0.3, 0.1, 0.2]), np.array([[0.0], [1.0], [2.0]]))
    >>> curve.threshold(0.5, ratio.weights(np.array([[0.0], [3.0]])), worst=1.0)
    array([0.2, inf])
    """

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns of a table that the ratio reads; None for all."""

    @property
    def assumption(self) -> Assumption:
        """What the weights rest on."""

    def weights(self, X: object, keys: KeyArray | None = None) -> Weights:
        """W at test points; `keys`, one per row, only for ratios that draw at random."""

    def curve(self, losses: LossCurves, X: object) -> ThresholdRule[Weights]:
        """The calibrated rule: the losses of examples with these inputs, weighed."""
