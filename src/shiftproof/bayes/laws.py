"""What outputs have to do with labels: laws p(y | f(x, theta)), and bounded losses l(f, y).

Labels and outputs are in standard units here. Predictions are f alone: the noise of a label is
what calibration measures, and not part of a draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from numpy.typing import NDArray

from shiftproof import _checks
from shiftproof.bayes.scaling import Scaling
from shiftproof.errors import InputError


class Law(Protocol):
    """What reading and writing labels asks for; frozen, since programs are compiled for each."""

    @property
    def classifies(self) -> bool:
        """Whether labels are classes."""

    @property
    def scale(self) -> float | None:
        """A scale in the units of the labels; None where it is learned, or there is none."""


@dataclass(frozen=True)
class Gaussian:
    """Labels around the output with Gaussian noise: y ~ N(f(x, theta), scale^2), each output alone.

    Parameters
    ----------
    scale : float, optional
        In the units of the labels, for all outputs; learned, one for each output, where left out.

    Examples
    --------
    >>> from shiftproof.bayes import Gaussian
    >>> Gaussian().scale is None  # learned
    True
    """

    scale: float | None = None
    classifies: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _known_scale(self.scale)

    def log_density(self, outputs: jax.Array, y: jax.Array, log_scale: jax.Array) -> jax.Array:
        """- (y - f)^2 / (2 scale^2) - log scale - log(2 pi) / 2, summed over outputs."""
        z = (y - outputs) * jnp.exp(-log_scale)
        return jnp.sum(-0.5 * z * z - log_scale - 0.5 * math.log(2 * math.pi), axis=-1)


@dataclass(frozen=True)
class StudentT:
    """Labels around the output with heavy tails: (y - f(x, theta)) / scale ~ t(freedom).

    Labels that lie far off pull less than under Gaussian noise, so that the bulk is fitted better.

    Parameters
    ----------
    freedom : float
        Degrees of freedom.
    scale : float, optional
        In the units of the labels, for all outputs; learned, one for each output, where left out.

    Examples
    --------
    >>> from shiftproof.bayes import StudentT
    >>> StudentT().freedom
    3.0
    """

    freedom: float = 3.0
    scale: float | None = None
    classifies: ClassVar[bool] = False

    def __post_init__(self) -> None:
        freedom = _checks.positive("freedom", self.freedom, "say 3")
        object.__setattr__(self, "freedom", freedom)
        _known_scale(self.scale)

    def log_density(self, outputs: jax.Array, y: jax.Array, log_scale: jax.Array) -> jax.Array:
        """- (freedom + 1) / 2 log(1 + z^2 / freedom) - log scale + constants, summed."""
        z, v = (y - outputs) * jnp.exp(-log_scale), self.freedom
        constant = gammaln((v + 1) / 2) - gammaln(v / 2) - 0.5 * math.log(v * math.pi)
        return jnp.sum(-0.5 * (v + 1) * jnp.log1p(z * z / v) - log_scale + constant, axis=-1)


@dataclass(frozen=True)
class Softmax:
    """Labels are classes: p(y | x, theta) = exp(f_y) / sum_k exp(f_k).

    Examples
    --------
    >>> from shiftproof.bayes import Softmax
    >>> Softmax().classifies
    True
    """

    scale: ClassVar[None] = None
    classifies: ClassVar[bool] = True

    def log_density(self, outputs: jax.Array, y: jax.Array, log_scale: jax.Array) -> jax.Array:
        """f_y - log sum_k exp(f_k), for y with a one in the column of the class."""
        del log_scale
        return jnp.sum(y * jax.nn.log_softmax(outputs), axis=-1)


@dataclass(frozen=True)
class Welsch:
    """l = 1 - exp( - (y - f)^2 / (2 scale^2) ): squared error near 0, at most 1 far off.

    Parameters
    ----------
    scale : float
        In the units of the labels.

    Examples
    --------
    >>> from shiftproof.bayes import Welsch
    >>> Welsch(0.5).bound
    1.0
    """

    scale: float
    bound: ClassVar[float] = 1.0
    classifies: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _checks.positive("scale", self.scale, "say how far off is wrong, in units of the labels")

    def loss(self, outputs: jax.Array, y: jax.Array, log_scale: jax.Array) -> jax.Array:
        """1 - exp(-z^2 / 2) with the Euclidean z, one for each row."""
        z = (y - outputs) * jnp.exp(-log_scale)
        return -jnp.expm1(-0.5 * jnp.sum(z * z, axis=-1))


@dataclass(frozen=True)
class ErrorProbability:
    """l = 1 - softmax(f)_y: the probability that a label drawn from the network is wrong.

    Examples
    --------
    >>> from shiftproof.bayes import ErrorProbability
    >>> ErrorProbability().classifies
    True
    """

    scale: ClassVar[None] = None
    bound: ClassVar[float] = 1.0
    classifies: ClassVar[bool] = True

    def loss(self, outputs: jax.Array, y: jax.Array, log_scale: jax.Array) -> jax.Array:
        """1 - p_y, one for each row."""
        del log_scale
        return 1 - jnp.sum(y * jax.nn.softmax(outputs), axis=-1)


Likelihood: TypeAlias = Gaussian | StudentT | Softmax
BoundedLoss: TypeAlias = Welsch | ErrorProbability


def likelihood_of(value: object) -> Likelihood:
    """A law of labels, or an error that names those there are."""
    if not isinstance(value, (Gaussian, StudentT, Softmax)):
        got = getattr(value, "__name__", type(value).__name__)
        repair = "StudentT() and Gaussian() for numbers, Softmax() for classes"
        raise InputError("likelihood", "Gaussian, StudentT or Softmax", got, repair)
    return value


def bounded_loss_of(value: object) -> BoundedLoss:
    """A bounded loss, or an error that names those there are."""
    if not isinstance(value, (Welsch, ErrorProbability)):
        got = getattr(value, "__name__", type(value).__name__)
        repair = "Welsch(scale) for numbers, ErrorProbability() for classes"
        raise InputError("loss", "Welsch or ErrorProbability", got, repair)
    return value


def log_noise(law: Law, learned: NDArray[Any], labels: Scaling) -> NDArray[np.float32]:
    """Log of the scale of the noise in standard units: as learned, or as it is known."""
    if law.scale is None:
        return np.asarray(learned, dtype=np.float32)
    return np.asarray(np.log(law.scale / labels.scale), dtype=np.float32)


def _known_scale(scale: float | None) -> None:
    if scale is not None:
        _checks.positive("scale", scale, "leave it out, and it is learned")
