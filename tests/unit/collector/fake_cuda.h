#pragma once

#include <string>
#include <vector>

namespace profgate::test {

/// The words of a script that stand for CUDA; false if the word is none of them.
///
///   cuda                     the driver is loaded, if FAKE_CUDA_DRIVER names one; then what cuInit() does
///                            first: CUDA_INJECTION64_PATH is loaded and called
///   capture:begin|end:<who>:<result>   of a stream, by a call of the driver, of the runtime, or of both, one
///                            inside of the other
///   kernel:<name>:<count>    that many launches of a kernel; the name is mangled
///   graph:<name>:<nodes>     one graph launch of that many kernels
///   node:<id>  clone:<id>:<original>   a node of a graph is made
///   module:<file>            a module with this image is loaded
///   queue:<name>  run        a launch now, its kernel at the next `run`
///   copy:<bytes>  memset:<bytes>
///
/// All but `cuda` need the fake libcupti to be what the collector has loaded.
bool run_cuda_word(const std::vector<std::string>& parts);

}  // namespace profgate::test
