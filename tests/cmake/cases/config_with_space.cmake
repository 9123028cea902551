# expect: config 'smoke fast' cannot be part of a file and test name
profgate_add_workload(NAME mine COMMAND true CONFIGS "smoke fast")
