# expect: OVERRIDES 'light' is not of the form key=value, e.g. run.mode=light
profgate_add_workload(NAME mine COMMAND true CONFIGS smoke OVERRIDES light)
