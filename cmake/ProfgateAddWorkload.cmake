include_guard(GLOBAL)
function(profgate_add_workload)
endfunction()
