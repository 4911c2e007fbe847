"""Repeatable chance without state: a seed, a subject and a position always draw the same number.

Because no draw depends on an earlier one, the data does not depend on how its making is cut into chunks.
"""

import hashlib

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Hashes = npt.NDArray[np.uint64]


def uniform(seed: int, subject: str, *position: npt.ArrayLike) -> Floats:
    """Draw a number in [0, 1) for each position; positions are integers and broadcast."""
    with np.errstate(over="ignore"):
        state = np.asarray(_start(seed, subject), dtype=np.uint64)
        for coordinate in position:
            state = _mixed(state ^ np.asarray(coordinate, dtype=np.int64).astype(np.uint64))
    return np.asarray((state >> np.uint64(11)) * 2.0**-53, dtype=np.float64)


def integers(seed: int, subject: str, below: int | Integers, *position: npt.ArrayLike) -> Integers:
    """Draw an integer in [0, below) for each position."""
    return (uniform(seed, subject, *position) * below).astype(np.int64)


def _start(seed: int, subject: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed}:{subject}".encode(), digest_size=8).digest(), "big")


def _mixed(state: Hashes) -> Hashes:
    """Do the step of splitmix64 (Steele, Lea, Flood 2014): neighbouring inputs give unrelated outputs."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(state ^ (state >> np.uint64(31)), dtype=np.uint64)
