# expect: on-gpu.yaml: `device: gpu` is neither `device: cpu` nor `device: cuda` (a GPU)
file(WRITE "${CMAKE_CURRENT_SOURCE_DIR}/conf/workload/on-gpu.yaml" "device: gpu\n")
profgate_add_workload(NAME mine COMMAND true CONFIGS on-gpu)
