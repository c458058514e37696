"""Finds markup that no page or drawing of this project has: scripts, handlers, frames, and what loads from elsewhere.

Every ``<`` has to begin what is described here, attributes always in double quotes, so that no reader of the file,
however lenient, can see another tag in it.
"""

import re

_STYLE = r"(?:(?!url\((?!#)|@import|image(?:-set)?\(|src|expression|behavior|binding|script|//)[^<&\\%s])*"
"""CSS without what loads or executes something, or could hide that."""
_OURS = re.compile(
    "(?ai)</?(?:html|head|meta|title|body|header|main|section|div|p|h[1-3]|ul|li|table|thead|tbody|tr|th|td|figure|"
    "figcaption|details|summary|pre|code|span|strong|b|a|br|svg|g|path|use|text|tspan|rect|polyline|defs|clipPath|"
    "pattern|"
    r"metadata|rdf:RDF|cc:Work|cc:Agent|dc:(?:type|title|format|creator))(?:\s+(?:"
    "(?:lang|name|content|class|id|colspan|rowspan|scope|data-label|role|aria-label|version|viewBox|width|height|x|y|"
    'rx|d|points|transform|patternUnits|xmlns(?::(?:xlink|dc|cc|rdf))?|rdf:resource)="[^"<]*"|charset="utf-8"|'
    r'fill="(?:#[0-9a-f]{6}|var\(--[\w-]+\))"|'
    rf'style="{_STYLE % chr(34)}"|xlink:href="#[\w.-]+"|clip-path="url\(#[\w.-]+\)"))* ?/?>|'
    r'<a href="(?:#[\w.-]+|\w(?:[^"<&.:%\\\s]|\.(?!\.))*|'  # has no scheme, and does not lead up
    r'https?://[\w.:-]+(?:/[\w-]+)*/d/ncp-[\w-]+\?var-scenario=[\w%]+&amp;var-run=[\w-]+)">|'  # a dashboard, at the run
    r'<img src="cells/(?:[^"<&.:%\\\s]|\.(?!\.))*\.svg" alt="[^"<]*" loading="lazy">|'  # a run's plot, in the gallery
    rf'<style(?: type="text/css")?>{_STYLE % ""}</style>|</style>|<!doctype html>|'
    r"<!-- (?:[^<>-]|-[^<>-])* -->|"  # matplotlib writes a formula as a comment, and draws it
    r'<\?xml version="1\.0" encoding="utf-8" standalone="no"\?>|'
    r'<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1\.1//EN"\s+"http://www\.w3\.org/Graphics/SVG/1\.1/DTD/svg11\.dtd">'
)


def foreign(text: str) -> str | None:
    """The begin of the first thing in a page or a drawing that is not as all of ours is, whichever version wrote it."""
    begins = (found.start() for found in re.finditer("<", text))
    return next((text[begin : begin + 80] for begin in begins if not _OURS.match(text, begin)), None)
