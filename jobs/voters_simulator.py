"""A live voters' book in PostgreSQL: its schema, its rows, and what happens to them."""

from common.cli import job
from datasets.simulator.command import simulator
from datasets.voters.book import Voters

main = simulator(Voters, "voters_simulator")

if __name__ == "__main__":
    job("voters_simulator")(main)()
