"""A voters' book: districts, polling stations, voters, and each registration of a voter."""
