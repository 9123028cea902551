#pragma once

/// Where libcupti may lie. The collector looks there from inside of the traced program, the doctor from
/// outside: both must look at the same places.
namespace profgate::collector {

/// Newest first. By name alone the loader finds them in LD_LIBRARY_PATH and in the system's folders.
constexpr const char* cupti_names[] = {"libcupti.so.13", "libcupti.so.12"};

/// Names a file, or "none"; comes before everything else.
constexpr const char* cupti_variable = "PROFGATE_CUPTI_LIBRARY";

/// Folders below a CUDA toolkit ($CUDA_HOME, $CUDA_PATH, cupti_toolkits).
constexpr const char* cupti_toolkit_folders[] = {"extras/CUPTI/lib64", "lib64", "lib",
                                                 "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"};
constexpr const char* cupti_toolkits[] = {"/usr/local/cuda", "/usr/local/cuda-13*", "/usr/local/cuda-12*"};

/// Nsight Compute and Nsight Systems bring their own, under a name with the full version.
constexpr const char* cupti_tool_patterns[] = {
    "/opt/nvidia/nsight-compute/*/host/target-linux-*/libcupti.so*",
    "/usr/local/cuda/nsight-compute-*/host/target-linux-*/libcupti.so*",
    "/opt/nvidia/nsight-systems/*/target-linux-*/libcupti.so*",
};

}  // namespace profgate::collector
