"""All saboteurs."""

from tests.sabotage.catalogue import (
    counting,
    fields,
    forged,
    links,
    machine,
    payload,
    policies,
    published,
    telemetry,
    timeline,
)
from tests.sabotage.entry import Entry

CONTROL = Entry("control", "control", "nothing: all is as it should be", expected="pass")
ENTRIES: tuple[Entry, ...] = (
    CONTROL,
    *payload.ENTRIES,
    *policies.ENTRIES,
    *links.ENTRIES,
    *machine.ENTRIES,
    *telemetry.ENTRIES,
    *fields.ENTRIES,
    *timeline.ENTRIES,
    *counting.ENTRIES,
    *published.ENTRIES,
    *forged.ENTRIES,
)
