"""One curve for each group: calibration within groups, instead of weights.

Inside group g the rule sees the group's own examples and one test point, n_g + 1 in all, without
weights:

    sum_{i in g} L_i(lam) + Lworst(lam)  <=  alpha (n_g + 1).

So E[loss | g] <= alpha for each group that stays as it is inside, and with it for every mixture of
groups: no rates have to be known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike, FloatArray, IntArray, ObjectArray
from shiftproof.errors import InputError
from shiftproof.risk.curve import RiskCurve
from shiftproof.risk.curves import LossCurves
from shiftproof.risk.rule import Question, ThresholdRule


@dataclass(frozen=True, eq=False)
class Strata:
    """The group of each of m points, as a number from 0, and the weight that each counts for.

    Parameters
    ----------
    codes : array (m,)
        Numbers that calibration never saw are groups without examples.
    weight : array (m,), optional
        1 where left out.

    Examples
    --------
    >>> import shiftproof as shp
    >>> shp.Strata([0, 2, 0]).weight
    array([1., 1., 1.])
    """

    codes: IntArray
    weight: FloatArray

    def __init__(self, codes: ArrayLike, weight: ArrayLike | None = None) -> None:
        known = np.iinfo(np.int64).max
        numbers = _checks.indices("codes", codes, length=np.size(codes), below=known)
        ones = np.ones(len(numbers))
        each = ones if weight is None else _checks.test_weights("weight", weight)
        if each.shape != ones.shape:
            got = f"shape {each.shape}"
            raise InputError("weight", f"shape {ones.shape}", got, "one weight for each point")
        object.__setattr__(self, "codes", numbers)
        object.__setattr__(self, "weight", each)


class StratifiedCurve(ThresholdRule[Strata]):
    """A :class:`RiskCurve` for each group, with the same face.

    Applies when labels and inputs inside a group have one law in calibration and in use. Then
    E[loss | group] <= alpha on average over calibration draws and test points. A group without
    calibration examples has the worst case alone, mostly the whole label space.

    Parameters
    ----------
    losses : LossCurves
    codes : array (n,)
        The group of each example, as a number from 0.

    Examples
    --------
    >>> import shiftproof as shp
    >>> losses = shp.LossCurves.steps([0.1, 0.2, 0.3, 4.0, 5.0, 6.0])
    >>> curve = shp.StratifiedCurve(losses, [0, 0, 0, 1, 1, 1])
    >>> curve.threshold(0.3, shp.Strata([0, 1, 2]), worst=1.0)
    array([0.3, 6. , inf])
    """

    def __init__(self, losses: LossCurves, codes: ArrayLike) -> None:
        group = _checks.indices("codes", codes, length=len(losses), below=np.iinfo(np.int64).max)
        self.losses, self.codes = losses, group
        self._nobody = RiskCurve(losses, np.zeros(len(losses)))  # what a new group has learnt
        self._curves = {
            code: RiskCurve(losses.select(np.flatnonzero(group == code)))
            for code in np.unique(group).tolist()
        }

    def __len__(self) -> int:
        return len(self.losses)

    def __repr__(self) -> str:
        return f"StratifiedCurve({len(self)} examples, {len(self._curves)} groups)"

    @property
    def risk_is(self) -> str:
        """The group that fares worst."""
        return "largest mean loss of a group"

    def risk(self, thresholds: ArrayLike) -> FloatArray:
        """The largest mean loss of a group at each threshold."""
        worst: FloatArray = np.max([one.risk(thresholds) for one in self._curves.values()], axis=0)
        return worst

    def threshold(
        self, alpha: ArrayLike, test_weights: Strata, *, worst: float | LossCurves
    ) -> FloatArray:
        """The smallest threshold that meets alpha in the group of each point.

        Alpha may differ between points: with levels a_g and sum_g p'_g a_g <= alpha the promise is
        kept on average.
        """
        level = _checks.risk_level(alpha, self.losses.bound)
        codes = test_weights.codes.astype(np.float64)
        question = Question.of(worst, self.losses, alpha=level, codes=codes)
        levels, weights = question.flat(level), question.flat(test_weights.weight)
        group = question.flat(codes).astype(np.int64)
        found = np.empty(len(group))
        for code in np.unique(group).tolist():
            here = np.flatnonzero(group == code)
            curve = self._curves.get(code, self._nobody)
            found[here] = curve.threshold(
                levels[here], weights[here], worst=question.worst.select(here)
            )
        return found.reshape(question.shape)

    def outcome(
        self, thresholds: ArrayLike, test_weights: Strata, *, whole: ArrayLike
    ) -> ObjectArray:
        """Why each threshold is what it is."""
        lam = _checks.thresholds(thresholds, self.losses.lower)
        place = _checks.floats("whole", whole)
        codes, weight = test_weights.codes, test_weights.weight
        lam, place, codes, weight = np.broadcast_arrays(lam, place, codes, weight)
        found = np.empty(lam.shape, dtype=object)
        for code in np.unique(codes).tolist():
            here = codes == code
            curve = self._curves.get(code, self._nobody)
            found[here] = curve.outcome(lam[here], weight[here], whole=place[here])
        return found

    def scaled(self, test_weights: Strata, factor: float) -> Strata:
        """The same points, each counting for `factor` as much."""
        return Strata(test_weights.codes, test_weights.weight * factor)

    @property
    def _weightless(self) -> bool:
        return False

    def _heaviest(self, test_weights: Strata) -> FloatArray:
        return test_weights.weight

    def _in_each_direction(self, test_weights: Strata, points: int, directions: int) -> Strata:
        codes, weight = (
            np.repeat(np.broadcast_to(each, points), directions)
            for each in (test_weights.codes, test_weights.weight)
        )
        return Strata(codes, weight)
