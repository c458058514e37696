"""Whether a run can be trusted: every reason why not, put together by :mod:`~testbed.judge.trust.reasons`.

Links are measured before a run (:mod:`~testbed.judge.trust.links`). During it, the machine, the relay and queues
are watched (:mod:`~testbed.judge.trust.machine`), and what is between machines with hosts of the run
(:mod:`~testbed.judge.trust.underlay`). Afterwards telemetry has to fit itself, the results and the plan
(:mod:`~testbed.judge.trust.telemetry`), and links that are a model to the plan
(:mod:`~testbed.judge.trust.links`); and nothing gets more than links can carry
(:mod:`~testbed.judge.trust.capacity`). None of it may be missing (:mod:`~testbed.judge.trust.coverage`). One reason is
enough: the run is then ``untrusted``, and proves nothing.
"""
