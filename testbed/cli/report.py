"""``report``: the pages of result folders anew, also on paper."""

from __future__ import annotations

from typing import Annotated

import typer

from testbed import confine
from testbed.cli.verify import ResultFolders
from testbed.errors import BadInput
from testbed.lab.browser import Browser, none_found
from testbed.machine.browser import find


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("report")
    def report(
        folders: ResultFolders,
        pdf: Annotated[bool, typer.Option("--pdf", help="Also report.pdf, with Chromium or Chrome.")] = False,
    ) -> None:
        """Write plots and report.html of result folders again, without running anything."""
        from testbed.archive.pages import write_page

        for folder in folders:
            if not folder.is_dir():
                raise BadInput("result.no-folder", "{folder}: there is no such result folder", folder=folder)
        if pdf and find() is None:
            raise none_found()
        with confine.to_results(*folders):
            pages = [write_page(folder) for folder in folders]
        for page in pages:
            print(page)
        if pdf:
            with Browser() as browser:
                for page in pages:
                    browser.pdf(page, page.with_suffix(".pdf"))
                    print(page.with_suffix(".pdf"))
