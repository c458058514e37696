"""Whether runs of one plan are the same bytes: a judgement over a study of repetitions."""
