#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace profgate::collector {

/// CUPTI's functions, from a library that is looked for at run time: the collector must load into programs
/// and onto machines that have none.
struct cupti_library {
  decltype(&::cuptiGetVersion) get_version = nullptr;
  decltype(&::cuptiGetResultString) get_result_string = nullptr;
  decltype(&::cuptiSubscribe) subscribe = nullptr;
  decltype(&::cuptiSetThreadIdType) set_thread_id_type = nullptr;
  decltype(&::cuptiActivityRegisterTimestampCallback) register_timestamp_callback = nullptr;
  decltype(&::cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&::cuptiActivitySetAttribute) set_attribute = nullptr;
  decltype(&::cuptiActivityEnable) enable = nullptr;
  decltype(&::cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&::cuptiActivityFlushPeriod) flush_period = nullptr;  ///< not there before CUDA 11
  decltype(&::cuptiActivityGetNextRecord) get_next_record = nullptr;
  decltype(&::cuptiActivityGetNumDroppedRecords) get_dropped_count = nullptr;
  decltype(&::cuptiGetCallbackName) get_callback_name = nullptr;
  /// Of newer versions; nothing where the library has none.
  CUptiResult (*enable_runtime_api)(CUpti_CallbackId id, std::uint8_t enable) = nullptr;
  CUptiResult (*enable_driver_api)(CUpti_CallbackId id, std::uint8_t enable) = nullptr;

  /// Of graphs; without them nobody tells where a graph's nodes were made.
  decltype(&::cuptiEnableCallback) enable_callback = nullptr;
  decltype(&::cuptiGetGraphNodeId) get_graph_node_id = nullptr;

  char path[512] = {};

  /// False, with the reason in `problem`, if there is none or it lacks a function.
  bool load(char* problem, std::size_t capacity);

 private:
  bool take_functions(void* handle, char* problem, std::size_t capacity);
};

}  // namespace profgate::collector
