"""Live databases: seeded random operations on real tables, as an application with many users would make them."""
