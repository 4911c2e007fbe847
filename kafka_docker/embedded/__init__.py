"""The services of services.toml as plain local processes: no Docker, no root, no package manager."""
