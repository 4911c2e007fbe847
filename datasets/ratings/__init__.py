"""Ratings of movies: a seeded stand-in for an application that sends what its users think, more than once at times."""
