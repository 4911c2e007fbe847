"""A live shop in PostgreSQL: its schema, its rows, and what happens to them."""

from common.cli import job
from datasets.shop.book import Shop
from datasets.simulator.command import simulator

main = simulator(Shop, "shop_simulator")

if __name__ == "__main__":
    job("shop_simulator")(main)()
