"""Every link of every dashboard, followed as Grafana does: the page that it leads to is valid, and has its data."""

from typing import Any

import pytest

from testbed.series.one_clock import ZERO_NS
from tests.dashboards.grafana import Span, arrive, interpolate, menu, of_row, opened, span_of_page, values_of
from tests.dashboards.test_opened import BOARDS, HOUR_MS, answered, page

MAY_BE_EMPTY = {
    "convergence": {"Largest error A", "Settled after A", "Delivered shares and the law A"}
    | {f"{panel} {letter}" for panel in ("Window shares and the law", "Ratio of the windows") for letter in "ABC"},
    "tcp": {"Congestion window B"},
}
"""What runs without a law, too short to settle, or limited by their receiver have not."""


@pytest.fixture(scope="module")
def now_ms(runs):
    return max(run.to_ms for run in runs.values()) + HOUR_MS


@pytest.fixture(scope="module")
def fresh(influx, now_ms):
    """What has data on each page that is just opened."""
    return {name: page(board, influx, now_ms) for name, board in BOARDS.items()}


def menus(board: Any) -> list[Any]:
    return [link for link in board["links"] if link["type"] == "dashboards"]


@pytest.mark.parametrize("name", BOARDS)
def test_every_dashboard_is_reached_by_the_menu_as_if_it_was_just_opened(influx, now_ms, fresh, name):
    board = BOARDS[name]
    variables, span = opened(board, influx, now_ms), span_of_page(board["time"]["from"], {}, now_ms)
    urls = {to: url for link in menus(board) for to, url in menu(link, board, variables, span, BOARDS).items()}
    assert set(urls) == set(BOARDS)
    for to, url in urls.items():
        found, target, there, whole = arrive(url, BOARDS, influx, now_ms)
        assert found == to
        assert answered(target, influx, there, whole, now_ms) == fresh[to], url


@pytest.mark.parametrize("name", BOARDS)
def test_the_run_that_is_chosen_stays_chosen_there_and_back(influx, runs, now_ms, name):
    """By way of every dashboard, those of many runs as well."""
    run = runs["previous"].plan["run"]
    _, board, variables, span = arrive(f"/d/ncp-convergence?var-run={run}&from=now-15m&to=now", BOARDS, influx, now_ms)
    for to in (name, "convergence"):
        urls = [menu(link, board, variables, span, BOARDS) for link in menus(board)]
        (url,) = (found[to] for found in urls if to in found)
        _, board, variables, span = arrive(url, BOARDS, influx, now_ms)
        assert variables.chosen["run"] == run
    assert variables.chosen["shown"] == run
    assert answered(board, influx, variables, span, now_ms)["Window shares and the law D"]


def test_a_span_drawn_by_hand_is_kept_among_the_dashboards_of_a_run_only(influx, now_ms, fresh):
    zero_ms = ZERO_NS // 1_000_000
    board, drawn = BOARDS["convergence"], Span(zero_ms + 500, zero_ms + 2500)
    variables = opened(board, influx, drawn.to_ms)
    spans = {}
    for link in menus(board):
        for to, url in menu(link, board, variables, drawn, BOARDS).items():
            _, target, there, spans[to] = arrive(url, BOARDS, influx, now_ms)
            if to not in ("convergence", "links", "compare", "tcp", "ndn"):
                assert answered(target, influx, there, spans[to], now_ms) == fresh[to]
    assert {to for to, span in spans.items() if span == drawn} == {"convergence", "links", "compare", "tcp", "ndn"}


@pytest.mark.parametrize("name", BOARDS)
def test_every_link_of_every_row_leads_to_its_run(influx, runs, now_ms, name):
    board = BOARDS[name]
    variables = opened(board, influx, now_ms)
    followed = 0
    for panel in board["panels"]:
        overrides = panel.get("fieldConfig", {}).get("overrides", [])
        urls = [v["url"] for o in overrides for p in o["properties"] if p["id"] == "links" for v in p["value"]]
        if not urls:
            continue
        query = interpolate(panel["targets"][0]["query"], variables, Span(0, now_ms))
        for part in influx.query(query):
            for values in zip(*part.columns.values(), strict=True):
                row = dict(zip(part.columns, values, strict=True))
                for url in (of_row(url, row, variables) for url in urls):
                    followed += 1
                    if url.startswith("/public/results/"):
                        assert url.endswith(f"/{row['report']}")
                        continue
                    to, target, there, whole = arrive(url, BOARDS, influx, now_ms)
                    assert row["run"] in (there.chosen["shown"], there.chosen.get("other"))
                    has = answered(target, influx, there, whole, now_ms)
                    missing = {title for title, answer in has.items() if not answer}
                    if to != "compare":  # a run of another kind has nothing to compare
                        assert missing <= MAY_BE_EMPTY.get(to, set()), url
    assert followed >= 2 * len(runs)


def test_two_runs_of_the_list_are_compared_by_two_clicks(influx, runs, now_ms):
    board = BOARDS["compare"]
    (links,) = (
        p["value"]
        for o in board["panels"][0]["fieldConfig"]["overrides"]
        if o["matcher"]["options"] == "run"
        for p in o["properties"]
        if p["id"] == "links"
    )
    first, second = (runs[name].plan["run"] for name in ("nkp24", "previous"))
    variables = opened(board, influx, now_ms)
    for link, run in ((links[0], first), (links[1], second)):
        _, _, variables, whole = arrive(of_row(link["url"], {"run": run}, variables), BOARDS, influx, now_ms)
    assert (variables.chosen["shown"], variables.chosen["other"]) == (first, second)
    assert all(answered(board, influx, variables, whole, now_ms).values())


def test_a_run_is_offered_in_words(influx, runs, now_ms):
    variable = next(v for v in BOARDS["convergence"]["templating"]["list"] if v["name"] == "run")
    variables = opened(BOARDS["convergence"], influx, now_ms)
    (part,) = influx.query(variables.replace(variable["query"], "regex"))
    labels = part.columns["label"]
    run = runs["nkp24"].plan["run"]
    (label,) = (label for label in labels if label.endswith(f" | {run}"))
    assert label == f"{label[:19]} startup nkp24, mininet changed | {run}"
    assert label.startswith("2026-11-21 10:50:")
    assert values_of(variable, variables, influx) == [label.rpartition(" | ")[2] for label in labels]


def test_a_link_that_grafana_would_misread_is_found(influx, runs, now_ms, fresh):
    for url in (
        "/d/ncp-speed-table?var-table=All",
        "/d/ncp-speed-table?var-made=latest",
        "/d/ncp-compare?var-run=latest&var-run=latest",
        f"/d/ncp-convergence?var-run={runs['ndn'].plan['run']}&var-session=none",
    ):
        with pytest.raises(AssertionError, match="var-"):
            arrive(url, BOARDS, influx, now_ms)
    _, board, variables, whole = arrive("/d/ncp-fleet?from=now-15m&to=now", BOARDS, influx, now_ms)
    assert answered(board, influx, variables, whole, now_ms) != fresh["fleet"]
    board = BOARDS["compare"]
    with pytest.raises(AssertionError, match="invalid time override"):
        answered(board, influx, opened(board, influx, now_ms).but(length=""), whole, now_ms)
