"""How large sets will be, before they are calibrated: bands, bounds, and what they are made of."""

from shiftproof.theory.bands import (
    Band,
    bernstein_band,
    betting_band,
    chain_band,
    dkw_band,
    group_band,
    kl_band,
    pac_bayes_band,
)
from shiftproof.theory.bias import pinsker_bias, printed_bias, ratio_bias, variation_bias
from shiftproof.theory.bound import SizeBound, printed_bound, repaired_bound
from shiftproof.theory.generalization import generalization_gap, training_risk
from shiftproof.theory.information import (
    divergence_above,
    gibbs_information,
    langevin_information,
    printed_beta,
    private_information,
)
from shiftproof.theory.size import SizeCurve
from shiftproof.theory.tails import Bennett, Bernstein, Best, Hoeffding, Tail

__all__ = [
    "Band",
    "Bennett",
    "Bernstein",
    "Best",
    "Hoeffding",
    "SizeBound",
    "SizeCurve",
    "Tail",
    "bernstein_band",
    "betting_band",
    "chain_band",
    "divergence_above",
    "dkw_band",
    "generalization_gap",
    "gibbs_information",
    "group_band",
    "kl_band",
    "langevin_information",
    "pac_bayes_band",
    "pinsker_bias",
    "printed_beta",
    "printed_bias",
    "printed_bound",
    "private_information",
    "ratio_bias",
    "repaired_bound",
    "training_risk",
    "variation_bias",
]
