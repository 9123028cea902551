# expect: '--sizes=[1' holds a square bracket
profgate_add_workload(NAME mine COMMAND true "--sizes=[1" CONFIGS smoke)
