"""The drill: jobs killed at every named point and at random, each recovery the next victim, and nothing lost for it.

    make drill                 two rounds, under 45 minutes on 2 cores
    make drill ROUNDS=25       more; a drill that was interrupted goes on with the first round that is missing
    make drill SEED=7          other events, another order, other random moments

After each death the table must equal a plain-Python model of exactly the offsets that it says it has read; after each
round, of the whole topic. A round is on a topic and a table of its own, in turn with events that a version orders and
with events that their place orders, some of which delete.
"""

import fcntl
import json
import random
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import click
from pydantic import BaseModel

from kafka_docker.embedded.kafka import Kafka
from kafka_docker.embedded.ports import free_port
from tests.faults.deaths import DEATHS, MODES, WITHIN_OPTIMIZE, Death, Scene
from tests.faults.events import BY_POSITION, BY_VERSION, Order
from tests.faults.model import Difference
from tests.faults.world import MAX_RECORDS, World
from tests.support.broker import Broker
from tests.support.commands import ROOT


class Line(BaseModel):
    """One kind of death in one mode: how often it was tried, how often it really came, and the harm it did."""

    death: str
    mode: str
    tried: int = 0
    died: int = 0
    lost: int = 0
    doubled: int = 0
    stale: int = 0
    strange: int = 0

    @property
    def harm(self) -> int:
        return self.lost + self.doubled + self.stale + self.strange

    def add(self, difference: Difference, *, died: bool) -> None:
        self.tried += 1
        self.died += died
        for name, count in vars(difference).items():
            setattr(self, name, getattr(self, name) + count)

    def plus(self, other: "Line") -> "Line":
        return Line(
            **{
                name: value if isinstance(value, str) else value + getattr(other, name)
                for name, value in self.model_dump().items()
            }
        )


@dataclass(frozen=True)
class Chain:
    """What one round is made of."""

    deaths: Sequence[Death] = tuple(DEATHS)
    modes: Sequence[str] = MODES
    # Pairs of a death and a mode, where not every death comes in every mode.
    only: frozenset[tuple[str, str]] | None = None
    order: Order = BY_VERSION
    batches: int = 2
    home: Path = ROOT


def run_round(folder: Path, kafka: Kafka, seed: str, chain: Chain) -> list[Line]:
    """Every death in every mode, in an order of chance; then one run in peace, and the whole topic is compared."""
    chance = random.Random(seed)
    world = World(folder, Broker(kafka.address), seed=chance.randrange(2**32), home=chain.home, order=chain.order)
    world.load()
    links = in_any_order(chance, chain)
    lines = []
    for number, (death, mode) in enumerate(links, start=1):
        world.produce(max(0, chain.batches * MAX_RECORDS + 50 - world.unread()))
        began = time.monotonic()
        line = Line(death=death.name, mode=mode)
        died = death.die(Scene(world, kafka, chance, chain.batches), mode)
        line.add(world.difference(), died=died)
        lines.append(line)
        tell(f"  {number}/{len(links)} {death.name}, {mode}: died {line.died}, harm {line.harm}", began)
    lines.append(in_peace(world, chance.choice(list(chain.modes))))
    return lines


def in_any_order(chance: random.Random, chain: Chain) -> list[tuple[Death, str]]:
    """Shuffled; but compaction, which needs files of earlier merges, comes last. Only where there are deletes is
    there a moment at which they are remembered."""
    deaths = [death for death in chain.deaths if chain.order is BY_POSITION or death.name != "forgotten"]
    pairs = [(death, mode) for death in deaths for mode in chain.modes]
    links = [(death, mode) for death, mode in pairs if chain.only is None or (death.name, mode) in chain.only]
    chance.shuffle(links)
    return sorted(links, key=lambda each: each[0] is WITHIN_OPTIMIZE)


def in_peace(world: World, mode: str) -> Line:
    """The last recovery of the chain is left alone: what it leaves unread is lost."""
    began = time.monotonic()
    world.complete(world.merge(mode))
    line = Line(death="in peace", mode=mode)
    line.add(world.difference(), died=False)
    line.lost += world.unread()
    tell(f"  in peace, {mode}: harm {line.harm}", began)
    return line


def tell(what: str, began: float) -> None:
    print(f"{what} ({time.monotonic() - began:.0f} s)", flush=True)


class Drill:
    """Rounds, kept on disk as they end."""

    def __init__(self, folder: Path, seed: int, chain: Chain) -> None:
        self._folder, self._seed, self._chain = folder, seed, chain
        self._state = folder / f"seed-{seed}.json"

    def run(self, rounds: int) -> list[Line]:
        with self._alone():
            return self._run(rounds)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Two drills in one folder would take each other's broker away."""
        with (self._folder / f"seed-{self._seed}.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                sys.exit(f"error: another drill runs in {self._folder}; wait for it, or take another --seed")
            yield

    def _run(self, rounds: int) -> list[Line]:
        done = self._done()
        missing = [number for number in range(1, rounds + 1) if str(number) not in done]
        if len(missing) < rounds:
            print(f"going on after {rounds - len(missing)} rounds that are in {self._state}", flush=True)
        if missing:
            kafka = Kafka(home=self._fresh("kafka"), port=free_port())
            kafka.start()
            try:
                for number in missing:
                    done[str(number)] = self._round(number, kafka)
                    self._keep(done)
            finally:
                kafka.stop()
        return [line for number in range(1, rounds + 1) for line in done[str(number)]]

    def _round(self, number: int, kafka: Kafka) -> list[Line]:
        chain = replace(self._chain, order=BY_VERSION if number % 2 else BY_POSITION)
        print(f"round {number}, seed {self._seed}, events ordered {chain.order.name}", flush=True)
        folder = self._fresh(f"round-{number}")
        lines = run_round(folder, kafka, f"{self._seed}/{number}", chain)
        if not any(line.harm for line in lines):
            shutil.rmtree(folder)
        return lines

    def _fresh(self, name: str) -> Path:
        folder = self._folder / f"seed-{self._seed}" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def _done(self) -> dict[str, list[Line]]:
        if not self._state.exists():
            return {}
        content = json.loads(self._state.read_text())
        return {number: [Line.model_validate(line) for line in lines] for number, lines in content.items()}

    def _keep(self, done: dict[str, list[Line]]) -> None:
        partial = self._state.with_suffix(".partial")
        partial.write_text(
            json.dumps({number: [line.model_dump() for line in lines] for number, lines in done.items()}, indent=1)
        )
        partial.replace(self._state)


def summed(lines: Sequence[Line]) -> list[Line]:
    found: dict[tuple[str, str], Line] = {}
    for line in lines:
        place = line.death, line.mode
        found[place] = found[place].plus(line) if place in found else line
    return [found[place] for place in sorted(found)]


def print_table(lines: Sequence[Line]) -> None:
    print(f"\n{'death':<27}{'mode':<8}{'tried':>6}{'died':>6}{'lost':>6}{'doubled':>9}{'stale':>7}{'strange':>9}")
    for line in lines:
        print(
            f"{line.death:<27}{line.mode:<8}{line.tried:>6}{line.died:>6}"
            f"{line.lost:>6}{line.doubled:>9}{line.stale:>7}{line.strange:>9}"
        )


@click.command()
@click.option("--rounds", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--death", "names", multiple=True, help="Only these; as often as needed. Default: all.")
@click.option("--mode", "modes", type=click.Choice(MODES), multiple=True, help="Only this mode. Default: both.")
@click.option(
    "--folder", type=click.Path(path_type=Path), default=ROOT / "var" / "drill", help="Where it keeps its state."
)
@click.option("--home", type=click.Path(path_type=Path), default=ROOT, help="The clone whose jobs are killed.")
def main(rounds: int, seed: int, names: tuple[str, ...], modes: tuple[str, ...], folder: Path, home: Path) -> None:
    """Kill jobs at every named point, and count what is lost: exit code 1 if anything is."""
    known = [death.name for death in DEATHS]
    for name in names:
        if name not in known:
            raise click.BadParameter(f"no death '{name}'; there are: {', '.join(known)}")
    deaths = [death for death in DEATHS if not names or death.name in names]
    folder.mkdir(parents=True, exist_ok=True)
    lines = summed(Drill(folder.resolve(), seed, Chain(deaths, modes or MODES, home=home.resolve())).run(rounds))
    print_table(lines)
    harm = sum(line.harm for line in lines)
    dead = sum(line.died for line in lines)
    print(f"\n{dead} deaths; lost, doubled, stale or strange: {harm}")
    sys.exit(1 if harm else 0)


if __name__ == "__main__":
    main()
