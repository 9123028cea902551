#pragma once

#include <functional>
#include <string_view>

#include "analysis/facts.h"

namespace profgate::render {

/// trace.json: every capture of a run in the trace event format, which Perfetto and chrome://tracing open.
/// `write` is given piece after piece: a long trace is never a text in memory.
void write_trace_events(const analysis::run_facts& facts, const std::function<void(std::string_view)>& write);

}  // namespace profgate::render
