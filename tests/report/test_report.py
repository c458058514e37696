"""The report: self-contained, the same bytes each time, and only what the folder says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest

from testbed.errors import BadInput
from testbed.judge.status import BEST_FIRST
from testbed.plan.link_words import bits_per_second
from testbed.results.report import style, words
from testbed.results.report.folder import ResultFolder
from testbed.results.report.plots import ndn_plots, tcp_plots
from testbed.results.report.render import write_report
from testbed.results.report.tables import published_shares
from testbed.results.report.words import figure, size
from testbed.series.catalogue import SEGMENTS
from tests.checks.conftest import checks_alone  # noqa: F401 (a fixture)
from tests.checks.generate import START_NS, make_plan, telemetry, write_result
from tests.checks.in_memory import at, event, evidence_of
from tests.raises import Containing, Said, raises

PLOTS = {"window-share", "delivered-share", "windows", "delivery-rate", "rtt", "in-flight"}
PICTURES = PLOTS | {"topology"}


pytestmark = pytest.mark.usefixtures("checks_alone")


def make_folder(path: Path, policy: str = "nkp24", **changes: object) -> Path:
    plan = {**make_plan(policy, transfer_mib=8, quick=True), **changes}
    lines = telemetry(plan, noise=0.1)
    at = START_NS + 3 * 10**9
    tags = f"run={plan['run']},scenario={plan['scenario']},session=s1,kind=link_break"
    lines.insert(-1, f'event,{tags} at_s=3.0,text="slow breaks" {at}')
    write_result(path, plan, lines)
    (path / "links.csv").write_text(
        "link,direction,rate_bps_asked,rate_bps,delay_ms_asked,delay_ms,delay_p99_ms,loss_asked,loss,sent,received\n"
        "fast,ab,8790016,8000000,50,50.04,50.2,0,0.0007,1500,1499\n"
    )
    (path / "provenance.json").write_text(json.dumps({"commit": "abc123", "kernel": {"release": "6.18"}}))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = make_folder(tmp_path_factory.mktemp("results") / "run", title="Shares <b>& windows</b>")
    write_report(path)
    return path


@pytest.fixture(scope="module")
def page(folder):
    return (folder / "report.html").read_text()


def test_the_same_folder_gives_the_same_bytes(folder):
    files = [folder / "report.html", *sorted((folder / "plots").iterdir())]
    before = [file.read_bytes() for file in files]
    write_report(folder)
    assert [file.read_bytes() for file in files] == before
    assert {file.stem for file in files[1:]} == PICTURES


def test_the_page_needs_nothing_else(page):
    assert "<script" not in page
    loads = re.sub(r'<a href="[^"]+">', "", page).replace("xlink:href", "href")  # a link loads nothing by itself
    assert not re.search(r'(?:src|href)="(?!#)', loads)
    assert "@import" not in page
    assert "url(http" not in page
    assert page.count("<svg") == len(PICTURES)


def test_the_page_links_to_the_dashboards_that_have_something_of_the_run(page):
    links = re.findall(r'<a href="http://127\.0\.0\.1:3000(/d/[^"]+)">', page)
    # It is of NCP over UDP: no socket of TCP carried anything.
    assert [urlsplit(link).path for link in links] == ["/d/ncp-convergence", "/d/ncp-links"]
    for link in links:
        query = parse_qs(urlsplit(link.replace("&amp;", "&")).query)
        assert query["var-scenario"] == ["$__all"]
        assert query["var-run"] == ["20261121-035200-3f9a"]


def test_the_base_of_links_can_be_chosen(folder, monkeypatch):
    monkeypatch.setenv("NCP_TESTBED_GRAFANA_URL", "https://grafana.example/lab/")
    try:
        text = write_report(folder).read_text()
    finally:
        monkeypatch.undo()
        write_report(folder)
    assert 'href="https://grafana.example/lab/d/ncp-convergence?' in text


def test_what_the_folder_says_is_escaped(page):
    assert "Shares &lt;b&gt;&amp; windows&lt;/b&gt;" in page
    assert "<b>& windows" not in page


def test_element_ids_are_unique_and_references_hold(page):
    # Every reference is to an id of its own figure; ids that draw nothing may repeat within a figure only.
    ids = set(re.findall(r'\bid="([^"]+)"', page))
    references = set(re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', page))
    assert references
    assert references <= ids
    owners = {reference.rsplit("-", 1)[0] for reference in references}
    assert owners <= PLOTS


def test_colours_follow_the_readers_setting(page):
    body = page[page.index("<body>") :]
    assert "var(--series-1)" in body
    for colour in (*style.SERIES_COLOURS, style.INK, style.PAPER, style.GRID):
        assert colour not in body
    assert "prefers-color-scheme: dark" in page


def test_plots_stand_alone_on_a_light_ground(folder):
    for file in (folder / "plots").glob("*.svg"):
        root = ElementTree.parse(file).getroot()
        assert root.tag.endswith("svg")
        assert style.PAPER in file.read_text()
        assert "var(" not in file.read_text()


def test_plots_show_law_judged_time_rates_and_events(folder):
    texts = {file.stem: file.read_text() for file in (folder / "plots").glob("*.svg")}
    assert "law ±0.03" in texts["window-share"]
    assert "judged 1 s to 7 s" in texts["window-share"]
    assert "link's rate" in texts["delivery-rate"]
    assert all("slow breaks" in texts[name] for name in PLOTS)
    assert all("transfer_end" not in text for text in texts.values())


@pytest.mark.parametrize(
    ("draw", "series", "names"),
    [
        (tcp_plots, ["sender_cwnd_packets", "sender_rtt_ms"], ["tcp-cwnd", "tcp-rtt"]),
        (
            ndn_plots,
            ["ndn_window", "ndn_backlog_max_bytes", "ndn_goodput_bps"],
            ["ndn-rtt", "ndn-window", "ndn-backlog", "ndn-goodput"],
        ),
    ],
)
def test_plots_of_every_traffic_have_the_timeline_s_events(folder, tmp_path, draw, series, names):
    given = ResultFolder(folder)
    given.path = tmp_path
    forwarder: Any = {"nodes": [{}, {"faces": [{"name": "h1"}], "marking": {}}]}
    given.plan["ndn"] = forwarder
    (tmp_path / SEGMENTS).write_text("t_ms,rtt_ms,marked\n0,50,0\n8000,60,1\n")
    samples = {name: {"h1": at([0.0, 8.0], [1.0, 2.0])} for name in series}
    breaks = event("link_break", 3.0, text="slow breaks")
    drawn = draw(given, evidence_of(given.plan, samples, events=[breaks]), given.plan["sessions"][0])
    assert [plot.name for plot in drawn] == names
    assert [plot.name for plot in drawn if "slow breaks" not in plot.svg] == []


def test_the_page_states_asked_measured_and_why(page):
    assert "h1 sends 8 MiB to h2 with one connection over each of 2 links" in page
    assert "fast: 1024 packets/s (8.79 Mbit/s on the wire), 50 ms each way, no loss" in page
    assert "Judged over the 6.2 s that the run covers" in page
    assert "asked 8.79 Mbit/s, -8.99%" in page
    assert '<span class="off">8 Mbit/s</span>' in page  # outside the plan's 2%
    assert "1,499 of 1,500" in page
    assert "./run.sh verify results/startup/20261121-035200-3f9a" in page
    assert "abc123" in page
    assert re.search(r"3\.0 s</td><td>link break</td>", page)


def test_published_shares_stand_beside_the_measured_ones(page):
    assert "upstream&#39;s algorithm on real links before this project" in page
    row = re.search(r'<th scope="row">5 s</th>(.*?)</tr>', page, re.DOTALL)
    assert row
    assert re.findall(r">([\d.]+)</td>", row[1])[-2:] == ["0.789", "0.792"]
    assert published_shares("startup", "no such policy") == []


@pytest.mark.parametrize(("policy", "word"), [("nkp24", "FAIL"), ("previous", "FAIL")])
def test_the_banner_has_the_verdict(tmp_path, policy, word):
    text = write_report(make_folder(tmp_path / "r", policy)).read_text()
    assert f'<p class="word">{word}</p>' in text
    assert ("caps each connection&#39;s window at 256 packets" in text) == (policy == "previous")


def test_an_untrusted_run_says_why(tmp_path):
    folder = make_folder(tmp_path / "r")
    path = folder / "verdict.json"
    trust = {"trusted": False, "reasons": ["link fast ab: 1% of the frames left late"]}
    path.write_text(json.dumps({**json.loads(path.read_text()), "verdict": "untrusted", "trust": trust}))
    text = write_report(folder).read_text()
    assert '<p class="word">UNTRUSTED</p>' in text
    assert "<li>link fast ab: 1% of the frames left late</li>" in text


def test_a_broken_run_without_data_has_a_report(tmp_path):
    folder = make_folder(tmp_path / "r")
    for name in ("telemetry.lp", "links.csv", "provenance.json"):
        (folder / name).unlink()
    text = write_report(folder).read_text()
    assert text.count("<svg") == 1  # the topology
    assert "no measurement of the links" in text


def test_several_sessions_get_plots_of_their_own(tmp_path):
    plan = make_plan(transfer_mib=2, quick=True)
    plan["sessions"].append({**plan["sessions"][0], "name": "s2"})
    first = telemetry(plan)
    second = [line.replace("session=s1", "session=s2") for line in first if "session=s1" in line]
    write_result(tmp_path / "r", plan, first + second)
    write_report(tmp_path / "r")
    names = {file.stem for file in (tmp_path / "r" / "plots").iterdir()}
    assert names == {f"{session}-{plot}" for session in ("s1", "s2") for plot in PLOTS} | {"topology"}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("link,direction\nfast,ab\n", Said("report.bad-links-file", path=Containing("links.csv"))),
        ("link\n\xff\n", Said("file.not-csv", path=Containing("links.csv"))),
    ],
)
def test_a_broken_table_is_named(tmp_path, content, says):
    folder = make_folder(tmp_path / "r")
    (folder / "links.csv").write_bytes(content.encode("latin-1"))
    with raises(BadInput, says):
        write_report(folder)


def test_numbers_as_people_read_them():
    assert [bits_per_second(v) for v in (8790016, 128e3, 12)] == ["8.79 Mbit/s", "128 kbit/s", "12 bit/s"]
    assert [size(v) for v in (48 << 20, 1536, 7)] == ["48 MiB", "1.5 KiB", "7 bytes"]
    assert [figure(v) for v in (None, 0.0136134, 7.999772, 50331648, "7 to 9")] == [
        "–",
        "0.0136",
        "8.00",
        "50,331,648",
        "7 to 9",
    ]


def test_whatever_comes_of_a_check_has_a_word() -> None:
    assert set(words.STATUS) == {*BEST_FIRST, "skipped"}
