"""A worker as a program: ``python -m testbed.study.hosts SCHEDULER …``, with the options of ``dask worker``.

A file of its own: the process of each run passes over the ``__main__`` of a package, and Dask takes longer to import
than a short run.
"""

from testbed.study.hosts.worker import main

main()
