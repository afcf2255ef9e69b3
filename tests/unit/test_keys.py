"""Row keys: a function of seed, role and id; independent otherwise."""

import numpy as np
import pytest

from shiftproof import keys
from shiftproof.errors import InputError


def test_published_outputs_of_splitmix64():
    # The first outputs for the state 1234567, whose states advance by the golden gamma.
    golden = 0x9E3779B97F4A7C15
    states = np.array([(1234567 + k * golden) % 2**64 for k in range(5)], dtype=np.uint64)
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert keys.split_mix(states).tolist() == expected


def test_a_row_keeps_its_key_in_any_batch():
    ids = np.arange(1000)
    whole = keys.row_keys(3, "prediction", ids)
    order = np.random.default_rng(0).permutation(1000)
    assert (keys.row_keys(3, "prediction", ids[order]) == whole[order]).all()
    assert (keys.row_keys(3, "prediction", 1000) == whole).all()
    assert keys.row_keys(3, "prediction", [999])[0] == whole[999]
    assert (keys.row_keys(np.int64(3), "prediction", ids.astype(np.uint64)) == whole).all()


def test_seed_role_and_id_all_count():
    base = keys.row_keys(1, "calibration", 10_000)
    for other in (keys.row_keys(2, "calibration", 10_000), keys.row_keys(1, "prediction", 10_000)):
        assert not np.intersect1d(base, other).size
    assert len(np.unique(base)) == 10_000


def test_ids_beyond_32_bits_and_negative_ids_differ():
    ids = np.array([1, 1 + 2**32, 1 + 2**62, -1], dtype=np.int64)
    assert len(np.unique(keys.row_keys(0, "x", ids))) == 4


def test_strings_are_ids():
    one, other = keys.row_keys(0, "x", ["a", "b"]), keys.row_keys(0, "x", np.array(["b", "a"]))
    assert (one == other[::-1]).all()
    assert (keys.row_keys(0, "x", np.array(["a", "b"], dtype=object)) == one).all()


@pytest.mark.parametrize("seed", [0, 1, -5, 2**80])
def test_uniforms_are_uniform_and_unrelated_between_neighbours(seed):
    n = 200_000
    u = keys.uniforms(keys.row_keys(seed, "prediction", n))
    assert 0 < u.min() <= u.max() < 1
    # Kolmogorov distance: above 2.3 / sqrt(n) with probability 5e-5
    distance = np.abs(np.sort(u) - (np.arange(n) + 0.5) / n).max()
    assert distance < 2.3 / np.sqrt(n)
    others = [
        np.roll(u, 1),
        keys.uniforms(keys.row_keys(seed, "calibration", n)),
        keys.uniforms(keys.row_keys(seed + 1, "prediction", n)),
    ]
    for other in others:  # a correlation of 5 standard errors
        assert abs(np.corrcoef(u, other)[0, 1]) < 5 / np.sqrt(n)


class TestDraws:
    """The randomness of rows in one role."""

    ids = ("b", "a", "d", "c")

    def test_are_row_keys_of_role_and_purpose(self):
        draws = keys.Draws("prediction", 4, seed=3)
        assert draws.keys("score").tolist() == keys.row_keys(3, "prediction/score", 4).tolist()
        named = keys.Draws("calibration", 4, seed=3, ids=list(self.ids))
        expected = keys.row_keys(3, "calibration/ratio", list(self.ids))
        assert named.keys("ratio").tolist() == expected.tolist()

    def test_purposes_roles_and_seeds_have_streams_of_their_own(self):
        rows = 5_000
        streams = [
            keys.Draws(role, rows, seed=seed).keys(purpose)
            for role in ("prediction", "calibration")
            for seed in (0, 1)
            for purpose in ("score", "predictor", "ratio")
        ]
        assert len(np.unique(np.concatenate(streams))) == len(streams) * rows

    def test_a_row_is_known_by_its_id(self):
        forward = keys.Draws("prediction", 4, seed=0, ids=list(self.ids)).keys("score")
        backward = keys.Draws("prediction", 4, seed=0, ids=list(self.ids)[::-1]).keys("score")
        assert forward.tolist() == backward[::-1].tolist()
        alone = keys.Draws("prediction", 1, seed=0, ids=["d"]).keys("score")
        assert alone.tolist() == forward[2:3].tolist()
        counted = keys.Draws("prediction", 4, seed=0).keys("score")
        given = keys.Draws("prediction", 4, seed=0, ids=np.arange(4)).keys("score")
        assert counted.tolist() == given.tolist()

    def test_without_a_seed_asking_fails(self):
        draws = keys.Draws("prediction", 4)
        assert draws.keys_if_any("score") is None
        with pytest.raises(InputError, match="an integer, since the score draws at random, got no"):
            draws.keys("score")
        seeded = keys.Draws("prediction", 4, seed=0)
        assert seeded.keys_if_any("score").tolist() == seeded.keys("score").tolist()

    @pytest.mark.parametrize(
        ("ids", "message"),
        [
            ([1, 2, 1], "one identity for each row, got 1 repeated; rows that share an id"),
            (["a", "a", "a"], "one identity for each row, got 2 repeated"),
            ([1, 2], r"expected shape \(3,\), got shape \(2,\)"),
            ([[1], [2], [3]], r"expected shape \(3,\), got shape \(3, 1\)"),
            ("abc", r"expected shape \(3,\), got shape \(\)"),
            ([0.5, 1.0, 1.5], "expected integers or strings"),
            ([True, False, True], "expected integers or strings"),
            ([1, "a", None], "expected integers or strings"),
        ],
    )
    def test_ids_are_checked_though_nothing_is_drawn(self, ids, message):
        with pytest.raises(InputError, match=f"ids: .*{message}"):
            keys.Draws("prediction", 3, ids=ids)

    @pytest.mark.parametrize("seed", [0.5, "1", True])
    def test_a_seed_is_an_integer(self, seed):
        with pytest.raises(InputError, match="seed: expected an integer"):
            keys.Draws("prediction", 3, seed=seed).keys("score")
