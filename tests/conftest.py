"""Settings of all tests. SHIFTPROOF_RUNS multiplies the length of everything random."""

import os

from hypothesis import HealthCheck, settings

# Small networks are compiled for longer than they run: half of the compiler's work is left out.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

RUNS = int(os.environ.get("SHIFTPROOF_RUNS", "1"))

settings.register_profile(
    "shiftproof",
    max_examples=150 * RUNS,
    deadline=None,
    derandomize=RUNS == 1,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    database=None,
)
settings.load_profile("shiftproof")
