# expect: profgate_add_workload(NAME mine): CONFIGS is missing.
profgate_add_workload(NAME mine COMMAND true)
