# expect: profgate_add_workload(NAME mine): unknown arguments: PROGRAM true
# expect: The keywords are NAME, ENGINE, MODEL, ADAPTER, TIMEOUT, CONF_DIR, WORKING_DIRECTORY, COMMAND, CONFIGS, STAGES, OVERRIDES.
profgate_add_workload(PROGRAM true NAME mine CONFIGS smoke)
