"""The curve, the places, the corrections and the order of arrival."""

import numpy as np
import pytest

from common.errors import UsageError
from datasets.draws import integers, uniform
from datasets.weather.arrivals import arrivals
from datasets.weather.climate import temperatures
from datasets.weather.corrections import RECENT_HOURS, corrections
from datasets.weather.extent import STREAM_HOURS, STREAM_START, clock_times, extent, year_start
from datasets.weather.places import CITIES, GRID_CELLS, places

BASE = np.arange(-35064, 0)
MONTHS = (STREAM_START + BASE.astype("timedelta64[h]")).astype("datetime64[M]").astype(int) % 12 + 1


def mean_of_month(name, month):
    (city,) = [city for city in CITIES if city.name == name]
    return temperatures(1, [city], BASE)[0][month == MONTHS].mean() / 10


def test_the_six_places_have_the_coordinates_of_the_original():
    assert [(place.location_id, place.name, place.latitude, place.longitude) for place in places(6, seed=1)] == [
        (1, "Anchorage", 61.199997, -149.9),
        (2, "London", 51.5, -0.099990845),
        (3, "Rome", 41.90001, 12.5),
        (4, "Bangalore", 13.0, 77.600006),
        (5, "Spring TX", 30.200005, -95.5),
        (6, "Paris", 48.90001, 2.300003),
    ]


def test_no_two_places_of_the_full_grid_share_their_coordinates():
    everywhere = places(len(CITIES) + GRID_CELLS, seed=1)
    assert len({(place.latitude, place.longitude) for place in everywhere}) == len(everywhere)
    assert [place.location_id for place in everywhere] == list(range(1, len(everywhere) + 1))
    assert {abs(place.latitude) <= 90 and abs(place.longitude) <= 180 for place in everywhere} == {True}


def test_january_is_coldest_in_anchorage_and_july_warmest_in_spring():
    january = {city.name: mean_of_month(city.name, 1) for city in CITIES}
    july = {city.name: mean_of_month(city.name, 7) for city in CITIES}
    assert min(january, key=january.get) == "Anchorage"
    assert january["Anchorage"] < -5 < 0 < january["London"] < january["Rome"] < january["Bangalore"]
    assert max(july, key=july.get) == "Spring TX"
    assert july["Anchorage"] < july["London"] < july["Paris"] < july["Rome"] < july["Spring TX"]


def test_bangalore_is_mild_all_year():
    means = [mean_of_month("Bangalore", month) for month in range(1, 13)]
    assert 19 < min(means) < max(means) < 29
    assert max(means) - min(means) < 8


def test_the_southern_hemisphere_has_its_summer_in_january():
    southern = next(place for place in places(600, seed=1) if place.latitude < -40)
    curve = temperatures(1, [southern], BASE)[0]
    assert curve[MONTHS == 1].mean() > curve[MONTHS == 7].mean() + 50


@pytest.mark.parametrize("city", CITIES, ids=lambda city: city.name)
def test_the_afternoon_by_the_sun_is_warmer_than_the_night(city):
    curve = temperatures(1, [city], BASE)[0]
    solar_hour = np.floor(BASE + city.longitude / 15).astype(int) % 24
    by_hour = [curve[solar_hour == hour].mean() for hour in range(24)]
    assert int(np.argmax(by_hour)) in {14, 15, 16}
    assert int(np.argmin(by_hour)) in {2, 3, 4, 5, 6}


@pytest.mark.parametrize("city", CITIES, ids=lambda city: city.name)
def test_the_weather_changes_gradually_and_not_alike_from_year_to_year(city):
    curve = temperatures(1, [city], BASE)[0]
    assert np.abs(np.diff(curve)).max() <= 40
    assert np.std(curve[8760:17520] - curve[:8760]) > 5


def test_an_hour_is_the_same_however_the_work_is_cut():
    whole = temperatures(1, CITIES, BASE)
    assert (temperatures(1, CITIES[2:3], BASE[1000:1007]) == whole[2:3, 1000:1007]).all()
    assert (temperatures(1, CITIES, np.tile(BASE[-3:], (6, 1))) == whole[:, -3:]).all()


def test_another_seed_is_other_weather():
    assert (temperatures(1, CITIES, BASE) != temperatures(2, CITIES, BASE)).mean() > 0.9


def test_draws_are_spread_evenly_and_repeat():
    drawn = uniform(7, "a", np.arange(100_000))
    assert 0 <= drawn.min() < drawn.max() < 1
    assert (np.abs(np.histogram(drawn, bins=10, range=(0, 1))[0] - 10_000) < 500).all()
    assert (drawn == uniform(7, "a", np.arange(100_000))).all()
    assert abs(np.corrcoef(drawn, uniform(7, "b", np.arange(100_000)))[0, 1]) < 0.02
    assert set(integers(7, "a", 3, np.arange(100)).tolist()) == {0, 1, 2}


def test_the_calendar():
    assert clock_times(np.array([-35064, -1, 0, STREAM_HOURS - 1])).tolist() == [
        "2019-01-01T00:00",
        "2022-12-31T23:00",
        "2023-01-01T00:00",
        "2023-06-30T23:00",
    ]
    assert clock_times(np.array([year_start(3)])).tolist() == ["0003-01-01T00:00"]


@pytest.mark.parametrize(
    ("scale", "grow", "first_year", "place_count"),
    [(1, "years", 2019, 6), (10, "years", 1983, 6), (505, "years", 3, 6), (10, "locations", 2019, 60)],
)
def test_what_a_scale_means(scale, grow, first_year, place_count):
    size = extent(scale, grow)
    assert (size.first_year, size.place_count) == (first_year, place_count)


def test_the_base_has_35064_hours_a_place():
    assert extent(1, "years").base_hours == 35064


@pytest.mark.parametrize(("scale", "grow"), [(0, "years"), (-1, "locations"), (506, "years"), (30_002, "locations")])
def test_an_impossible_scale_is_refused(scale, grow):
    with pytest.raises(UsageError) as refused:
        extent(scale, grow)
    assert str(scale) in refused.value.message


def test_too_many_years_are_sent_to_the_locations():
    with pytest.raises(UsageError) as refused:
        extent(506, "years")
    assert "--grow locations" in refused.value.remedy


@pytest.mark.parametrize(("scale", "grow"), [(1, "years"), (3, "years"), (3, "locations")])
def test_corrections_are_of_different_hours_of_the_base_and_visible(scale, grow):
    size = extent(scale, grow)
    where = places(size.place_count, 1)
    made = corrections(1, where, size)
    assert len(made) == 200 * len(where)
    assert len(set(zip(made.place.tolist(), made.hour.tolist(), strict=True))) == len(made)
    assert made.hour.min() >= -size.base_hours
    assert made.hour.max() < 0
    assert (np.abs(made.after - made.before) >= 2).all()
    assert (made.before == temperatures(1, where, made.hour.reshape(len(where), -1)).ravel()).all()


def test_corrections_lie_mostly_in_the_last_weeks_and_in_every_year():
    made = corrections(1, CITIES, extent(1, "years"))
    assert (made.hour >= -RECENT_HOURS).mean() == pytest.approx(0.8)
    years = (STREAM_START + made.hour.astype("timedelta64[h]")).astype("datetime64[Y]").astype(int) + 1970
    assert set(years.tolist()) == {2019, 2020, 2021, 2022}


def test_the_stream_has_each_hour_once_and_mostly_in_order():
    made = corrections(1, CITIES, extent(1, "years"))
    (readings,) = arrivals(1, CITIES, made)
    keys = set(zip(readings.place.tolist(), readings.hour.tolist(), strict=True))
    assert len(keys) == len(readings.hour) == 6 * STREAM_HOURS + 1200
    new = readings.hour[readings.hour >= 0]
    assert 0.01 < (np.diff(new) < 0).mean() < 0.1
    assert (np.maximum.accumulate(new) - new).max() <= 6
    corrected_at = np.flatnonzero(readings.hour < 0)
    assert corrected_at.min() < 1500
    assert corrected_at.max() > len(readings.hour) / 2


def test_the_stream_is_the_same_in_small_windows(monkeypatch):
    made = corrections(1, CITIES, extent(1, "years"))
    (whole,) = arrivals(1, CITIES, made)
    monkeypatch.setattr("datasets.weather.arrivals.ROWS_AT_ONCE", 5_000)
    parts = list(arrivals(1, CITIES, made))
    assert len(parts) > 5
    for column in ("place", "hour", "tenths"):
        assert (np.concatenate([getattr(part, column) for part in parts]) == getattr(whole, column)).all()
