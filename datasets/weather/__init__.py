"""Hourly temperatures of places on earth: a seeded stand-in for a weather service."""
