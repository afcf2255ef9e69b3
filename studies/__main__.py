"""python -m studies NAME [--quick] [--out DIR] [--jobs N]: run a study, and draw it."""

from __future__ import annotations

import argparse
from pathlib import Path

from shiftproof.runs import Run
from studies import fig2

STUDIES = {"fig2": fig2}


def main(words: list[str] | None = None) -> None:
    """Run a study, or take it up where it ended, and draw what it found."""
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    parser.add_argument("study", choices=sorted(STUDIES))
    parser.add_argument("--quick", action="store_true", help="a smaller CONFIG, nothing else")
    parser.add_argument("--out", type=Path, default=Path("studies/results"), help="a folder")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    asked = parser.parse_args(words)
    study = STUDIES[asked.study]
    config = study.CONFIG | (study.QUICK if asked.quick else {})
    asked.out.mkdir(parents=True, exist_ok=True)
    stem = asked.study + ("_quick" if asked.quick else "")
    run = Run(asked.out / f"{stem}.json", config=config, jobs=asked.jobs)
    figure = study.draw(study.run(config, run))
    figure.savefig(asked.out / f"{stem}.png", dpi=150)
    print(asked.out / f"{stem}.json")
    print(asked.out / f"{stem}.png")


if __name__ == "__main__":
    main()
