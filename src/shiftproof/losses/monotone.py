"""Losses of finished sets, as any function: monotone ones, and the envelope of those that are not.

A function f(set, y) is known at some thresholds t_0 < t_1 < ... only; between them the set counts
as that at the one before, so that curves are right-continuous by construction:

    L_i(lam) = f(Gamma(x_i, t_k), y_i)  for  t_k <= lam < t_(k+1).

What is not monotone is controlled through its monotone envelope, sup over lam' >= lam of L_i(lam'),
which no loss exceeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from shiftproof import _checks
from shiftproof._types import ArrayLike, BoolArray, FloatArray, IntArray
from shiftproof.contracts import Nest, Sets, Traits
from shiftproof.errors import InputError
from shiftproof.risk import LossCurves

#: Values computed by a user's function may rise by rounding.
_ROUNDING = 1e-9


class SetLoss(Protocol):
    """A loss of finished sets, monotone or not, with its bounds."""

    @property
    def loss_max(self) -> float:
        """The largest possible loss."""

    @property
    def thresholds(self) -> FloatArray | None:
        """Where it is evaluated; None for every place where a set of labels changes."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The methods of a nest that it calls beyond those of all nests."""

    def floor(self, nest: Any) -> float:
        """The largest loss of the whole label space."""

    def of(self, sets: Any, y: object) -> FloatArray:
        """The loss of each set."""

    def profile(self, nest: Any, y: object) -> tuple[FloatArray, FloatArray]:
        """Thresholds (n, k + 1), and the losses (n, k + 2) there and of the whole label space."""


@dataclass(frozen=True, eq=False)
class MonotoneLoss:
    """A loss of your own that does not rise as sets grow.

    Parameters
    ----------
    function : callable
        From finished sets and labels to one loss for each row. It gets what ``predict`` gives, for
        example ``sets.lower`` and ``sets.upper`` of intervals, ``sets.members`` of masks.
    thresholds : array, optional
        Where it is evaluated, ascending: only these can be chosen. Left out, every place where a
        set of labels changes; sets in a continuous space need thresholds.
    loss_max : float
        The largest possible loss.
    whole_loss : float
        The largest loss that the whole label space can have: no smaller alpha can be kept.

    Examples
    --------
    Labels that are missed cost what they weigh:

    >>> import numpy as np
    >>> import shiftproof as shp
    >>> cost = np.array([0.5, 0.3, 0.2])
    >>> def missed(sets, y):
    ...     return ((np.asarray(y) == 1) & ~sets.members) @ cost
    >>> scores = np.array([[0.9, 0.4, 0.2], [0.3, 0.8, 0.6], [0.7, 0.5, 0.1]])
    >>> truth = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0]])
    >>> loss = shp.MonotoneLoss(missed, loss_max=1.0)
    >>> controller = shp.RiskController(lambda x: x, shp.Masks(), loss)
    >>> controller.calibrate(scores, truth).predict(scores[:1], alpha=0.4).members.tolist()
    [[True, False, False]]
    """

    function: Callable[[Any, Any], ArrayLike]
    thresholds: FloatArray | None = None
    loss_max: float = field(kw_only=True)
    whole_loss: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        if not callable(self.function):
            got, repair = type(self.function).__name__, "f(sets, y) -> losses"
            raise InputError("function", "a function of sets and labels", got, repair)
        largest = _checks.scalar("loss_max", self.loss_max, "the largest possible loss")
        least = _checks.scalar("whole_loss", self.whole_loss, "0 where nothing is lost")
        if not (0 < largest < np.inf and 0 <= least <= largest):
            raise InputError(
                "loss_max and whole_loss",
                "0 <= whole_loss <= loss_max, finite, and loss_max above 0",
                f"{least!r} and {largest!r}",
                "bound the loss, or cap it",
            )
        if self.thresholds is not None:
            object.__setattr__(self, "thresholds", _ascending(self.thresholds))

    @property
    def needs(self) -> tuple[str, ...]:
        """Places where sets change, unless thresholds are given."""
        return ("jumps",) if self.thresholds is None else ()

    def demand(self, traits: Traits) -> None:
        """Nothing: its bound was given."""
        del traits

    def bound(self, nest: Nest) -> float:
        """As it was given."""
        del nest
        return self.loss_max

    def floor(self, nest: Nest) -> float:
        """As it was given."""
        del nest
        return self.whole_loss

    def of(self, sets: Sets, y: object) -> FloatArray:
        """The loss of each set."""
        found = _checks.vector("losses", np.asarray(self.function(sets, y)), length=len(sets.whole))
        inside = (found >= 0) & (found <= self.loss_max * (1 + _ROUNDING))
        expected, repair = f"losses from 0 to {self.loss_max:g}", "raise loss_max, or cap the loss"
        _checks.demand("losses", found, inside, expected, repair)
        return found

    def profile(self, nest: Any, y: object) -> tuple[FloatArray, FloatArray]:
        """Thresholds (n, k + 1), and the losses (n, k + 2) there and of the whole label space."""
        return _profile(self, nest, y)

    def curves(self, nest: Any, y: object) -> LossCurves:
        """A staircase for each row; an error that names the first row whose loss rises."""
        places, values = self.profile(nest, y)
        rises = np.diff(values, axis=1) > _ROUNDING * self.loss_max
        if rises.any():
            row, step = np.argwhere(rises)[0]
            raise InputError(
                "loss",
                "losses that do not rise as sets grow",
                f"in row {row} a loss of {values[row, step]:.6g} at the threshold "
                f"{places[row, step]:.6g}, and {values[row, step + 1]:.6g} at the next one",
                "control its envelope: Monotonized(loss)",
            )
        return _staircases(places, values, self.loss_max, _lower(self, nest))

    def worst(self, nest: Any) -> LossCurves:
        """The largest loss, until the set is the whole label space."""
        return _worst(self, nest)


@dataclass(frozen=True)
class F1:
    """1 - F1 = 1 - 2 #(set and true) / (#set + #true), on sets of labels. Not monotone.

    A set that grows finds true labels and loses precision: the loss falls and rises. It can be
    controlled through :class:`Monotonized` only, and only above what the set of all labels loses,
    1 - 2 m / (K + m) for at least m true labels of K.

    Parameters
    ----------
    at_least : int
        So many labels are true in every row; a row with fewer is an error. With 0, all can be lost.

    Examples
    --------
    >>> import shiftproof as shp
    >>> shp.Monotonized(shp.F1(at_least=2)).controls
    'the largest 1 - F1 of the set and of all larger ones'
    """

    at_least: int = 1

    def __post_init__(self) -> None:
        _checks.whole("at_least", self.at_least, 0, "1 where none is 0")

    @property
    def loss_max(self) -> float:
        """1."""
        return 1.0

    @property
    def thresholds(self) -> None:
        """Wherever a label enters."""
        return

    @property
    def needs(self) -> tuple[str, ...]:
        """Sets of labels."""
        return ("truth", "jumps")

    def __str__(self) -> str:
        return "1 - F1"

    def floor(self, nest: Any) -> float:
        """1 - 2 m / (K + m): the set of all K labels, where m are true."""
        return float(1.0 - 2.0 * self.at_least / (nest.labels + self.at_least))

    def of(self, sets: Any, y: object) -> FloatArray:
        """1 - F1 of each set; 0 where neither the set nor the truth has a label."""
        true, count = self._truth(sets.nest, y)
        both, size = (np.count_nonzero(each, axis=1) for each in (true & sets.flat, sets.flat))
        return _one_less_f1(both, size, count)

    def profile(self, nest: Any, y: object) -> tuple[FloatArray, FloatArray]:
        """As any profile, by running counts of labels in the order in which they enter."""
        true, count = self._truth(nest, y)
        order = np.argsort(nest.entries, axis=1, kind="stable")
        entered = np.cumsum(np.take_along_axis(true, order, axis=1), axis=1, dtype=np.int64)
        places = _jumps(nest)
        # Labels of one score enter together: each place counts up to the last of them.
        last = np.broadcast_to(np.arange(nest.labels), order.shape).copy()
        last[:, :-1][places[:, 1:-1] == places[:, 2:]] = nest.labels
        last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
        found: IntArray = np.take_along_axis(entered, last, axis=1)
        values = _one_less_f1(found, last + 1, count[:, None])
        # Before the first place the set is empty, unless labels enter at the lower end already.
        start = np.where(places[:, :1] == places[:, 1:2], values[:, :1], self._of_none(count))
        return places, np.hstack([start, values, values[:, -1:]])

    def _of_none(self, count: IntArray) -> FloatArray:
        """The loss of an empty set."""
        none: IntArray = 0 * count
        return _one_less_f1(none, none, count)[:, None]

    def _truth(self, nest: Any, y: object) -> tuple[BoolArray, IntArray]:
        """The true labels, and how many there are."""
        true: BoolArray = nest.truth(y)
        count = np.count_nonzero(true, axis=1)
        _checks.demand(
            "labels",
            count.astype(np.float64),
            count >= self.at_least,
            f"at least {self.at_least} true labels in each row",
            "F1(at_least=...) states how many there are",
        )
        return true, count


@dataclass(frozen=True, eq=False)
class Monotonized:
    """The monotone envelope of a loss that may rise: the largest loss of this and all larger sets.

    The envelope is never below the loss, so a promise about it is one about the loss. It can be
    kept only where the whole label space loses no more than alpha; a smaller alpha is refused.

    Parameters
    ----------
    loss : F1 or MonotoneLoss
        `MonotoneLoss` states the function, its thresholds and its bounds; here it need not be
        monotone.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random((400, 4)) < 0.7
    >>> truth[~truth.any(axis=1), 0] = True
    >>> scores = np.clip(truth + rng.normal(0, 0.3, truth.shape), 0, 1)
    >>> loss = shp.Monotonized(shp.F1(at_least=1))
    >>> controller = shp.RiskController(lambda x: x, shp.Masks(), loss)
    >>> calibrated = controller.calibrate(scores, truth)
    >>> calibrated.predict(scores[:1], alpha=0.3)
    Traceback (most recent call last):
    ...
    shiftproof.errors.InputError: alpha: expected at least 0.6, the loss of the whole label space, \
got 0.3; promise less, or choose a loss that larger sets can bring down
    >>> calibrated.predict(scores[:1], alpha=0.6).members.tolist()
    [[True, True, True, True]]
    """

    loss: SetLoss

    def __post_init__(self) -> None:
        usable = all(hasattr(self.loss, name) for name in ("of", "loss_max", "floor"))
        if isinstance(self.loss, type) or not usable:
            got = getattr(self.loss, "__name__", type(self.loss).__name__)
            repair = "an object, for example F1(), MonotoneLoss(f, ...)"
            raise InputError("loss", "a loss of finished sets", got, repair)

    @property
    def needs(self) -> tuple[str, ...]:
        """What the loss needs."""
        return self.loss.needs

    @property
    def controls(self) -> str:
        """What the promise is about, in words."""
        name = str(self.loss) if isinstance(self.loss, F1) else "loss"
        larger = "all larger ones" if self.loss.thresholds is None else "those at larger thresholds"
        return f"the largest {name} of the set and of {larger}"

    def demand(self, traits: Traits) -> None:
        """Nothing: its bound is known."""
        del traits

    def bound(self, nest: Any) -> float:
        """That of the loss."""
        del nest
        return self.loss.loss_max

    def floor(self, nest: Any) -> float:
        """That of the loss: the envelope ends there."""
        return self.loss.floor(nest)

    def curves(self, nest: Any, y: object) -> LossCurves:
        """The largest loss from each threshold on."""
        places, values = self.loss.profile(nest, y)
        envelope = np.maximum.accumulate(values[:, ::-1], axis=1)[:, ::-1]
        return _staircases(places, envelope, self.loss.loss_max, _lower(self.loss, nest))

    def worst(self, nest: Any) -> LossCurves:
        """The largest loss, until the set is the whole label space."""
        return _worst(self.loss, nest)

    def of(self, sets: Any, y: object) -> FloatArray:
        """The loss itself, which the envelope is never below."""
        return self.loss.of(sets, y)


def _one_less_f1(both: IntArray, size: IntArray, count: IntArray) -> FloatArray:
    """1 - 2 both / (size + count); 0 where neither the set nor the truth has a label."""
    total = size + count
    return np.where(total > 0, 1.0 - 2.0 * both / np.maximum(total, 1), 0.0)


def _profile(loss: MonotoneLoss, nest: Any, y: object) -> tuple[FloatArray, FloatArray]:
    """Thresholds (n, k + 1) and the losses (n, k + 2) there and of the whole label space."""
    places = _jumps(nest) if loss.thresholds is None else _grid(loss.thresholds, nest)
    columns = [loss.of(nest.at(places[:, step]), y) for step in range(places.shape[1])]
    whole = loss.of(nest.at(np.full(len(nest), np.inf)), y)
    floor = loss.floor(nest)
    _checks.demand(
        "losses of the whole label space",
        whole,
        whole <= floor + _ROUNDING * loss.loss_max,
        f"losses of at most {floor:g}",
        "state the largest one: whole_loss=",
    )
    return places, np.column_stack([*columns, whole])


def _jumps(nest: Any) -> FloatArray:
    """A place where the set of labels is as small as it can be, and each place where it changes."""
    jumps = nest.jumps()
    empty = np.minimum(jumps[:, :1] - 1.0, np.nextafter(jumps[:, :1], -np.inf))
    start = np.where(np.isinf(nest.lower), empty, nest.lower)
    return np.concatenate([np.minimum(start, jumps[:, :1]), jumps], axis=1)


def _grid(thresholds: FloatArray, nest: Any) -> FloatArray:
    """The thresholds that were given, for each row; an error for those below the lower end."""
    if thresholds[0] < nest.lower:
        raise InputError(
            "thresholds",
            f"thresholds of at least {nest.lower!r}, where the sets begin",
            f"{float(thresholds[0])!r}",
            "leave out those below",
        )
    return np.broadcast_to(thresholds, (len(nest), len(thresholds)))


def _lower(loss: SetLoss, nest: Any) -> float:
    """The smallest threshold that can be chosen."""
    return float(nest.lower if loss.thresholds is None else loss.thresholds[0])


def _staircases(places: FloatArray, values: FloatArray, bound: float, lower: float) -> LossCurves:
    """Right-continuous staircases with these values from these thresholds on.

    The last value is that of the whole label space, which no finite threshold is said to give: the
    curve ends at the last but one.
    """
    n, steps = places.shape
    drops = np.maximum(values[:, :-2] - values[:, 1:-1], 0.0)
    owner = np.repeat(np.arange(n), steps - 1)
    tail = np.minimum(values[:, -2], bound)
    return LossCurves.staircases(
        tail, places[:, 1:].ravel(), drops.ravel(), owner, bound=bound, lower=lower
    )


def _worst(loss: SetLoss, nest: Any) -> LossCurves:
    whole, floor = nest.whole(), loss.floor(nest)
    n = len(whole)
    return LossCurves.staircases(
        np.full(n, floor),
        whole,
        np.full(n, loss.loss_max - floor),
        np.arange(n),
        bound=loss.loss_max,
        lower=_lower(loss, nest),
    )


def _ascending(thresholds: ArrayLike) -> FloatArray:
    found = _checks.non_empty(
        "thresholds", _checks.vector("thresholds", thresholds), "pass some thresholds"
    )
    rising = np.concatenate([[True], np.diff(found) > 0]) & np.isfinite(found)
    expected = "finite thresholds, each above the one before"
    _checks.demand("thresholds", found, rising, expected, "sort them, each once")
    return found
