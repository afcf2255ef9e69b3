"""Clipping weights at a ceiling c, asked for and paid for.

Where a few inputs have huge ratios the thresholds of all points depend on them. With min(w, c)
in place of w the rule is calibrated for another target, and what that leaves out has a price. With
w scaled so that E_P w = 1, and m = E_P min(w, c), for every k >= 1 (split w at k min(w, c))

    E_P'[loss]  <=  k m a + Lmax E_P'(1 - k c / w)_+         at level a.

Both factors are means over target inputs of numbers from 0 to 1, m = E_P' min(1, c / w), so a
sample of unlabelled target inputs bounds them. Or, without a price in risk: draw points of ratio
w > c with probability 1 - c / w, and give those the whole label space; where the loss is 0 on the
whole label space E_P'[loss] = m a.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftproof import _checks, confidence
from shiftproof._tables import Column, Table, row_count
from shiftproof._types import FloatArray, KeyArray
from shiftproof.contracts import UP_TO_ITS_ERROR, Assumption, Certainty
from shiftproof.errors import InputError
from shiftproof.keys import checked, uniforms
from shiftproof.ratios.groups import stated
from shiftproof.ratios.plain import PlainRatio
from shiftproof.ratios.roles import Ledger, note_calibration
from shiftproof.risk import DrawnCurve, LossCurves, Price, PricedCurve, RiskCurve

#: The factors k whose prices are bounded at once; fixed before any data are seen.
_FACTORS = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 16.0, 32.0)


@dataclass(frozen=True, eq=False)
class ClippedRatio:
    """A recipe: a ratio clipped at a ceiling, with the price of what is cut off.

    Parameters
    ----------
    ratio : PlainRatio
        Taken to be right; what is said here is about the clipping alone.
    ceiling : float
        c, on the scale of the ratio. Chosen before the calibration labels are seen.
    delta : float
        The probability with which the price may be too low.
    paid : bool
        Whether delta is paid from alpha too (E[loss] <= alpha without a condition), or stated
        beside it.

    Examples
    --------
    >>> import numpy as np, shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> ratio = shp.KnownRatio(lambda x: np.exp(2 * x[:, 0] - 2))  # from N(0, 1) to N(2, 1)
    >>> clipped = shp.ClippedRatio(ratio, ceiling=200.0).fit(rng.normal(2, 1, (2000, 1)))
    >>> x = rng.normal(0, 1, (500, 1))
    >>> curve = clipped.curve(shp.LossCurves.steps(np.abs(x[:, 0])), x)
    >>> round(float(curve.level(0.2)), 3)  # run here, to keep .2
    0.169
    """

    ratio: PlainRatio
    ceiling: float
    delta: float = 0.05
    paid: bool = False

    def __post_init__(self) -> None:
        repair = "clip the weights of a ratio, before bounds or a price are put around it"
        _checks.instance("ratio", self.ratio, PlainRatio, repair)  # type: ignore[type-abstract]
        ceiling = _checks.scalar("ceiling", self.ceiling, "for example 20")
        if not 0 < ceiling < np.inf:
            raise InputError("ceiling", "a finite number above 0", f"{ceiling!r}", "for example 20")
        confidence.probability("delta", self.delta)
        _checks.flag("paid", self.paid)

    def fit(self, target: object) -> PricedRatio:
        """The price, bounded from target inputs that nothing else was fitted to.

        Parameters
        ----------
        target : table or array (m, d)
            Unlabelled inputs from P', independent of the calibration examples and of the ratio.

        Returns
        -------
        ratio
            With `weights` and `curve`, the `price`, and the clipped weights alone as `point`. Its
            weights have a price, so that it cannot be clipped again.
        """
        table, kept = self._kept(target)
        share = self.delta / (len(_FACTORS) + 1)
        masses = [confidence.mean_above(np.maximum(1 - k * kept, 0.0), share) for k in _FACTORS]
        m = confidence.mean_above(np.minimum(kept, 1.0), share)
        price = Price(np.array(_FACTORS) * m, masses)
        return PricedRatio(
            ClippedWeights(self.ratio, float(self.ceiling)),
            price.plus(self.delta) if self.paid else price,
            self.delta,
            self.paid,
            self.ratio.ledger.plus(price_target=table),
        )

    def randomized(self, target: object | None = None) -> DrawnRatio:
        """No price in risk: some points of large ratio are drawn to get the whole label space.

        Applies to losses that are 0 on the whole label space; others are refused by `curve`.

        Parameters
        ----------
        target : table or array (m, d), optional
            Unlabelled inputs from P', to bound the share that is kept, at confidence 1 - delta:
            the level is alpha divided by it. Left out it counts as 1.

        Examples
        --------
        >>> import numpy as np, shiftproof as shp
        >>> from shiftproof.keys import row_keys
        >>> ratio = shp.ClippedRatio(shp.ColumnRatio(0), ceiling=2.0).randomized()
        >>> ratio.weights([[1.0], [4.0], [4.0], [40.0]], row_keys(7, "prediction", 4))
        array([ 1.,  2.,  2., inf])
        """
        if target is None:
            return DrawnRatio(self.ratio, float(self.ceiling), 1.0, None, False, self.ratio.ledger)
        table, kept = self._kept(target)
        m = confidence.mean_above(np.minimum(kept, 1.0), self.delta)
        ledger = self.ratio.ledger.plus(price_target=table)
        return DrawnRatio(self.ratio, float(self.ceiling), m, self.delta, self.paid, ledger)

    def _kept(self, target: object) -> tuple[Table, FloatArray]:
        """C / w at target inputs; an error where the ratio says that there are none of them."""
        table = Table.of("target", target)
        row_count(table, "the price is counted on target inputs")
        w = self.ratio.weights(table)
        expected = "ratios above 0 at target inputs"
        _checks.demand("target", w, w > 0, expected, "a target input of ratio 0 refutes the ratio")
        return table, self.ceiling / w


@dataclass(frozen=True, eq=False)
class ClippedWeights(PlainRatio):
    """min(w, c) alone, what it leaves out not paid: for figures, and inside a rule that pays."""

    ratio: PlainRatio
    ceiling: float

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns of the ratio that is clipped."""
        return self.ratio.columns

    @property
    def ledger(self) -> Ledger:
        """That of the ratio."""
        return self.ratio.ledger

    @property
    def assumption(self) -> Assumption:
        """That of the ratio, and nothing on what is cut off."""
        one = self.ratio.assumption
        basis = f"{one.basis}; clipped at {self.ceiling:.6g}"
        return Assumption(Certainty.ESTIMATED, basis, UP_TO_ITS_ERROR, one.delta, one.cautions)

    def calibration_weights(self, X: object, count: int) -> FloatArray:
        """min(w, c) at calibration inputs."""
        return np.minimum(self.ratio.calibration_weights(X, count), self.ceiling)

    def _ratio(self, table: Table) -> FloatArray:
        return np.minimum(self.ratio.weights(table), self.ceiling)


@dataclass(frozen=True, eq=False)
class PricedRatio:
    """A clipped ratio and its price, made by :meth:`ClippedRatio.fit`."""

    point: ClippedWeights
    price: Price
    delta: float
    paid: bool
    made_from: Ledger

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns of the ratio that is clipped."""
        return self.point.columns

    @property
    def ledger(self) -> Ledger:
        """That of the ratio, and the inputs that the price was counted on."""
        return self.made_from

    @property
    def assumption(self) -> Assumption:
        """That the ratio is right; the price then is, with probability 1 - delta."""
        basis = f"{self.point.assumption.basis}, what that costs is paid from alpha"
        return _counted(self.point.ratio.assumption, basis, self.delta, paid=self.paid)

    def weights(self, X: object, keys: KeyArray | None = None) -> FloatArray:
        """min(w, c) at test points."""
        return self.point.weights(X, keys)

    def curve(self, losses: LossCurves, X: object) -> PricedCurve[Any]:
        """The curve of clipped weights, run at the level that keeps alpha.

        The level is ``curve.level(alpha)``; where nothing is left of alpha that is an error, which
        says what the smallest alpha is.
        """
        table = Table.of("calibration inputs", X)
        curve = self.point.curve(losses, table)
        note_calibration(self.ledger.only("price_target"), table)
        return PricedCurve[Any](curve, self.price)


@dataclass(frozen=True, eq=False)
class DrawnRatio:
    """A clipped ratio whose large points are drawn, made by :meth:`ClippedRatio.randomized`."""

    ratio: PlainRatio
    ceiling: float
    kept: float
    delta: float | None
    paid: bool
    made_from: Ledger

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns of the ratio that is clipped."""
        return self.ratio.columns

    @property
    def ledger(self) -> Ledger:
        """That of the ratio, and the inputs on which the kept share was counted."""
        return self.made_from

    @property
    def assumption(self) -> Assumption:
        """That of the ratio, on average over the draws too."""
        one = self.ratio.assumption
        basis = (
            f"{one.basis}; a point of ratio w > {self.ceiling:.6g} gets the whole label space with "
            f"probability 1 - {self.ceiling:.6g} / w"
        )
        if self.delta is None:
            promise = "E[loss] <= alpha, on average over calibration draws, test points and draws"
            promise = one.with_promise(promise)
            return Assumption(one.certainty, basis, promise, one.delta, one.cautions)
        return _counted(one, basis, self.delta, paid=self.paid)

    def weights(self, X: object, keys: KeyArray | None = None) -> FloatArray:
        """min(w, c) at test points; inf where the point is drawn.

        Parameters
        ----------
        X : table or array (m, d)
        keys : array (m,)
            One for each row, from :func:`shiftproof.keys.row_keys`.
        """
        w = self.ratio.weights(X)
        if keys is None:
            raise InputError(
                "keys",
                "one key for each row",
                "none",
                "the rule draws at random: pass keys.row_keys(seed, 'prediction', ids), or to a "
                "controller seed= (and ids= where rows come alone)",
            )
        chance = uniforms(checked(keys, len(w)))
        with np.errstate(divide="ignore"):
            stays = chance <= self.ceiling / w
        return np.where(stays, np.minimum(w, self.ceiling), np.inf)

    def curve(self, losses: LossCurves, X: object) -> DrawnCurve:
        """The curve of clipped weights, run at alpha divided by the kept share."""
        table = Table.of("calibration inputs", X)
        w = np.minimum(self.ratio.calibration_weights(table, len(losses)), self.ceiling)
        note_calibration(self.ledger.only("price_target"), table)
        left_out = self.delta if self.paid and self.delta is not None else 0.0
        return DrawnCurve(RiskCurve(losses, w), self.kept, left_out)


def _counted(one: Assumption, basis: str, delta: float, *, paid: bool) -> Assumption:
    """What a number counted on target inputs promises, if the ratio promises `one`."""
    known = one.certainty is Certainty.GIVEN_WEIGHTS
    promise = one.with_promise(stated(delta, "target inputs", paid=paid))
    certainty = Certainty.CERTIFIED if known else one.certainty
    return Assumption(certainty, basis, promise, delta, one.cautions)
