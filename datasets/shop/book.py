"""What happens in the shop: orders are placed, changed and cancelled, products change their price and their key."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from datasets.shop.schema import CHANGES, STATEMENTS
from datasets.shop.tables import DAYS, TABLES
from datasets.simulator.book import Book, Columns
from datasets.simulator.operation import Operation, Statement
from datasets.simulator.pool import Pool

MOST_LINES = 4


class Shop(Book):
    """The shop, by its keys."""

    schema = "shop"
    tables = TABLES
    statements = STATEMENTS
    changes = CHANGES
    weights: ClassVar[Mapping[str, int]] = {
        "new_customer": 8,
        "new_product": 5,
        "place_order": 18,
        "change_order": 16,
        "update_customer": 10,
        "update_product": 12,
        "rewrite_description": 2,
        "change_items": 8,
        "remove_item": 3,
        "move_item": 2,
        "cancel_order": 5,
        "delete_customer": 1,
        "delete_product": 1,
        "rename_product": 3,
        "correct_history": 2,
        "write_review": 3,
        "change_nothing": 1,
        "reprice_many": 1,
        "roll_back": 2,
        "hold": 2,
    }
    truncating: ClassVar[Mapping[str, int]] = {"truncate_history": 1}

    def __init__(self, seed: int, columns: Columns) -> None:
        super().__init__(seed, columns)
        self.customers: Pool[int] = Pool()
        self.products: Pool[str] = Pool()
        # Lines of each order, and the orders of each customer.
        self.lines: dict[int, list[int]] = {}
        self.orders: Pool[int] = Pool()
        self.orders_of: dict[int, list[int]] = {}
        self.customer_of: dict[int, int] = {}
        self.history: Pool[tuple[int, datetime]] = Pool()
        self.reviews: Pool[UUID] = Pool()
        self.last_customer = self.last_order = self.last_event = 0
        self._held_customer: int | None = None
        self._held_product: str | None = None

    def load(self, rows: Callable[[str], list[tuple[Any, ...]]]) -> None:
        self.customers = Pool(key for (key,) in rows("SELECT customer_id FROM shop.customers ORDER BY 1"))
        self.products = Pool(key for (key,) in rows('SELECT sku FROM shop.products ORDER BY sku COLLATE "C"'))
        for order, customer in rows("SELECT order_id, customer_id FROM shop.orders ORDER BY 1"):
            self._add_order(order, customer)
        for order, line in rows("SELECT order_id, line_no FROM shop.order_items ORDER BY 1, 2"):
            self.lines[order].append(line)
        self.history = Pool(
            (event, at) for event, at in rows("SELECT event_id, changed_at FROM shop.order_history ORDER BY 1, 2")
        )
        if "reviews" in self.columns:
            self.reviews = Pool(key for (key,) in rows("SELECT review_id FROM shop.reviews ORDER BY 1"))
        self.last_customer = max(self.customers, default=0)
        self.last_order = max(self.orders, default=0)
        self.last_event = max((event for event, _ in self.history), default=0)

    def begin(self, size: int) -> list[Operation]:
        customers = [self.new_customer() for _ in range(size)]
        products = filter(None, [self.new_product() for _ in range(max(1, size // 4))])
        orders = filter(None, [self.place_order() for _ in range(2 * size)])
        return [*customers, *products, *orders]

    def _add_order(self, order: int, customer: int) -> None:
        self.orders.add(order)
        self.lines[order] = []
        self.customer_of[order] = customer
        self.orders_of.setdefault(customer, []).append(order)

    def _remove_order(self, order: int) -> None:
        self.orders.remove(order)
        del self.lines[order]
        self.orders_of[self.customer_of.pop(order)].remove(order)

    def new_customer(self) -> Operation:
        self.last_customer += 1
        self.customers.add(self.last_customer)
        return Operation("new_customer", (self._customer(self.last_customer),))

    def _customer(self, key: int) -> Statement:
        return self.insert("customers", self.row("customers", customer_id=key))

    def _sku(self) -> str:
        return f"{self.chance.letters(3).upper()}-{self.chance.below(10**6):06}"

    def new_product(self) -> Operation | None:
        sku = self._sku()
        if sku in self.products or sku == self._held_product:
            return None
        self.products.add(sku)
        return Operation("new_product", (self.insert("products", self.row("products", sku=sku)),))

    def place_order(self) -> Operation | None:
        """Four tables in one transaction."""
        if not (self.customers and self.products):
            return None
        self.last_order += 1
        order, customer = self.last_order, self.customers.draw(self.chance)
        self._add_order(order, customer)
        statements = [self.insert("orders", self.row("orders", order_id=order, customer_id=customer))]
        for line in range(1, self.chance.between(1, MOST_LINES) + 1):
            sku = self.products.draw(self.chance)
            self.lines[order].append(line)
            statements += [
                self.insert("order_items", self.row("order_items", order_id=order, line_no=line, sku=sku)),
                self.update("products", {"stock": self.made("products", "stock")}, sku=sku),
            ]
        return Operation("place_order", (*statements, self._happened(order)))

    def _happened(self, order: int) -> Statement:
        self.last_event += 1
        key = (self.last_event, self.chance.moment(DAYS))
        self.history.add(key)
        row = self.row("order_history", event_id=key[0], changed_at=key[1], order_id=order)
        return self.insert("order_history", row)

    def change_order(self) -> Operation | None:
        if not self.orders:
            return None
        order = self.orders.draw(self.chance)
        changes = self.some("orders") | {"status": self.made("orders", "status")}
        return Operation("change_order", (self.update("orders", changes, order_id=order), self._happened(order)))

    def update_customer(self) -> Operation | None:
        if not self.customers:
            return None
        key = self.customers.draw(self.chance)
        return Operation("update_customer", (self.update("customers", self.some("customers"), customer_id=key),))

    def update_product(self) -> Operation | None:
        """The large columns are left alone, so their values do not travel."""
        if not self.products:
            return None
        sku = self.products.draw(self.chance)
        return Operation("update_product", (self.update("products", self.some("products"), sku=sku),))

    def rewrite_description(self) -> Operation | None:
        if not self.products:
            return None
        changes = {"description": self.made("products", "description")}
        return Operation(
            "rewrite_description", (self.update("products", changes, sku=self.products.draw(self.chance)),)
        )

    def change_items(self) -> Operation | None:
        """Every item of an order, by one statement each."""
        if not self.orders:
            return None
        order = self.orders.draw(self.chance)
        items = [
            self.update("order_items", self.some("order_items"), order_id=order, line_no=line)
            for line in self.lines[order]
        ]
        return Operation("change_items", tuple(items)) if items else None

    def remove_item(self) -> Operation | None:
        order = self.orders.draw(self.chance) if self.orders else None
        if order is None or not self.lines[order]:
            return None
        line = self.chance.pick(self.lines[order])
        self.lines[order].remove(line)
        return Operation("remove_item", (self.delete("order_items", order_id=order, line_no=line),))

    def move_item(self) -> Operation | None:
        """One column of a composite key changes."""
        order = self.orders.draw(self.chance) if self.orders else None
        if order is None or not self.lines[order]:
            return None
        line, free = self.chance.pick(self.lines[order]), max(self.lines[order]) + 1
        self.lines[order].remove(line)
        self.lines[order].append(free)
        changes = {"line_no": free} | self.some("order_items", 1)
        return Operation("move_item", (self.rekey("order_items", changes, order_id=order, line_no=line),))

    def cancel_order(self) -> Operation | None:
        if not self.orders:
            return None
        order = self.orders.draw(self.chance)
        self._remove_order(order)
        return Operation(
            "cancel_order", (self.delete("order_items", order_id=order), self.delete("orders", order_id=order))
        )

    def delete_customer(self) -> Operation | None:
        """A customer leaves, and all that is theirs goes in the same transaction."""
        if not self.customers:
            return None
        customer = self.customers.draw(self.chance)
        self.customers.remove(customer)
        orders = list(self.orders_of.get(customer, []))
        for order in orders:
            self._remove_order(order)
        return Operation(
            "delete_customer",
            (
                self.delete("order_items", order_id=orders),
                self.delete("orders", customer_id=customer),
                self.delete("customers", customer_id=customer),
            ),
        )

    def delete_product(self) -> Operation | None:
        if len(self.products) < 2:
            return None
        sku = self.products.draw(self.chance)
        self.products.remove(sku)
        return Operation("delete_product", (self.delete("products", sku=sku),))

    def rename_product(self) -> Operation | None:
        """The key of a row with large values changes, and the items that name it follow."""
        sku = self._sku()
        if not self.products or sku in self.products or sku == self._held_product:
            return None
        former = self.products.draw(self.chance)
        self.products.remove(former)
        self.products.add(sku)
        return Operation(
            "rename_product",
            (self.rekey("products", {"sku": sku}, sku=former), self.update("order_items", {"sku": sku}, sku=former)),
        )

    def correct_history(self) -> Operation | None:
        """Most often the row moves to another partition."""
        if not self.history:
            return None
        event, former = self.history.draw(self.chance)
        at = self.chance.moment(DAYS)
        self.history.remove((event, former))
        self.history.add((event, at))
        changes = {"changed_at": at}
        return Operation("correct_history", (self.rekey("order_history", changes, event_id=event, changed_at=former),))

    def write_review(self) -> Operation | None:
        """Reviews exist after the schema change `new-table`."""
        if "reviews" not in self.columns or not self.products:
            return None
        key = self.chance.uuid()
        self.reviews.add(key)
        row = self.row("reviews", review_id=key, sku=self.products.draw(self.chance))
        return Operation("write_review", (self.insert("reviews", row),))

    def change_nothing(self) -> Operation | None:
        if not self.customers:
            return None
        return Operation(
            "change_nothing", (self.update("customers", {}, customer_id=self.customers.draw(self.chance)),)
        )

    def reprice_many(self) -> Operation | None:
        """Many rows by one statement."""
        chosen = self.products.draw_some(self.chance, 20)
        if not chosen:
            return None
        price = {"price": self.made("products", "price")}
        return Operation("reprice_many", (self.update("products", price, sku=chosen),))

    def roll_back(self) -> Operation | None:
        """A transaction of which nothing may arrive."""
        if not self.customers:
            return None
        changed = self.update("customers", self.some("customers"), customer_id=self.customers.draw(self.chance))
        return Operation("roll_back", (changed, self._customer(self.last_customer + 1)), "rollback")

    def hold(self) -> Operation | None:
        """A transaction that stays open across others. No other operation waits for its rows."""
        if self.holds or len(self.customers) < 2:
            return None
        customer, sku = self.customers.draw(self.chance), self._sku()
        if sku in self.products:
            return None
        self.customers.remove(customer)
        self._held_customer, self._held_product = customer, sku
        return self.opened(
            "hold",
            self.update("customers", self.some("customers"), customer_id=customer),
            self.insert("products", self.row("products", sku=sku)),
        )

    def finish_held(self) -> tuple[Statement, ...]:
        customer, sku = self._held_customer, self._held_product
        if customer is None or sku is None:
            return ()
        self._held_customer = self._held_product = None
        self.customers.add(customer)
        self.products.add(sku)
        return (self.update("customers", self.some("customers"), customer_id=customer),)

    def truncate_history(self) -> Operation | None:
        if self.chance.happens(0.8):
            return None
        self.history = Pool()
        return Operation("truncate_history", (self.truncated("order_history"),))
