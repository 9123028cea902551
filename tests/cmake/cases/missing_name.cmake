# expect: profgate_add_workload: NAME is missing.
# expect: profgate_add_workload(NAME my-server COMMAND my_bench CONFIGS smoke)
profgate_add_workload(COMMAND true CONFIGS smoke)
