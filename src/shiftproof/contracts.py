"""How the parts meet: protocols, and the assumption that travels with every number.

A predictor answers for rows of a table. A family turns its answers into a nest: for each row the
sets that grow with the threshold. A loss turns a nest and labels into loss curves, and a nest alone
into the worst that a label could lose. A ratio turns loss curves and inputs into a calibrated rule;
it alone knows whether weights are numbers, boxes or candidates that move together.

None of them asks what another one is. A loss names the methods of a nest that it calls, so that a
pair that does not fit is refused before anything is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeVar, runtime_checkable

from shiftproof._tables import Array, Column, Table
from shiftproof._types import ArrayLike, BoolArray, FloatArray, KeyArray, ObjectArray
from shiftproof.keys import Draws
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


@runtime_checkable
class Predictor(Protocol):
    """What answers for rows of a table; made from any model by `predictors.predictor_of`."""

    @property
    def classes(self) -> ArrayLike | None:
        """The labels that columns of probabilities stand for, where they are known."""

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns of a table that it reads by name; None where it may read all, by place."""

    def values(self, table: Table, draws: Draws) -> Array:
        """Predictions, one row for each row of the table."""

    def probabilities(self, table: Table, draws: Draws) -> Array:
        """Probabilities or scores of labels, one row for each row of the table."""


@runtime_checkable
class Posterior(Protocol):
    """A distribution over models, given the training data.

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> models = [lambda x: x[:, 0], lambda x: 2 * x[:, 0]]
    >>> isinstance(shp.Snapshots(models), shp.Posterior)
    True
    """

    def draw(self, X: object, keys: KeyArray, method: str) -> ArrayLike:
        """A prediction for each row by a model of its own, drawn with the key of the row.

        `method` is ``"predict"`` or ``"predict_proba"``.
        """

    def mean(self, X: object, method: str) -> ArrayLike:
        """The mean prediction over all models, for each row."""


class Sets(Protocol):
    """Finished prediction sets, one for each row."""

    @property
    def threshold(self) -> FloatArray:
        """The threshold of each set; the largest one where there are several."""

    @property
    def whole(self) -> BoolArray:
        """Which sets are the whole label space."""

    @property
    def outcome(self) -> ObjectArray:
        """Why each set is what it is."""

    def contains(self, y: object) -> BoolArray:
        """Whether each set holds its label."""

    def size(self) -> FloatArray:
        """How large each set is: a length, an area, a number of labels."""

    def relative_size(self) -> FloatArray:
        """The size as a share of the label space."""

    def columns(self) -> dict[str, Any]:
        """The sets as columns of a table."""


class Nest(Protocol):
    """For each of n rows, the sets { y : entry(y) <= threshold } that grow with the threshold."""

    @property
    def lower(self) -> float:
        """The smallest threshold."""

    def __len__(self) -> int:
        """The number of rows."""

    def entry(self, y: object) -> FloatArray:
        """The score: for each row the smallest threshold whose set holds the label."""

    def whole(self) -> FloatArray:
        """D(x): for each row the smallest threshold that gives the whole label space."""

    def least(self) -> FloatArray:
        """For each row a threshold below which the set does not get smaller."""

    def at(self, thresholds: FloatArray) -> Sets:
        """The sets at one threshold for each row."""


@dataclass(frozen=True)
class Traits:
    """What a loss or a worst case may ask of a family before any set is made.

    Attributes
    ----------
    dimension : int or None
        Of the label space; None where labels are not points.
    bounded : bool
        Whether the label space has an end.
    shrinks : bool
        Whether thresholds may be negative: sets narrower than what was predicted.
    by_name : bool
        Whether what is read of a table besides the prediction, a scale, is read by name.
    """

    dimension: int | None
    bounded: bool = True
    shrinks: bool = False
    by_name: bool = True


class Family(Protocol):
    """A nested family of sets: from predictions to a nest."""

    @property
    def makes(self) -> type:
        """The type of its nests, for what asks whether they have a method."""

    @property
    def traits(self) -> Traits:
        """What is known of its sets before any is made."""

    def nest(self, predictor: Predictor, table: Table, draws: Draws) -> Nest:
        """The sets around the predictions for the rows of a table."""


class Loss(Protocol):
    """What a set loses on a label, as a function of the threshold."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The methods of a nest that it calls beyond those of all nests."""

    def demand(self, traits: Traits) -> None:
        """Raise where it cannot be bounded on such sets."""

    def bound(self, nest: Any) -> float:
        """Lmax: the largest possible loss."""

    def floor(self, nest: Any) -> float:
        """The largest loss that the whole label space can have; no smaller alpha can be kept."""

    def curves(self, nest: Any, y: object) -> LossCurves:
        """The loss of each row as its set grows."""

    def worst(self, nest: Any) -> LossCurves:
        """The largest loss that any label can have at each threshold, for each row."""

    def of(self, sets: Any, y: object) -> FloatArray:
        """The loss of finished sets."""


class WorstCase(Protocol):
    """What the rule allows the test point to lose, and the sets that follow."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The methods of a nest that it calls beyond those of all nests."""

    def demand(self, loss: Loss, traits: Traits) -> None:
        """Raise where it does not go with this loss and such sets."""

    def worst(self, loss: Loss, nest: Any) -> float | LossCurves:
        """What the test point may lose: a bound for all, or a curve for each row."""

    def sets(
        self, rule: ThresholdRule[Any], loss: Loss, nest: Any, weights: Any, alpha: FloatArray
    ) -> Sets:
        """The sets that meet alpha, a number or (m,), at test points of these weights."""
