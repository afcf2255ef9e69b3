"""How far a ratio can be trusted on two samples of inputs: a page of figures, no labels needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from shiftproof import _checks
from shiftproof._tables import Column, Table
from shiftproof._types import FloatArray
from shiftproof.contracts import Certainty
from shiftproof.errors import InputError
from shiftproof.ratios.encoding import Columns, Encoder
from shiftproof.ratios.known import column_names
from shiftproof.ratios.plain import PlainRatio
from shiftproof.ratios.separation import Separation
from shiftproof.risk import Price

#: Above it a mean of weights settles too slowly to be relied on (Vehtari and others 2024).
_HEAVY = 0.7

#: Fewer rows say nothing to a classifier.
_FEWEST = 20

#: So many largest weights at least make a tail.
_TAIL = 5


@dataclass(frozen=True)
class Figure:
    """One number, how far it can be trusted, and what it says.

    Examples
    --------
    >>> import shiftproof as shp
    >>> print(shp.Figure(1.8, shp.Certainty.GIVEN_WEIGHTS, "no row counts for more than 1.8"))
    1.8 (exact given the weights): no row counts for more than 1.8
    """

    value: float
    certainty: Certainty
    sentence: str

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.certainty}): {self.sentence}"


@dataclass(frozen=True)
class Diagnosis:
    """What two samples of inputs say about a ratio, made by :func:`diagnose`.

    Attributes
    ----------
    judged : str
        The weights that the figures are of. A ratio with bounds is judged by the weights in their
        middle, a clipped one by its clipped weights.
    effective_size : Figure
        (sum W)^2 / sum W^2 on the source.
    largest_ratio : Figure
        Of all rows of both samples.
    top_share : Figure
        The part of the source's weight that the top 1 % of its rows have.
    tail_index : Figure
        Of the Pareto law that fits the largest weights; above .7 means are unstable.
    mean_ratio : Figure
        On the source; 1 for a ratio that is scaled as a density ratio.
    moved_mass : Figure
        Total variation between source and weighted source.
    difference_before, difference_after : Figure
        The largest standardised difference of a column's means, target against source, and target
        against weighted source.
    auc_before, auc_after : Figure
        Of a classifier, target against source, and target against weighted source. Of samples that
        are alike fewer than one in ten are said to be told apart.
    outside_support : Figure
        The share of target rows with an infinite ratio.
    outside_range : Figure
        The share of target rows with an input beyond those of all source rows.
    smallest_alpha, smallest_alpha_everywhere : Figure
        The smallest alpha with finite sets by the paper's rule, for half of the target rows, and
        for all; what a clipped or bounded ratio pays of alpha is counted in.
    differences : dict
        Standardised differences before and after weighting, for every column of the comparison.
    on_source, on_target : array
        The weights of the rows of both samples.

    Examples
    --------
    >>> import numpy as np, shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.normal(0, 1, (1000, 1)), rng.normal(1, 1, (500, 1))
    >>> found = shp.diagnose(shp.KnownRatio(lambda x: np.exp(x[:, 0] - 0.5)), source, target)
    >>> print(found.effective_size)
    411.6 (exact given the weights): 1,000 source rows vary as much as 412 unweighted ones
    >>> list(found.table())
    ['figure', 'value', 'certainty', 'sentence']
    """

    effective_size: Figure
    largest_ratio: Figure
    top_share: Figure
    tail_index: Figure
    mean_ratio: Figure
    moved_mass: Figure
    difference_before: Figure
    difference_after: Figure
    auc_before: Figure
    auc_after: Figure
    outside_support: Figure
    outside_range: Figure
    smallest_alpha: Figure
    smallest_alpha_everywhere: Figure
    judged: str
    differences: dict[str, tuple[float, float]] = field(repr=False)
    on_source: FloatArray = field(repr=False, compare=False)
    on_target: FloatArray = field(repr=False, compare=False)

    @property
    def figures(self) -> dict[str, Figure]:
        """All figures by name."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in found.items() if isinstance(value, Figure)}

    def table(self) -> dict[str, list[object]]:
        """Columns for a data frame: ``pandas.DataFrame(diagnosis.table())``."""
        figures = self.figures
        return {
            "figure": list(figures),
            "value": [figure.value for figure in figures.values()],
            "certainty": [str(figure.certainty) for figure in figures.values()],
            "sentence": [figure.sentence for figure in figures.values()],
        }

    def __str__(self) -> str:
        wide = max(map(len, self.figures))
        lines = (
            f"{name.replace('_', ' '):<{wide}} {figure.value:>9.4g}  {figure.sentence}"
            for name, figure in self.figures.items()
        )
        return "\n".join([f"weights: {self.judged}", *lines])


def diagnose(
    ratio: object,
    source: object,
    target: object,
    *,
    bound: float = 1.0,
    n_cal: int | None = None,
    columns: Sequence[Column] | None = None,
    seed: int = 0,
) -> Diagnosis:
    """Figures on how far a ratio can be trusted, each with a sentence.

    Best on rows that the ratio was not fitted to: on its own rows it looks better than it is.

    Parameters
    ----------
    ratio : a ratio with numbers for weights, clipped or not, or with bounds around such a ratio
    source, target : table or array
        Inputs from both distributions.
    bound : float
        The largest loss, Lmax; smallest levels are in its units.
    n_cal : int, optional
        How many calibration rows there will be; as many as source rows where left out.
    columns : sequence of names or positions, optional
        The inputs to compare; those that the ratio reads, or all, where left out.
    seed : int
        For the folds of the classifier.

    Examples
    --------
    >>> import numpy as np, shiftproof as shp
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.integers(0, 2, 500), np.ones(100)
    >>> ratio = shp.GroupRatio(0, source={0: 0.5, 1: 0.5}, target={0: 0.0, 1: 1.0})
    >>> print(shp.diagnose(ratio, source, target).auc_after.sentence)
    weighted source rows are not told from target rows (.5 is a guess; standard error 0.048)
    """
    weigher, names = _point(ratio), column_names(columns)
    limit = _checks.bound_of(bound)
    _checks.seed(seed)
    if n_cal is not None:
        _checks.whole("n_cal", n_cal, 1, "pass the number of labels")
    tables = Table.of("source", source), Table.of("target", target)
    for table in tables:
        if len(table) < _FEWEST:
            raise InputError(
                table.what, f"at least {_FEWEST} rows", f"{len(table)}", "pass more inputs"
            )
    on_source, on_target = (weigher.weights(table) for table in tables)
    _checks.calibration_weights("weights of source", on_source, len(on_source))
    if not on_source.any():
        raise InputError(
            "weights of source",
            "some weight above 0",
            "none",
            "by this ratio no source row has a counterpart in the target",
        )
    rows = len(on_source) if n_cal is None else n_cal
    compared = names if names is not None else weigher.columns or None
    encoder = Encoder.of(Columns.of(*tables, compared), tables)
    points = encoder(tables[0]), encoder(tables[1])
    before = Separation.of(*points, seed=seed)
    after = Separation.of(*points, on_source, seed=seed)
    differences = _differences(encoder.labels, *points, on_source)
    price = getattr(ratio, "price", Price.nothing())
    alphas = _paid(price, limit * _smallest_levels(on_source, on_target, rows), limit)
    paying = ", its price included" if price.smallest_alpha(limit) else ""
    half, everywhere = f"half of the target rows{paying}", f"all target rows{paying}"
    return Diagnosis(
        **_figures_of_weights(on_source, on_target),
        moved_mass=_moved(on_source, before),
        difference_before=_largest_difference(differences, 0, "before weighting"),
        difference_after=_largest_difference(differences, 1, "after weighting"),
        auc_before=_auc(before, "source rows"),
        auc_after=_auc(after, "weighted source rows"),
        outside_support=_outside_support(on_target),
        outside_range=_outside_range(*points),
        smallest_alpha=_level(float(np.median(alphas)), limit, rows, half),
        smallest_alpha_everywhere=_level(float(alphas.max()), limit, rows, everywhere),
        judged=weigher.assumption.basis,
        differences=differences,
        on_source=on_source,
        on_target=on_target,
    )


def tail_index(weights: FloatArray) -> float:
    """K of the generalised Pareto law that fits the largest weights; -inf where they are alike.

    The largest min(n/5, 3 sqrt n) weights, less the next one. Moments of order 1/k and more do not
    exist: from k = 1/2 on the variance is infinite, from k = 1 on the mean. The estimate is the
    posterior mean of Zhang and Stephens (2009) with the weak prior of Vehtari and others (2024);
    the packages that have it are whole toolboxes of Bayesian statistics.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftproof.ratios.diagnose import tail_index
    >>> u = (np.arange(10_000) + 0.5) / 10_000
    >>> round(tail_index(u**-0.5), 2), round(tail_index(-np.log(u)), 2)  # .5 and 0
    (0.5, 0.02)
    """
    order = np.sort(weights)
    size = int(min(len(order) / 5, 3 * math.sqrt(len(order))))
    excess = order[len(order) - size :] - order[len(order) - size - 1]
    excess = excess[excess > 0]
    n = len(excess)
    if n < _TAIL or excess[0] == excess[-1]:
        return -math.inf
    j = np.arange(1, 31 + int(math.sqrt(n))) - 0.5
    quartile = excess[int(n / 4 + 0.5) - 1]
    slopes = 1 / excess[-1] + (1 - np.sqrt((len(j)) / j)) / (3 * quartile)
    shapes = np.log1p(-slopes[:, None] * excess).mean(axis=1)
    likelihood = n * (np.log(-slopes / shapes) - shapes - 1)
    chance = np.exp(likelihood - likelihood.max())
    slope = float((slopes * chance).sum() / chance.sum())
    shape = float(np.log1p(-slope * excess).mean())
    return (n * shape + 10 * 0.5) / (n + 10)


def _point(ratio: object) -> PlainRatio:
    found = getattr(ratio, "point", ratio)
    if not isinstance(found, PlainRatio):
        repair = "pass a ratio such as ClassifierRatio().fit(source, target)"
        raise InputError("ratio", "a fitted ratio", type(ratio).__name__, repair)
    return found


def _figures_of_weights(on_source: FloatArray, on_target: FloatArray) -> dict[str, Figure]:
    given = Certainty.GIVEN_WEIGHTS
    n = len(on_source)
    scaled = on_source / on_source.max()
    effective = float(scaled.sum() ** 2 / (scaled**2).sum())
    top = math.ceil(n / 100)
    share = float(np.sort(scaled)[n - top :].sum() / scaled.sum())
    finite = on_target[np.isfinite(on_target)]
    largest = float(max(on_source.max(), finite.max(initial=0.0)))
    index = tail_index(scaled)
    heavy = "too heavy: the largest weights decide" if index > _HEAVY else "means settle"
    mean = float(on_source.mean())
    error = float(on_source.std(ddof=1)) / math.sqrt(n)
    return {
        "effective_size": Figure(
            effective, given, f"{n:,} source rows vary as much as {effective:.0f} unweighted ones"
        ),
        "largest_ratio": Figure(
            largest, given, f"the largest finite ratio, {largest / mean:.3g} times the mean"
        ),
        "top_share": Figure(
            share, given, f"of the weight is on the top 1 % of the source ({top:,} rows)"
        ),
        "tail_index": Figure(
            index,
            Certainty.ESTIMATED,
            "the largest weights are alike: no tail"
            if math.isinf(index)
            else f"Pareto index of the largest weights ({_HEAVY} is the limit): {heavy}",
        ),
        "mean_ratio": Figure(
            mean,
            Certainty.ESTIMATED,
            f"mean on the source, standard error {error:.2g}; 1 for a density ratio, any other "
            "value for a ratio up to a constant",
        ),
    }


def _moved(on_source: FloatArray, before: Separation) -> Figure:
    moved = float(np.abs(on_source / on_source.mean() - 1).mean() / 2)
    return Figure(
        moved,
        Certainty.ESTIMATED,
        f"of the source's mass is moved by the weights (total variation); a classifier shows that "
        f"{before.mass:.2g} at least has to move (standard error {before.mass_error:.2g})",
    )


def _differences(
    labels: Sequence[str], source: FloatArray, target: FloatArray, weights: FloatArray
) -> dict[str, tuple[float, float]]:
    """(mean of the target - mean of the source) / spread, without and with weights."""
    spread = np.sqrt((source.var(axis=0) + target.var(axis=0)) / 2)
    spread = np.where(spread > 0, spread, 1.0)
    before = (target.mean(axis=0) - source.mean(axis=0)) / spread
    after = (target.mean(axis=0) - np.average(source, axis=0, weights=weights)) / spread
    pairs = zip(before.tolist(), after.tolist(), strict=True)
    return dict(zip(labels, pairs, strict=True))


def _largest_difference(
    differences: dict[str, tuple[float, float]], place: int, when: str
) -> Figure:
    name = max(differences, key=lambda label: abs(differences[label][place]))
    value = abs(differences[name][place])
    return Figure(
        value,
        Certainty.ESTIMATED,
        f"standard deviations between the means of {name}, the farthest apart {when}",
    )


def _auc(found: Separation, which: str) -> Figure:
    verdict = "are told from" if found.is_told else "are not told from"
    return Figure(
        found.auc,
        Certainty.ESTIMATED,
        f"{which} {verdict} target rows (.5 is a guess; standard error {found.auc_error:.2g})",
    )


def _outside_support(on_target: FloatArray) -> Figure:
    share = float(np.isinf(on_target).mean())
    return Figure(
        share,
        Certainty.GIVEN_WEIGHTS,
        "of target rows have an infinite ratio: the paper's rule gives them the whole label space",
    )


def _outside_range(source: FloatArray, target: FloatArray) -> Figure:
    beyond = (target < source.min(axis=0)) | (target > source.max(axis=0))
    share = float(beyond.any(axis=1).mean())
    alike = 1 - (1 - 2 / (len(source) + 1)) ** source.shape[1]
    return Figure(
        share,
        Certainty.ESTIMATED,
        f"of target rows lie beyond the source in some column; up to {alike:.2g} would without a "
        "shift. An estimated ratio is a guess there",
    )


def _smallest_levels(on_source: FloatArray, on_target: FloatArray, rows: int) -> FloatArray:
    """Alpha / Lmax = W / (sum_i W_i + W): from there on the paper's budget is not below 0."""
    total = on_source.sum() / len(on_source) * rows
    finite = np.where(np.isinf(on_target), 0.0, on_target)
    return np.where(np.isinf(on_target), 1.0, finite / (total + finite))


def _paid(price: Price, levels: FloatArray, bound: float) -> FloatArray:
    """The alpha that leaves each level: min over k of factor_k a + Lmax mass_k."""
    return levels if math.isinf(bound) else price.risk(levels, bound=bound)


def _level(value: float, bound: float, rows: int, which: str) -> Figure:
    return Figure(
        value,
        Certainty.ESTIMATED,
        f"the smallest alpha with finite sets by the paper's rule for {which}, of a loss up to "
        f"{bound:.6g}, with {rows:,} calibration rows",
    )
