# expect: <folder>/conf/workload/no-device.yaml does not say where the workload runs; add the line `device: cpu`
profgate_add_workload(NAME mine COMMAND true CONFIGS no-device)
