"""A worn camera reads digits: python examples/digits_shift.py

1,797 images of digits (data that ships with scikit-learn), taken with two cameras: a good one and a
worn one whose pictures are noisy. Half of the calibration images come from each; in use nine of ten
come from the worn one, or nobody knows how many. The promise: the set misses at most one digit in
ten. And, for each pixel of a restored image: at most a tenth of the ink is missed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import shiftproof as shp

Floats = NDArray[np.float64]

REPETITIONS, TRAIN, CALIBRATE, USE = 60, 600, 400, 400
WORN_IN_CALIBRATION, WORN_IN_USE, NOISE, ALPHA = 0.5, 0.9, 9.0, 0.1
PIXELS, CAMERA = range(64), 64  # the columns of the table


def rates(worn: float) -> dict[bool, float]:
    return {True: worn, False: 1 - worn}


@dataclass(frozen=True)
class Pictures:
    """A table of pixels and whether the camera was worn, digits, and images without noise."""

    table: Floats
    digits: NDArray[np.int64]
    clean: Floats

    @classmethod
    def taken(
        cls, rng: np.random.Generator, images: Floats, digits: NDArray[np.int64], worn: float
    ) -> Pictures:
        camera = rng.random(len(images)) < worn
        noise = rng.normal(0, NOISE, images.shape) * camera[:, None]
        table = np.column_stack([np.clip(images + noise, 0, 16), camera])
        return cls(table, digits, images)

    @property
    def dark(self) -> NDArray[np.bool_]:
        """The pixels that are mostly ink."""
        return (self.clean >= 8).reshape(-1, 8, 8)


COUNTED = shp.GroupRatio(CAMERA, source=rates(WORN_IN_CALIBRATION), target=rates(WORN_IN_USE))
RATIOS: dict[str, Any] = {
    "no weights": shp.NoShift(),
    "weights": COUNTED,
    "within groups": shp.WithinGroups(CAMERA),
}


def ink(table: Floats) -> Floats:
    """How dark each pixel is, smoothed with its neighbours: a plain restoration."""
    image = table[:, PIXELS].reshape(-1, 8, 8)
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    around = [padded[:, 1 + i : 9 + i, 1 + j : 9 + j] for i in (-1, 0, 1) for j in (-1, 0, 1)]
    smoothed: Floats = (0.5 * image + 0.5 * np.mean(around, axis=0)) / 16
    return smoothed


def main() -> None:
    images, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(2026)
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for _ in range(REPETITIONS):
        parts = np.split(rng.permutation(len(digits)), np.cumsum([TRAIN, CALIBRATE, USE]))[:3]
        train, calibration, use = (
            Pictures.taken(rng, images[part], digits[part], worn)
            for part, worn in zip(parts, (0.5, WORN_IN_CALIBRATION, WORN_IN_USE), strict=True)
        )
        model = LogisticRegression(C=0.01, max_iter=200)
        model.fit(train.table[:, PIXELS] / 16, train.digits)
        classifier = shp.OnColumns(lambda x, model=model: model.predict_proba(x / 16), PIXELS)
        for name, ratio in RATIOS.items():
            sets = shp.RiskController(
                classifier, shp.LabelSets(shp.APS()), shp.Miscoverage(), ratio
            )
            masks = shp.RiskController(ink, shp.Masks(), shp.FalseNegativeRate(), ratio)
            for what, controller, known, truth in (
                ("digits", sets, calibration.digits, use.digits),
                ("ink", masks, calibration.dark, use.dark),
            ):
                calibrated = controller.calibrate(calibration.table, known)
                result = calibrated.evaluate(use.table, truth, ALPHA)
                found.setdefault((what, name), []).append((result.risk.value, result.size.value))

    print(f"\nPromise: {ALPHA:g} of digits, and of ink, are missed at most; in use")
    print(
        f"{WORN_IN_USE:.0%} of pictures are from the worn camera. Mean over {REPETITIONS} splits:"
    )
    print(f"{'sets of':<10}{'calibrated with':<18}{'missed':>9}{'size':>9}")
    for (what, name), figures in found.items():
        risks, sizes = np.array(figures).T
        print(f"{what:<10}{name:<18}{risks.mean():>9.4f}{sizes.mean():>9.2f}")
        beyond = 3 * risks.std(ddof=1) / np.sqrt(REPETITIONS)
        if name == "no weights":
            assert risks.mean() > ALPHA + beyond, "without weights the shift breaks the promise"
        else:
            assert risks.mean() <= ALPHA + beyond, "weights, or groups of their own, keep it"


if __name__ == "__main__":
    main()
