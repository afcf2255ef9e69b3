"""The classes that a file may name, each with the fields that make it again.

A file says "GroupRatio" and the values of its fields. Only names of this table are known, so that
reading a file imports nothing else and calls nothing else. Values are checked against the types
that the class itself states, and all but snapshots of models go through its constructor.

What holds a function is not here: functions are given again.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from shiftproof.risk import LossCurves


@dataclass(frozen=True)
class Form:
    """How objects of one class are taken apart and made again.

    Parameters
    ----------
    home : str
        The module and the name of the class.
    types : mapping of str to str, optional
        The fields and their types; those of the dataclass where left out.
    take : callable, optional
        From an object to the values of its fields; its attributes where left out.
    make : callable, optional
        From the class and the values to an object; its constructor where left out.
    """

    home: str
    types: Mapping[str, str] | None = None
    take: Callable[[Any], dict[str, Any]] | None = None
    make: Callable[[Any, dict[str, Any]], Any] = lambda kind, values: kind(**values)

    @cached_property
    def kind(self) -> type:
        """The class."""
        module, name = self.home.split(":")
        found: type = getattr(import_module(module), name)
        return found

    @cached_property
    def fields(self) -> dict[str, str]:
        """The fields, each with its type in words."""
        if self.types is not None:
            return dict(self.types)
        return {one.name: str(one.type) for one in dataclasses.fields(self.kind)}

    def apart(self, made: object) -> dict[str, Any]:
        """The values of all fields."""
        if self.take is not None:
            return self.take(made)
        return {name: getattr(made, name) for name in self.fields}

    def again(self, values: dict[str, Any]) -> Any:
        """An object with these values; a ValueError or TypeError where they make none."""
        if set(values) != set(self.fields):
            raise ValueError(f"fields {sorted(values)}")
        for name, value in values.items():
            if not fits(self.fields[name], value):
                raise TypeError(f"{name} is no {self.fields[name]}")
        return self.make(self.kind, values)


def recipe_name(made: object) -> str | None:
    """The name under which a file knows objects of this very class; None where it does not."""
    home = f"{type(made).__module__}:{type(made).__name__}"
    return _NAMES.get(home)


def fits(type_in_words: str, value: object) -> bool:
    """Whether a value is of a type, as annotations spell types.

    Examples
    --------
    >>> from shiftproof.persist.recipes import fits
    >>> fits("tuple[str, ...] | None", ("a", "b")), fits("float", "a"), fits("Ledger", 3)
    (True, False, False)
    """
    choices = _split(type_in_words, "|")
    if len(choices) > 1:
        return any(fits(one, value) for one in choices)
    outer, inner = _outer_and_inner(type_in_words.strip())
    if outer == "tuple":
        parts = _split(inner, ",")
        if parts[-1] != "...":
            parts_fit = map(fits, parts, value) if isinstance(value, tuple) else [False]
            return all(parts_fit) and len(value) == len(parts)  # type: ignore[arg-type]
        return isinstance(value, tuple) and all(fits(parts[0], one) for one in value)
    if outer in ("dict", "Mapping"):
        key, held = _split(inner, ",")
        return isinstance(value, dict) and all(
            fits(key, one) and fits(held, other) for one, other in value.items()
        )
    if outer == "frozenset":
        return isinstance(value, frozenset) and all(fits(inner, one) for one in value)
    if outer in _BASIC:
        return _BASIC[outer](value)
    return any(one.__name__ == outer for one in type(value).__mro__)


def _split(words: str, mark: str) -> list[str]:
    """Parts between marks that stand outside all brackets."""
    parts, depth = [""], 0
    for sign in words:
        depth += (sign == "[") - (sign == "]")
        if sign == mark and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def _outer_and_inner(words: str) -> tuple[str, str]:
    found = re.fullmatch(r"([\w.]+)(?:\[(.*)\])?", words)
    return (words, "") if found is None else (found[1], found[2] or "")


def _is_array(kinds: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, np.ndarray) and value.dtype.kind in kinds


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _has(method: str) -> Callable[[object], bool]:
    return lambda value: hasattr(value, method)


_BASIC: dict[str, Callable[[object], bool]] = {
    "None": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool),
    "int": _is_whole,
    "float": _is_number,
    "str": lambda value: isinstance(value, str),
    "Column": lambda value: isinstance(value, str) or _is_whole(value),
    "Grouping": lambda value: isinstance(value, str) or _is_whole(value),
    "Hashable": lambda value: not isinstance(value, (list, dict, np.ndarray)),
    "FloatArray": _is_array("f"),
    "IntArray": _is_array("i"),
    "KeyArray": _is_array("u"),
    "Array": lambda value: isinstance(value, np.ndarray),
    "ArrayLike": lambda value: isinstance(value, (np.ndarray, list, tuple)),
    "Sequence": lambda value: isinstance(value, (np.ndarray, list, tuple)),
    "Any": lambda _: True,
    "object": lambda _: True,
    "Density": _has("logpdf"),
    "IntervalScore": _has("core"),
    "LabelScore": _has("entries"),
    "Posterior": _has("draw"),
    "Predictor": _has("probabilities"),
    "Region": _has("project"),
    "SetLoss": _has("loss_max"),
}


def _curves(kind: Any, values: dict[str, Any]) -> LossCurves:
    """Loss curves, their ramps checked."""
    del kind
    return LossCurves.of_ramps(**values)


def _bare(kind: Any, values: dict[str, Any]) -> Any:
    """Without the constructor, which would work out again what the fields hold."""
    return _with(object.__new__(kind), values)


def _with(made: Any, values: Mapping[str, Any]) -> Any:
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def _in(module: str, *names: str) -> dict[str, Form]:
    return {name: Form(f"shiftproof.{module}:{name}") for name in names}


def _posterior(home: str, **more: str) -> Form:
    """A fitted network: what all of them hold, and what is its own."""
    laws = "Gaussian | StudentT | Softmax | Welsch | ErrorProbability"
    held = {"network": "Network", "law": laws, "coding": "Coding", "log_scale": "Array"}
    return Form(f"shiftproof.bayes.{home}", held | more)


_LOSSES = {"losses": "LossCurves"}

_LAYERS = "tuple[tuple[Array, Array], ...]"
_CHAINS = {"layers": _LAYERS, "chains": "int", "divergent": "int | None"}

#: All that a file may name.
RECIPES: dict[str, Form] = {
    **_in("sets.intervals", "Intervals", "Residual", "ScaledResidual", "Quantiles"),
    **_in("sets.balls", "Balls"),
    **_in("sets.labels", "LabelSets", "LAC", "APS", "RAPS"),
    **_in("sets.masks", "Masks"),
    **_in("sets.region", "Box"),
    "Polygon": Form(
        "shiftproof.sets.region:Polygon",
        make=lambda kind, v: _with(kind(v["vertices"]), v),
    ),
    **_in("losses.miscoverage", "Miscoverage"),
    **_in("losses.distance", "Distance"),
    **_in("losses.false_negative", "FalseNegativeRate"),
    **_in("losses.monotone", "Monotonized", "F1"),
    **_in("worst_case", "Constant", "Pointwise", "Directional"),
    **_in("predictors.models", "Model", "OnColumns"),
    "Columns": Form("shiftproof.predictors.models:Columns", make=lambda kind, v: kind(*v["names"])),
    **_in("predictors.posteriors", "Thompson", "PosteriorMean"),
    "Snapshots": Form("shiftproof.predictors.posteriors:Snapshots", make=_bare),
    **_in("ratios.known", "NoShift", "ColumnRatio"),
    "DensityRatio": Form(
        "shiftproof.ratios.known:DensityRatio",
        make=lambda kind, v: kind(v["target"], v["source"], v["reads"]),
    ),
    **_in("ratios.groups", "Counts", "GroupIntervals"),
    "GroupRatio": Form(
        "shiftproof.ratios.groups:GroupRatio",
        make=lambda kind, v: _with(
            kind(v["group"], source=v["source"], target=v["target"]), {"made_from": v["made_from"]}
        ),
    ),
    **_in("ratios.within", "WithinGroups"),
    **_in("ratios.roles", "Ledger"),
    **_in("ratios.classifier", "FittedClassifierRatio"),
    **_in("ratios.encoding", "Encoder", "Native"),
    "EncodedColumns": Form("shiftproof.ratios.encoding:Columns"),
    **_in("ratios.gaussians", "ScaledGaussian"),
    "FittedGaussians": Form(
        "shiftproof.ratios.gaussians:FittedGaussians",
        {"target": "Density", "source": "Density", "fitted_to": "Ledger", "width": "int | None"},
    ),
    **_in("ratios.kernels", "FittedKernels"),
    **_in("ratios.crossfit", "FittedCrossfit"),
    **_in("ratios.bootstrap", "BootstrappedRatio"),
    **_in("ratios.clip", "ClippedWeights", "PricedRatio", "DrawnRatio"),
    "LossCurves": Form("shiftproof.risk.curves:LossCurves", make=_curves),
    "RiskCurve": Form("shiftproof.risk.curve:RiskCurve", _LOSSES | {"weights": "FloatArray"}),
    **_in("risk.boxes", "WeightBox", "CoherentBox"),
    "BoxedCurve": Form("shiftproof.risk.boxes:BoxedCurve", _LOSSES | {"box": "WeightBox"}),
    "CoherentCurve": Form("shiftproof.risk.boxes:CoherentCurve", _LOSSES | {"box": "CoherentBox"}),
    "StratifiedCurve": Form(
        "shiftproof.risk.strata:StratifiedCurve", _LOSSES | {"codes": "IntArray"}
    ),
    **_in("risk.priced", "Price"),
    "PricedCurve": Form(
        "shiftproof.risk.priced:PricedCurve", {"curve": "ThresholdRule", "price": "Price"}
    ),
    "DrawnCurve": Form(
        "shiftproof.risk.priced:DrawnCurve",
        {"curve": "RiskCurve", "kept": "float", "left_out": "float"},
        take=lambda curve: {
            "curve": curve.curve,
            "kept": float(curve.price.factors[0]),
            "left_out": float(curve.price.masses[0]),
        },
    ),
    **_in("bayes.network", "Network"),
    **_in("bayes.laws", "Gaussian", "StudentT", "Softmax", "Welsch", "ErrorProbability"),
    **_in("bayes.scaling", "Scaling"),
    **_in("bayes.accounting", "Spent"),
    **_in("bayes.chains", "Diagnostics"),
    "Coding": Form(
        "shiftproof.bayes.coding:Coding",
        {
            "inputs": "Scaling",
            "labels": "Scaling",
            "columns": "tuple[Column, ...] | None",
            "classes": "Array | None",
            "flat": "bool",
            "through": "NetworkPosterior | None",
        },
    ),
    "VariationalPosterior": _posterior(
        "variational:VariationalPosterior",
        means=_LAYERS,
        deviations=_LAYERS,
        history="FloatArray",
        seed="int",
    ),
    "EnsemblePosterior": _posterior(
        "ensemble:EnsemblePosterior", layers=_LAYERS, history="FloatArray"
    ),
    "LangevinPosterior": _posterior("langevin:LangevinPosterior", **_CHAINS),
    "GibbsPosterior": _posterior(
        "gibbs:GibbsPosterior", **_CHAINS, diagnostics="Diagnostics", spent="Spent"
    ),
    "PrivatePosterior": _posterior("private:PrivatePosterior", layers=_LAYERS, spent="Spent"),
}

_NAMES = {recipe.home: name for name, recipe in RECIPES.items()}
