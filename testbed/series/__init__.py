"""Series: what was sampled during a run, named once, read alike from InfluxDB and ``telemetry.lp``."""

from testbed.series.catalogue import CATALOGUE, named
from testbed.series.file import FromFile
from testbed.series.reader import Event, Reader, Samples
from testbed.series.series import Series, Table

__all__ = ["CATALOGUE", "Event", "FromFile", "Reader", "Samples", "Series", "Table", "named"]
