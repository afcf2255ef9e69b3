"""Curves that run below alpha, to pay for what their weights leave out.

Let a rule keep E[loss] <= a under the target that its weights belong to. Under the true target P',
for every factor k >= 0 (split w into at most k times the weights used, and the rest),

    E[loss] <= k a + Lmax mass_k,        mass_k = E_P( w - k w_used / E_P w_used )_+ .

With k = 1 the mass is the total variation distance. Solving for the level a that keeps alpha, and
taking the best k, is what a :class:`Price` does; a :class:`PricedCurve` runs at that level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike, FloatArray
from shiftproof.errors import InputError
from shiftproof.risk.curve import RiskCurve
from shiftproof.risk.curves import LossCurves
from shiftproof.risk.rule import ThresholdRule, Weights

#: A level that was computed is lowered by this share of alpha: rounding never raises it.
_ROUNDING = 8 * float(np.finfo(float).eps)

#: So many factors are enough: a finer grid gains less than one part in a hundred.
_FACTORS = 256


@dataclass(frozen=True, eq=False)
class Price:
    """What wrong, clipped or uncertain weights cost in risk.

    A rule that runs at level a keeps E[loss] <= factor_k a + Lmax mass_k under the true target, for
    every k at once; :meth:`level` is the largest a with one of these at most alpha.

    Parameters
    ----------
    factors : array (k,)
        Positive.
    masses : array (k,)
        At least 0: the part of the target, from 0 to 1, that is left to the worst loss.

    Examples
    --------
    Three per cent of the target are not covered; a loss of at most 10, a promise of 1:

    >>> import shiftproof as shp
    >>> price = shp.Price([1.0], [0.03])
    >>> round(float(price.level(1.0, bound=10.0)), 6)
    0.7
    >>> round(float(price.risk(0.7, bound=10.0)), 6)
    1.0
    """

    factors: FloatArray
    masses: FloatArray

    def __init__(self, factors: ArrayLike, masses: ArrayLike) -> None:
        factor = _checks.vector("factors", factors)
        mass = _checks.vector("masses", masses, length=len(factor))
        _checks.non_empty("factors", factor, "a price of nothing is Price([1], [0])")
        good = (factor > 0) & np.isfinite(factor)
        _checks.demand("factors", factor, good, "finite factors above 0", "1 leaves alpha as it is")
        _checks.demand("masses", mass, mass >= 0, "masses of at least 0", "pass shares of a target")
        object.__setattr__(self, "factors", factor)
        object.__setattr__(self, "masses", mass)

    @classmethod
    def nothing(cls) -> Price:
        """The price of right weights.

        Examples
        --------
        >>> import shiftproof as shp
        >>> float(shp.Price.nothing().level(0.1, bound=1.0))
        0.1
        """
        return cls([1.0], [0.0])

    @classmethod
    def of_wrong_weights(cls, true: ArrayLike, used: ArrayLike) -> Price:
        """The price of using `used` where `true` is the ratio, both at inputs drawn from P.

            mass_k = mean( w / mean w - k w_used / mean w_used )_+

        Exact when the inputs stand for all of P (or are all of a finite one); from a sample it is
        an estimate. For simulations and sensitivity analysis: who knows `true` uses it instead.

        Examples
        --------
        >>> import shiftproof as shp
        >>> price = shp.Price.of_wrong_weights(true=[1.8, 0.2], used=[1.6, 0.4])
        >>> round(float(price.risk(0.1, bound=1.0)), 3)  # .1 + .1, or 1.125 x .1 + 0 where better
        0.113
        """
        w = _checks.calibration_weights("true", true, np.size(true))
        v = _checks.calibration_weights("used", used, len(w))
        for name, values in (("true", w), ("used", v)):
            if not values.any():
                raise InputError(name, "some weight above 0", "none", "no shift has no mass at all")
        w, v = w / w.mean(), v / v.mean()
        # k a + Lmax mass_k is convex and bends where w = k v for some input: the best k is there.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            quotient = np.where(w > 0, w / v, 0.0)
        bends = np.unique(quotient[(quotient > 0) & np.isfinite(quotient)])
        if len(bends) > _FACTORS:
            bends = bends[np.linspace(0, len(bends) - 1, _FACTORS).round().astype(int)]
        factors = np.union1d(bends, [1.0])
        # By the quotient: at the last bend nothing is left, not even rounding.
        left = (np.where(quotient > k, np.maximum(w - k * v, 0.0), 0.0) for k in factors)
        return cls(factors, [float(each.mean()) for each in left])

    def plus(self, mass: float) -> Price:
        """The price when another part of the target is left to the worst loss.

        Examples
        --------
        >>> import shiftproof as shp
        >>> shp.Price.nothing().plus(0.05).masses
        array([0.05])
        """
        return Price(self.factors, self.masses + mass)

    def level(self, alpha: ArrayLike, *, bound: float) -> FloatArray:
        """The level to run at, max over k of (alpha - Lmax mass_k) / factor_k; at most Lmax.

        Negative where nothing is left: then no level keeps the promise.
        """
        level = _checks.risk_level(alpha, bound)
        if math.isinf(bound) and self.masses.all():
            raise InputError(
                "bound", "a finite bound of the loss", "inf", "cap the loss, or pay nothing"
            )
        cost = self._cost(bound)
        exact = (self.masses == 0) & (self.factors == 1)
        safe = np.where(exact, 0.0, _ROUNDING)
        each = (np.multiply.outer(level, 1 - safe) - cost) / self.factors
        best: FloatArray = np.minimum(each.max(axis=-1), bound)
        return best

    def risk(self, level: ArrayLike, *, bound: float) -> FloatArray:
        """What a rule that runs at this level keeps: min over k of factor_k a + Lmax mass_k."""
        a = _checks.risk_level(level, bound)
        each = np.multiply.outer(a, self.factors) + self._cost(bound)
        kept: FloatArray = np.minimum(each.min(axis=-1), bound)
        return kept

    def smallest_alpha(self, bound: float) -> float:
        """The smallest promise that leaves a level of at least 0: Lmax min_k mass_k, rounded up.

        Examples
        --------
        >>> import shiftproof as shp
        >>> round(shp.Price([1.0, 2.0], [0.03, 0.01]).smallest_alpha(bound=10.0), 6)
        0.1
        """
        return float(self._cost(bound).min()) * (1 + 2 * _ROUNDING)

    def _cost(self, bound: float) -> FloatArray:
        """Lmax mass_k; nothing where the mass is 0, whatever the bound."""
        with np.errstate(invalid="ignore"):
            return np.where(self.masses == 0, 0.0, bound * self.masses)


class PricedCurve(ThresholdRule[Weights]):
    """A curve that keeps alpha by running below it: threshold(alpha) is that of a lower level.

    Applies when `price` is right for the weights of `curve`; if it is so with probability
    1 - delta, independently of the calibration examples, then E[loss | price] <= alpha with that
    confidence. What else it asks for is what `curve` asks for. The level is in `level`.

    Parameters
    ----------
    curve : ThresholdRule
    price : Price

    Examples
    --------
    >>> import shiftproof as shp
    >>> curve = shp.RiskCurve(shp.LossCurves.steps([0.1, 0.2, 0.3, 0.4]))
    >>> dearer = shp.PricedCurve(curve, shp.Price([1.0], [0.2]))
    >>> [float(each.threshold(0.5, 1.0, worst=1.0)) for each in (curve, dearer)]
    [0.3, 0.4]
    """

    def __init__(self, curve: ThresholdRule[Weights], price: Price) -> None:
        _checks.instance("price", price, Price, "Price(factors, masses)")
        if isinstance(curve, PricedCurve):
            raise InputError("curve", "a curve without a price", "a PricedCurve", "join the prices")
        _checks.instance("curve", curve, ThresholdRule, "RiskCurve(losses, weights)")  # type: ignore[type-abstract]
        self.curve, self.price = curve, price

    @property
    def losses(self) -> LossCurves:  # type: ignore[override] # read here, stored there
        """The losses of the curve that is run."""
        return self.curve.losses

    def __len__(self) -> int:
        return len(self.losses)

    def __repr__(self) -> str:
        return f"PricedCurve({self.curve!r}, {self.price!r})"

    def level(self, alpha: ArrayLike, *, worst: float | LossCurves = 0.0) -> FloatArray:
        """The level at which the curve is run to keep alpha; an error where nothing is left.

        What is left out may lose as much as a test point: Lmax is the bound of the losses, or that
        of `worst` where it is larger.
        """
        wanted = _checks.risk_level(alpha, self.losses.bound)
        given = worst.bound if isinstance(worst, LossCurves) else worst
        bound = max(
            self.losses.bound,
            _checks.scalar("worst", given, "pass the bound of the loss, or loss curves"),
        )
        level = self.price.level(wanted, bound=bound)
        _checks.demand(
            "alpha",
            wanted,
            level >= 0,
            f"at least {self.price.smallest_alpha(bound):.6g}, the price in risk of these weights",
            "promise less, or lower the price: a higher ceiling, more unlabelled target inputs, "
            "a smaller bound of the loss",
        )
        return np.minimum(level, self.losses.bound)

    @property
    def risk_is(self) -> str:
        """That of the curve that is run."""
        return f"{self.curve.risk_is}, the price left out"

    def risk(self, thresholds: ArrayLike) -> FloatArray:
        """The weighted mean loss of the curve that is run, the price left out."""
        return self.curve.risk(thresholds)

    def budget(
        self,
        thresholds: ArrayLike,
        alpha: ArrayLike,
        test_weights: Weights,
        *,
        worst: float | LossCurves,
    ) -> FloatArray:
        """What is allowed at the level that keeps alpha."""
        level = self.level(alpha, worst=worst)
        return self.curve.budget(thresholds, level, test_weights, worst=worst)

    def threshold(
        self, alpha: ArrayLike, test_weights: Weights, *, worst: float | LossCurves
    ) -> FloatArray:
        """The smallest threshold that meets the level that keeps alpha."""
        return self.curve.threshold(self.level(alpha, worst=worst), test_weights, worst=worst)

    def scaled(self, test_weights: Weights, factor: float) -> Weights:
        """As the curve that is run scales them."""
        return self.curve.scaled(test_weights, factor)

    @property
    def _weightless(self) -> bool:
        return self.curve._weightless  # noqa: SLF001 - what every rule answers

    def _heaviest(self, test_weights: Weights) -> FloatArray:
        return self.curve._heaviest(test_weights)  # noqa: SLF001

    def _in_each_direction(self, test_weights: Weights, points: int, directions: int) -> Weights:
        return self.curve._in_each_direction(test_weights, points, directions)  # noqa: SLF001


class DrawnCurve(PricedCurve[ArrayLike]):
    """A curve for points of which some are drawn to get the whole label space.

    A test point of ratio w > c is drawn with probability 1 - c/w; the others have the weight c.
    Applies to losses that are 0 on the whole label space, so that drawn points lose nothing: then
    E_P'[loss] = E_P[min(w, c) loss], and the curve may run at alpha / kept with
    kept = E_P min(w, c) / E_P w. Losses with a tail are refused: what a drawn test point loses on
    the whole label space depends on its label. Drawn points have the weight inf, and are run at
    level 0.

    Parameters
    ----------
    curve : RiskCurve
        With the weights min(w, c).
    kept : float
        An upper bound on E_P min(w, c) / E_P w; 1 where nothing is known.
    left_out : float
        What else is left to the worst loss, such as the chance that `kept` is too low.

    Examples
    --------
    >>> import math
    >>> import shiftproof as shp
    >>> curve = shp.RiskCurve(shp.LossCurves.steps([0.1, 0.2, 0.3, 0.4]))
    >>> shp.DrawnCurve(curve, kept=0.8).threshold(0.4, [1.0, math.inf], worst=1.0)
    array([0.3, inf])
    """

    def __init__(self, curve: RiskCurve, kept: float = 1.0, left_out: float = 0.0) -> None:
        share = _checks.scalar("kept", kept, "pass E min(w, c) / E w, or 1")
        if not 0 < share <= 1:
            raise InputError("kept", "a share above 0, at most 1", f"{kept!r}", "1 is always right")
        super().__init__(curve, Price([share], [left_out]))
        _demand_nothing_left("losses", self.losses)

    def threshold(
        self, alpha: ArrayLike, test_weights: ArrayLike, *, worst: float | LossCurves
    ) -> FloatArray:
        """The smallest threshold at alpha / kept; the whole label space where a point is drawn."""
        weight = _checks.test_weights("test_weights", test_weights)
        level = self.level(alpha, worst=worst)
        if isinstance(worst, LossCurves):
            _demand_nothing_left("worst", worst)
        _checks.broadcast(alpha=level, test_weights=weight)
        return self.curve.threshold(np.where(np.isinf(weight), 0.0, level), weight, worst=worst)


def _demand_nothing_left(name: str, losses: LossCurves) -> None:
    """Raise where the whole label space still loses something."""
    _checks.demand(
        name,
        losses.tail,
        losses.tail == 0,
        "losses that are 0 on the whole label space",
        "points that are drawn get that space and have to lose nothing: pay for clipping with "
        "ClippedRatio.fit, or do not clip; a constant worst case is passed as a number",
    )
