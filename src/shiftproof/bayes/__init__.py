"""Bayesian networks: distributions over predictors, for Thompson sampling and for means.

They need jax, optax and blackjax, the extra ``bayes``. Names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

_HOME = {
    "BankPosterior": "shiftproof.bayes.bank",
    "ByColumn": "shiftproof.bayes.scaling",
    "ChainPosterior": "shiftproof.bayes.chains",
    "Diagnostics": "shiftproof.bayes.chains",
    "DivergenceError": "shiftproof.bayes.training",
    "Ensemble": "shiftproof.bayes.ensemble",
    "EnsemblePosterior": "shiftproof.bayes.ensemble",
    "ErrorProbability": "shiftproof.bayes.laws",
    "Gaussian": "shiftproof.bayes.laws",
    "GibbsNetwork": "shiftproof.bayes.gibbs",
    "GibbsPosterior": "shiftproof.bayes.gibbs",
    "LangevinNetwork": "shiftproof.bayes.langevin",
    "LangevinPosterior": "shiftproof.bayes.langevin",
    "Learner": "shiftproof.bayes.learner",
    "LikelihoodLearner": "shiftproof.bayes.learner",
    "Network": "shiftproof.bayes.network",
    "NetworkPosterior": "shiftproof.bayes.posterior",
    "ConvergenceError": "shiftproof.bayes.gibbs",
    "PrivacyWarning": "shiftproof.bayes.accounting",
    "PrivateNetwork": "shiftproof.bayes.private",
    "PrivatePosterior": "shiftproof.bayes.private",
    "Scaling": "shiftproof.bayes.scaling",
    "Softmax": "shiftproof.bayes.laws",
    "Spent": "shiftproof.bayes.accounting",
    "StudentT": "shiftproof.bayes.laws",
    "Together": "shiftproof.bayes.scaling",
    "VariationalNetwork": "shiftproof.bayes.variational",
    "VariationalPosterior": "shiftproof.bayes.variational",
    "Welsch": "shiftproof.bayes.laws",
    "epsilon_of": "shiftproof.bayes.accounting",
    "noise_for": "shiftproof.bayes.accounting",
}

if TYPE_CHECKING:
    from shiftproof.bayes.accounting import PrivacyWarning, Spent, epsilon_of, noise_for
    from shiftproof.bayes.bank import BankPosterior
    from shiftproof.bayes.chains import ChainPosterior, Diagnostics
    from shiftproof.bayes.ensemble import Ensemble, EnsemblePosterior
    from shiftproof.bayes.gibbs import ConvergenceError, GibbsNetwork, GibbsPosterior
    from shiftproof.bayes.langevin import LangevinNetwork, LangevinPosterior
    from shiftproof.bayes.laws import ErrorProbability, Gaussian, Softmax, StudentT, Welsch
    from shiftproof.bayes.learner import Learner, LikelihoodLearner
    from shiftproof.bayes.network import Network
    from shiftproof.bayes.posterior import NetworkPosterior
    from shiftproof.bayes.private import PrivateNetwork, PrivatePosterior
    from shiftproof.bayes.scaling import ByColumn, Scaling, Together
    from shiftproof.bayes.training import DivergenceError
    from shiftproof.bayes.variational import VariationalNetwork, VariationalPosterior

__all__ = [
    "BankPosterior",
    "ByColumn",
    "ChainPosterior",
    "ConvergenceError",
    "Diagnostics",
    "DivergenceError",
    "Ensemble",
    "EnsemblePosterior",
    "ErrorProbability",
    "Gaussian",
    "GibbsNetwork",
    "GibbsPosterior",
    "LangevinNetwork",
    "LangevinPosterior",
    "Learner",
    "LikelihoodLearner",
    "Network",
    "NetworkPosterior",
    "PrivacyWarning",
    "PrivateNetwork",
    "PrivatePosterior",
    "Scaling",
    "Softmax",
    "Spent",
    "StudentT",
    "Together",
    "VariationalNetwork",
    "VariationalPosterior",
    "Welsch",
    "epsilon_of",
    "noise_for",
]

_PACKAGES = {"jax", "jaxlib", "optax", "blackjax"}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value: object = getattr(import_module(_HOME[name]), name)
    except ModuleNotFoundError as cause:
        if (cause.name or "").split(".")[0] not in _PACKAGES:
            raise
        raise ModuleNotFoundError(
            "Bayesian networks need jax, optax and blackjax: pip install 'shiftproof[bayes]'"
        ) from cause
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
