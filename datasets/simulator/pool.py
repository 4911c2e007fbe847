"""Keys that exist in a table, of which one is drawn as quickly from a million as from ten."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from datasets.simulator.chance import Chance

K = TypeVar("K", bound=Hashable)


class Pool(Generic[K]):
    """A set with a repeatable order: the same additions and removals leave the same order."""

    def __init__(self, keys: Iterable[K] = ()) -> None:
        self._keys: list[K] = []
        self._places: dict[K, int] = {}
        for key in keys:
            self.add(key)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: K) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[K]:
        return iter(self._keys)

    def add(self, key: K) -> None:
        if key not in self._places:
            self._places[key] = len(self._keys)
            self._keys.append(key)

    def remove(self, key: K) -> None:
        """Remove a key. The last one takes its place, so that no other has to move."""
        place = self._places.pop(key)
        last = self._keys.pop()
        if last != key:
            self._keys[place] = last
            self._places[last] = place

    def draw(self, chance: Chance) -> K:
        return self._keys[chance.below(len(self._keys))]

    def draw_some(self, chance: Chance, count: int) -> list[K]:
        return [self._keys[place] for place in chance.pick_some(range(len(self._keys)), count)]
