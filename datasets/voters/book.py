"""What happens to a voters' book: people register, move, are corrected and are struck off."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar
from uuid import UUID

from datasets.simulator.book import Book, Columns
from datasets.simulator.operation import Operation, Statement
from datasets.simulator.pool import Pool
from datasets.voters.schema import CHANGES, STATEMENTS
from datasets.voters.tables import TABLES

STATIONS = 3


class Voters(Book):
    """The voters' book, by its keys."""

    schema = "voters"
    tables = TABLES
    statements = STATEMENTS
    changes = CHANGES
    weights: ClassVar[Mapping[str, int]] = {
        "register": 20,
        "move": 14,
        "correct_voter": 20,
        "sign_again": 3,
        "strike_off": 8,
        "renumber": 4,
        "join_duplicates": 3,
        "update_district": 4,
        "update_station": 4,
        "renumber_station": 1,
        "suspend_many": 1,
        "forget_registration": 3,
        "change_nothing": 1,
        "roll_back": 2,
        "hold": 2,
    }
    truncating: ClassVar[Mapping[str, int]] = {"truncate_registrations": 1}

    def __init__(self, seed: int, columns: Columns) -> None:
        super().__init__(seed, columns)
        self.districts: Pool[int] = Pool()
        self.stations: Pool[tuple[int, int]] = Pool()
        self.voters: Pool[str] = Pool()
        self.registrations: Pool[UUID] = Pool()
        self._held: tuple[str, UUID] | None = None

    def load(self, rows: Callable[[str], list[tuple[Any, ...]]]) -> None:
        self.districts = Pool(key for (key,) in rows("SELECT district_id FROM voters.districts ORDER BY 1"))
        self.stations = Pool(
            (district, number)
            for district, number in rows("SELECT district_id, station_no FROM voters.polling_stations ORDER BY 1, 2")
        )
        self.voters = Pool(key for (key,) in rows('SELECT voter_no FROM voters.voters ORDER BY voter_no COLLATE "C"'))
        self.registrations = Pool(key for (key,) in rows("SELECT registration_id FROM voters.registrations ORDER BY 1"))

    def begin(self, size: int) -> list[Operation]:
        districts = [self._new_district(number) for number in range(1, max(2, size // 20) + 1)]
        return [*districts, *filter(None, (self.register() for _ in range(size)))]

    def _new_district(self, district: int) -> Operation:
        self.districts.add(district)
        statements = [self.insert("districts", self.row("districts", district_id=district))]
        for number in range(1, STATIONS + 1):
            self.stations.add((district, number))
            row = self.row("polling_stations", district_id=district, station_no=number)
            statements.append(self.insert("polling_stations", row))
        return Operation("new_district", tuple(statements))

    def _number(self) -> str:
        return f"V{self.chance.below(10**9):09}"

    def _registration(self, voter: str, district: int) -> Statement:
        key = self.chance.uuid()
        self.registrations.add(key)
        return self._registered(key, voter, district)

    def _registered(self, key: UUID, voter: str, district: int) -> Statement:
        row = self.row("registrations", registration_id=key, voter_no=voter, district_id=district)
        return self.insert("registrations", row)

    def register(self) -> Operation | None:
        """Two tables in one transaction."""
        voter, district = self._number(), self.districts.draw(self.chance)
        if voter in self.voters:
            return None
        self.voters.add(voter)
        row = self.row("voters", voter_no=voter, district_id=district)
        return Operation("register", (self.insert("voters", row), self._registration(voter, district)))

    def move(self) -> Operation | None:
        if not self.voters:
            return None
        voter, district = self.voters.draw(self.chance), self.districts.draw(self.chance)
        changes = {"district_id": district, "address": self.made("voters", "address")}
        return Operation("move", (self.update("voters", changes, voter_no=voter), self._registration(voter, district)))

    def correct_voter(self) -> Operation | None:
        """The large columns are left alone, so their values do not travel."""
        if not self.voters:
            return None
        voter = self.voters.draw(self.chance)
        return Operation("correct_voter", (self.update("voters", self.some("voters"), voter_no=voter),))

    def sign_again(self) -> Operation | None:
        if not self.voters:
            return None
        changes = {"signature": self.made("voters", "signature"), "remarks": self.made("voters", "remarks")}
        return Operation("sign_again", (self.update("voters", changes, voter_no=self.voters.draw(self.chance)),))

    def strike_off(self) -> Operation | None:
        if not self.voters:
            return None
        voter = self.voters.draw(self.chance)
        self.voters.remove(voter)
        return Operation("strike_off", (self.delete("voters", voter_no=voter),))

    def renumber(self) -> Operation | None:
        """The key of a row with large values changes."""
        voter = self._number()
        if not self.voters or voter in self.voters:
            return None
        former = self.voters.draw(self.chance)
        self.voters.remove(former)
        self.voters.add(voter)
        return Operation("renumber", (self.rekey("voters", {"voter_no": voter}, voter_no=former),))

    def join_duplicates(self) -> Operation | None:
        """Two entries of one person become one, and the registrations follow."""
        if len(self.voters) < 2:
            return None
        kept, gone = self.voters.draw_some(self.chance, 2)
        self.voters.remove(gone)
        return Operation(
            "join_duplicates",
            (
                self.update("registrations", {"voter_no": kept}, voter_no=gone),
                self.delete("voters", voter_no=gone),
                self.update("voters", self.some("voters"), voter_no=kept),
            ),
        )

    def update_district(self) -> Operation:
        district = self.districts.draw(self.chance)
        return Operation("update_district", (self.update("districts", self.some("districts"), district_id=district),))

    def update_station(self) -> Operation:
        district, number = self.stations.draw(self.chance)
        changes = self.some("polling_stations")
        return Operation(
            "update_station", (self.update("polling_stations", changes, district_id=district, station_no=number),)
        )

    def renumber_station(self) -> Operation:
        """One column of a composite key changes."""
        district, number = self.stations.draw(self.chance)
        free = max(other for place, other in self.stations if place == district) + 1
        self.stations.remove((district, number))
        self.stations.add((district, free))
        return Operation(
            "renumber_station",
            (self.rekey("polling_stations", {"station_no": free}, district_id=district, station_no=number),),
        )

    def suspend_many(self) -> Operation | None:
        """Many rows by one statement."""
        chosen = self.voters.draw_some(self.chance, 25)
        if not chosen:
            return None
        return Operation("suspend_many", (self.update("voters", {"standing": "suspended"}, voter_no=chosen),))

    def forget_registration(self) -> Operation | None:
        if not self.registrations:
            return None
        key = self.registrations.draw(self.chance)
        self.registrations.remove(key)
        return Operation("forget_registration", (self.delete("registrations", registration_id=key),))

    def change_nothing(self) -> Operation | None:
        if not self.voters:
            return None
        return Operation("change_nothing", (self.update("voters", {}, voter_no=self.voters.draw(self.chance)),))

    def roll_back(self) -> Operation | None:
        """A transaction of which nothing may arrive."""
        if not self.voters:
            return None
        voter = self.voters.draw(self.chance)
        statements = (self.update("voters", self.some("voters"), voter_no=voter), self.delete("voters", voter_no=voter))
        return Operation("roll_back", statements, "rollback")

    def hold(self) -> Operation | None:
        """A transaction that stays open across others. No other operation waits for its rows."""
        if self.holds or len(self.voters) < 2:
            return None
        voter, key = self.voters.draw(self.chance), self.chance.uuid()
        self.voters.remove(voter)
        self._held = (voter, key)
        return self.opened("hold", self.update("voters", self.some("voters"), voter_no=voter))

    def finish_held(self) -> tuple[Statement, ...]:
        if self._held is None:
            return ()
        (voter, key), self._held = self._held, None
        self.voters.add(voter)
        self.registrations.add(key)
        return (self._registered(key, voter, self.districts.draw(self.chance)),)

    def truncate_registrations(self) -> Operation | None:
        if self.chance.happens(0.8):
            return None
        self.registrations = Pool()
        return Operation("truncate_registrations", (self.truncated("registrations"),))
