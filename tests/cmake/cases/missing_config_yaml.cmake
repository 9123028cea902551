# expect: CONFIGS smokey does not exist. Looked for: <folder>/conf/workload/smokey.yaml
# expect: There are: decode-b1, no-device, smoke Choose one of them, or write that file.
profgate_add_workload(NAME mine COMMAND true CONFIGS smoke smokey)
