"""A shop: customers, products, orders with their items, and the history of each order's status."""
