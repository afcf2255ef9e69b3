"""Small fitted networks that tests share, and the closed form that linear ones are held against."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from settings import Road
from shiftproof.bayes import (
    ConvergenceError,
    Ensemble,
    ErrorProbability,
    Gaussian,
    GibbsNetwork,
    LangevinNetwork,
    Network,
    PrivacyWarning,
    PrivateNetwork,
    Softmax,
    VariationalNetwork,
    Welsch,
)

NET = Network((8,))

#: One recipe of each learner, as short as it can be and still learn.
RECIPES: dict[str, Any] = {
    "variational": VariationalNetwork(NET, steps=600, kl_weight=1.0),
    "Langevin": LangevinNetwork(NET, warmup=400, burn_in=100, thin=5, snapshots=80),
    "Gibbs": GibbsNetwork(
        Network(()), loss=Welsch(3.0), inverse_temperature=2.0, draws=50, warmup=100
    ),
    "private": PrivateNetwork(NET, epsilon=20.0, steps=200, snapshots=20),
    "ensemble": Ensemble(NET, members=4, steps=300),
}
CLASSIFIERS: dict[str, Any] = {
    "variational": VariationalNetwork(NET, likelihood=Softmax(), steps=300),
    "Gibbs": GibbsNetwork(
        Network(()), loss=ErrorProbability(), inverse_temperature=3.0, draws=50, warmup=100
    ),
    "ensemble": Ensemble(NET, likelihood=Softmax(), members=4, steps=200),
}


def fitted(recipe, x, y, seed=0) -> Any:
    """A posterior; short chains, and units that are learned, are no matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        try:
            return recipe.fit(x, y, seed=seed)
        except ConvergenceError as error:
            return error.posterior


@cache
def training(rows: int = 300):
    x, y = Road().draw(np.random.default_rng(42), rows, target=False)
    x.setflags(write=False)
    return x, y


@cache
def of_numbers(name: str) -> Any:
    """Placed on the road of `settings`."""
    return fitted(RECIPES[name], *training())


@cache
def of_classes(name: str) -> Any:
    """Left, middle or right of the road."""
    x, y = training()
    return fitted(CLASSIFIERS[name], x, thirds(y))


def thirds(y):
    return np.array(["left", "middle", "right"])[np.digitize(y, [10 / 3, 20 / 3])]


@dataclass(frozen=True)
class Linear:
    """y = x w + b + noise: the posterior of w and b is Gaussian, and known."""

    rows: int = 40
    columns: int = 3
    noise: float = 0.5
    weight_variance: float = 1.5
    bias_variance: float = 0.7

    @property
    def network(self) -> Network:
        return Network((), weight_variance=self.weight_variance, bias_variance=self.bias_variance)

    @property
    def likelihood(self) -> Gaussian:
        return Gaussian(self.noise)

    @property
    def data(self):
        rng = np.random.default_rng(3)
        x = rng.normal(size=(self.rows, self.columns))
        x[:, 1] += 0.7 * x[:, 0]
        truth = np.array([1.0, -0.5, 0.3])[: self.columns]
        return x, x @ truth + 0.4 + self.noise * rng.normal(size=self.rows)

    def posterior(self, temperature: float = 1.0):
        """Mean and precision of (w, b): prior precision + Phi' Phi / (temperature noise^2)."""
        x, y = self.data
        design = np.column_stack([x, np.ones(len(x))])
        prior = [self.columns / self.weight_variance] * self.columns + [1 / self.bias_variance]
        heat = temperature * self.noise**2
        precision = np.diag(prior) + design.T @ design / heat
        return np.linalg.solve(precision, design.T @ y / heat), precision

    @staticmethod
    def weights(layers) -> np.ndarray:
        """Stacked weights and biases of a bank of linear models, (models, columns + 1)."""
        weights, biases = layers[0]
        return np.concatenate([np.asarray(weights)[..., 0], np.asarray(biases)], axis=-1)
