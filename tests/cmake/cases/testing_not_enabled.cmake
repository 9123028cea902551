# expect: testing is not enabled, the tests would vanish; call enable_testing() before it
unset(CMAKE_TESTING_ENABLED)
profgate_add_workload(NAME mine COMMAND true CONFIGS smoke)
