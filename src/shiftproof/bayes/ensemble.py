"""A deep ensemble: networks from several starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from shiftproof import _checks
from shiftproof._types import FloatArray
from shiftproof.bayes.bank import BankPosterior, banks
from shiftproof.bayes.laws import Likelihood
from shiftproof.bayes.learner import LikelihoodLearner
from shiftproof.bayes.network import Network, log_prior_of_scale, start_scales, starts
from shiftproof.bayes.progress import Progress
from shiftproof.bayes.streams import of_seeds
from shiftproof.bayes.training import Data, Descent, Replicates


@dataclass(frozen=True, kw_only=True)
class Ensemble(LikelihoodLearner["EnsemblePosterior"]):
    """A recipe: networks trained from several starts, each to a mode of

        sum_i log p(y_i | x_i, theta)  +  log prior(theta),

    with the prior N(0, 1) for the log of a learned scale of noise in standard units.

    Q is uniform over the members. No sampler stands behind it: members differ by their starts and
    their batches alone.

    Parameters
    ----------
    network, likelihood, inputs, labels
        As in :class:`LikelihoodLearner`.
    members : int
    steps, batch : int
    learning_rate : float
    schedule : {"cosine", "linear", "constant"}

    Examples
    --------
    >>> import numpy as np
    >>> import shiftproof as shp
    >>> from shiftproof.bayes import Ensemble, Network
    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> posterior = Ensemble(Network((8,)), members=3, steps=1000).fit(x, x[:, 0] ** 2, seed=0)
    >>> controller = shp.RiskController(
    ...     shp.PosteriorMean(posterior), shp.Intervals(), shp.Miscoverage()
    ... )
    >>> sets = controller.calibrate(x, x[:, 0] ** 2).predict([[0.5]], alpha=0.1)
    >>> bool(sets.size()[0] < 0.3)
    True
    """

    members: int = 10
    steps: int = 2000
    batch: int = 64
    learning_rate: float = 0.01
    schedule: str = "cosine"

    task: ClassVar[str] = "ensemble"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.whole("members", self.members, 1, "say 10")
        self._descent  # noqa: B018 - checks what it is made of

    @property
    def _descent(self) -> Descent:
        return Descent(self.steps, self.batch, self.learning_rate, self.schedule)

    def _posteriors(self, replicates: Replicates, progress: Progress) -> list[EnsemblePosterior]:
        layers, log_scale, history = to_modes(
            self.network, self.likelihood, replicates, self.members, self._descent, progress
        )
        return [
            EnsemblePosterior(**fields, history=part)
            for fields, part in zip(
                banks(self.law, replicates, self.network, layers, log_scale, self.members),
                np.split(history, len(replicates)),
                strict=True,
            )
        ]


@dataclass(frozen=True, eq=False)
class EnsemblePosterior(BankPosterior):
    """Members as a posterior, made by :class:`Ensemble`.

    Attributes
    ----------
    history : array (members, looks)
        The loss for each row of training, averaged between looks.

    Examples
    --------
    >>> from shiftproof.bayes import BankPosterior, EnsemblePosterior
    >>> issubclass(EnsemblePosterior, BankPosterior)
    True
    """

    history: FloatArray


@dataclass(frozen=True)
class Posteriori:
    """- log p(theta | data) of a batch, up to a constant, divided by the number of rows."""

    network: Network
    likelihood: Likelihood

    def loss(
        self, values: Any, x: jax.Array, y: jax.Array, data: Data, key: jax.Array, settings: Any
    ) -> jax.Array:
        """- mean log p(y | f) - (log prior(theta) + log prior(log scale)) / n."""
        del key, settings
        layers, learned = values
        log_scale = learned if self.likelihood.scale is None else data.log_noise
        fit = self.likelihood.log_density(self.network.outputs(layers, x), y, log_scale)
        prior = self.network.log_prior(layers) + log_prior_of_scale(learned)
        return -jnp.mean(fit) - prior / data.n


def to_modes(
    network: Network,
    law: Likelihood,
    replicates: Replicates,
    members: int,
    descent: Descent,
    progress: Progress,
) -> tuple[Any, Any, FloatArray]:
    """Weights and scales from `members` starts for each replicate, side by side, and losses."""
    repeated = replicates.repeated(members)
    coding = replicates.codings[0]
    start = (
        starts(network, of_seeds(replicates.seeds, "start", members), coding.width, coding.outputs),
        start_scales(len(repeated), coding.outputs),
    )
    words = of_seeds(replicates.seeds, "descent", members)
    (layers, log_scale), history = descent.run(
        Posteriori(network, law), start, repeated, words, None, progress
    )
    return layers, log_scale, history
