# expect: profgate_add_workload: NAME is missing.
# expect: profgate_add_workload(NAME mine COMMAND my_bench CONFIGS gpu)
profgate_add_workload(COMMAND true CONFIGS smoke)
