# expect: NAME '../mine' cannot be part of a file and test name; begin with a letter or digit
profgate_add_workload(NAME ../mine COMMAND true CONFIGS smoke)
