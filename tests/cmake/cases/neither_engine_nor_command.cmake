# expect: profgate_add_workload(NAME mine): neither ENGINE nor COMMAND is given; add COMMAND <program>
profgate_add_workload(NAME mine CONFIGS smoke)
