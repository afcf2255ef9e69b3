"""What all recipes share: a network, a law of labels, standard units, and two ways to fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

from shiftproof import _checks
from shiftproof._types import ArrayLike
from shiftproof.bayes import scaling
from shiftproof.bayes.laws import Law, Likelihood, StudentT, likelihood_of
from shiftproof.bayes.network import Network
from shiftproof.bayes.posterior import NetworkPosterior
from shiftproof.bayes.progress import Line, Progress
from shiftproof.bayes.scaling import ByColumn, Scaling, Standard
from shiftproof.bayes.training import Replicates

Fitted = TypeVar("Fitted", bound=NetworkPosterior)


@dataclass(frozen=True, kw_only=True)
class Learner(ABC, Generic[Fitted]):
    """A recipe whose ``fit`` gives a posterior.

    Parameters
    ----------
    network : Network
    inputs, labels : ByColumn, Together or Scaling
        Standard units, learned from the training rows or fixed by ``Scaling``.

    Examples
    --------
    >>> from shiftproof.bayes import Ensemble, Learner
    >>> isinstance(Ensemble(), Learner)
    True
    """

    network: Network = field(default_factory=Network, kw_only=False)
    inputs: Standard = field(default_factory=ByColumn)
    labels: Standard = field(default_factory=ByColumn)

    task: ClassVar[str] = "training"

    def __post_init__(self) -> None:
        _checks.instance("network", self.network, Network, "say Network((64, 64))")
        for name in ("inputs", "labels"):
            scaling.checked(name, getattr(self, name))

    def fit(self, X: object, y: object, *, seed: int, progress: Progress | None = None) -> Fitted:
        """A posterior from labelled rows.

        Parameters
        ----------
        X : table or array
            Numbers, one row for each example.
        y : array, column or table
            Numbers, one or several for each row; classes with ``Softmax``.
        seed : int
            The same seed gives the same posterior on the same machine.
        progress : callable, optional
            Called with what is done, out of how much, and a note. A line on the terminal where
            left out, for fits that last.
        """
        return self.fit_many(X, y, [seed], progress=progress)[0]

    def fit_many(
        self,
        X: object,
        y: object,
        seeds: Sequence[int],
        *,
        rows: Sequence[ArrayLike] | None = None,
        progress: Progress | None = None,
    ) -> list[Fitted]:
        """Several posteriors in one call, one for each seed.

        Training sets of all sizes share one compiled program, so that a sweep over sizes compiles
        once; several seeds are computed together, on all cores.

        Parameters
        ----------
        X, y : as in :meth:`fit`
        seeds : sequence of int
        rows : sequence of integer arrays, optional
            The rows that each replicate trains on, of any length; all where left out. Refused
            where their columns lie so far from those of the first, by their own deviations, that
            32 bits would not tell them apart.
        progress : callable, optional
        """
        units = self.inputs, self.labels
        replicates = Replicates.of(X, y, seeds, rows, self.law, units)
        return self._posteriors(replicates, progress or Line(self.task))

    @property
    def learned_units(self) -> list[str]:
        """What standard units are learned for, from the training rows."""
        names = ["inputs"] if self.law.classifies else ["inputs", "labels"]
        return [name for name in names if not isinstance(getattr(self, name), Scaling)]

    @property
    @abstractmethod
    def law(self) -> Law:
        """What labels are fitted by."""

    @abstractmethod
    def _posteriors(self, replicates: Replicates, progress: Progress) -> list[Fitted]:
        """One posterior for each replicate."""


@dataclass(frozen=True, kw_only=True)
class LikelihoodLearner(Learner[Fitted]):
    """A recipe with a likelihood.

    Parameters
    ----------
    network, inputs, labels
        As in :class:`Learner`.
    likelihood : StudentT, Gaussian or Softmax
        Numbers with heavy tails, Gaussian numbers, or classes.

    Examples
    --------
    >>> from shiftproof.bayes import Ensemble, LikelihoodLearner
    >>> isinstance(Ensemble(), LikelihoodLearner)
    True
    """

    likelihood: Likelihood = field(default_factory=StudentT)

    def __post_init__(self) -> None:
        super().__post_init__()
        likelihood_of(self.likelihood)

    @property
    def law(self) -> Likelihood:
        """The likelihood."""
        return self.likelihood
