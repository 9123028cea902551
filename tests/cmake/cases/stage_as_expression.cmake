# expect: is not the plain name of a range
profgate_add_workload(NAME mine COMMAND true STAGES prefill "step_.*" CONFIGS smoke)
