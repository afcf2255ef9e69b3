"""Why a set is this large: model error, shift, test mass.

With t(w, m) the threshold for weights w (1 where there is no shift) and test mass m (none, or the
point's own), kept between the place below which
the set does not get smaller and D(x), above which it does not get larger,

    t(w, 1) = t(1, 0)  +  shift  +  test mass.

The two last terms depend on which comes first, and there is no natural order: each is the mean over
both orders,

    shift      = ( t(w, 0) - t(1, 0)  +  t(w, 1) - t(1, 1) ) / 2
    test mass  = ( t(1, 1) - t(1, 0)  +  t(w, 1) - t(w, 0) ) / 2.

Terms can be negative: a shift towards easier inputs makes sets smaller. In a label space without
end they can be infinite: with such a term the threshold is infinite, or would be without it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftproof import _checks
from shiftproof._types import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """The terms of each threshold, made by ``Prepared.explain``.

    Attributes
    ----------
    model : array (m,)
        t(1, 0), the threshold without shift and without test mass: the errors of the model.
    model_with_mass, shifted : arrays (m,)
        t(1, 1) and t(w, 0).
    total : array (m,)
        t(w, 1), the threshold itself, at most D(x).
    twice_the_labels : array (m,)
        The threshold that twice as many calibration examples of the same losses would give.
    at_least : array (m,)
        Where sets are as small as they can be.
    cautions : tuple of str
        What the weights rest on that a reader has to know.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> off = rng.random(200) < 0.5
    >>> y = rng.uniform(0, 10, 200)
    >>> heard = np.clip(y + np.where(off, 2.0, 0.2) * rng.normal(size=200), 0, 10)
    >>> x = np.column_stack([heard, off])
    >>> ratio = shp.GroupRatio(1, source={0: 0.5, 1: 0.5}, target={0: 0.1, 1: 0.9})
    >>> controller = shp.RiskController(
    ...     lambda x: x[:, 0], shp.Intervals(0, 10), shp.Distance(), ratio
    ... )
    >>> print(controller.calibrate(x, y).prepare([[5.0, 1.0]]).explain(alpha=0.3))
    threshold        1.61  on average over 1 point
      model error   0.805  what the model's errors ask for without a shift
      shift         0.719  what the shift adds
      test mass    0.0878  what the point's own worst case adds
    Terms are means over both orders of shift and test mass, with thresholds capped at the whole \
label space.
    With twice the labels the threshold would be 1.56. The largest term is the model's error: a \
better model would shrink the sets most.
    """

    model: FloatArray
    model_with_mass: FloatArray
    shifted: FloatArray
    total: FloatArray
    twice_the_labels: FloatArray
    at_least: FloatArray
    cautions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _checks.non_empty("points", self.total, "explain the sets of at least one point")

    @property
    def shift(self) -> FloatArray:
        """What the shift adds (m,), with all that is not known of it."""
        return _added(self.model, self.model_with_mass, self.shifted, self.total)[0]

    @property
    def test_mass(self) -> FloatArray:
        """What the test point's own weight and worst case add (m,). More labels make it smaller."""
        return _added(self.model, self.model_with_mass, self.shifted, self.total)[1]

    @property
    def means(self) -> dict[str, float]:
        """Each term, on average over the points: the terms of the mean thresholds."""
        four = (self.model, self.model_with_mass, self.shifted, self.total)
        model, *others = (np.asarray(each.mean()) for each in four)
        shift, mass = _added(model, *others)
        return {"model error": float(model), "shift": float(shift), "test mass": float(mass)}

    @property
    def advice(self) -> str:
        """What would shrink the sets most, in words."""
        if not (self.total > self.at_least).any():
            return "No set can be smaller."
        largest = max(self.means, key=lambda name: self.means[name])
        return _ADVICE[largest]

    def __str__(self) -> str:
        points = f"{len(self.model)} point" + ("s" if len(self.model) != 1 else "")
        lines = [f"threshold    {float(self.total.mean()):>8.3g}  on average over {points}"]
        lines += [
            f"  {name:<11}{value:>8.3g}  {_MEANING[name]}" for name, value in self.means.items()
        ]
        doubled = f"{float(self.twice_the_labels.mean()):.3g}"
        lines += [_ORDER, f"With twice the labels the threshold would be {doubled}. {self.advice}"]
        lines += [f"Caution: {caution}." for caution in self.cautions]
        return "\n".join(lines)


_MEANING = {
    "model error": "what the model's errors ask for without a shift",
    "shift": "what the shift adds",
    "test mass": "what the point's own worst case adds",
}
_ORDER = (
    "Terms are means over both orders of shift and test mass, with thresholds capped at the whole "
    "label space."
)
_ADVICE = {
    "model error": "The largest term is the model's error: a better model would shrink the sets "
    "most.",
    "shift": "The largest term is the shift: inputs nearer to those of calibration, or labels from "
    "where the sets are used, would shrink the sets most.",
    "test mass": "The largest term is the test mass: more labels would shrink the sets most.",
}


def _added(
    plain: FloatArray, with_mass: FloatArray, shifted: FloatArray, total: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What shift and test mass add, each as the mean over both orders."""
    shift = _mean(_less(shifted, plain), _less(total, with_mass))
    return shift, _mean(_less(with_mass, plain), _less(total, shifted))


def _less(one: FloatArray, other: FloatArray) -> FloatArray:
    """The difference; 0 between two thresholds that are both infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(one == other, 0.0, one - other)


def _mean(one: FloatArray, other: FloatArray) -> FloatArray:
    """The mean of two differences; 0 between two that are infinite in opposite directions."""
    with np.errstate(invalid="ignore"):
        return np.where(one == -other, 0.0, (one + other) / 2)
