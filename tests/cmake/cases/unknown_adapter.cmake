# expect: unknown ADAPTER jax; the adapters are: pytorch
profgate_add_workload(NAME mine COMMAND true ADAPTER jax CONFIGS smoke)
