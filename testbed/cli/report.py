"""``report``: the pages of result folders anew, also on paper."""

from typing import Annotated

import typer

from testbed import confine
from testbed.cli.options import ResultFolders
from testbed.errors import BadInput
from testbed.machine import browser


def report(
    folders: ResultFolders,
    pdf: Annotated[bool, typer.Option("--pdf", help="Also report.pdf, with Chromium or Chrome.")] = False,
) -> None:
    """Write plots and report.html of result folders again, without running anything."""
    from testbed.archive.page import write_page

    for folder in folders:
        if not folder.is_dir():
            raise BadInput("result.no-folder", f"{folder}: there is no such result folder")
    if pdf:
        browser.required()
    with confine.to_results(*folders):
        pages = [write_page(folder) for folder in folders]
    for page in pages:
        print(page)
    for page in pages if pdf else ():
        browser.print_pdf(page, page.with_suffix(".pdf"))
        print(page.with_suffix(".pdf"))
