#pragma once

#include <string>

#include "trace/trace.h"

namespace trainyard::trace {

// What a span tells about the time it covers.
enum class Role {
  step,           // a training step: what is summarised
  plain_step,     // one that was not traced, to compare with
  kernel,         // a device computes
  host_op,        // an operator of a framework: it computes where no device does
  copy,           // between host and device, or into the inputs
  communication,  // with other devices and processes
  input_wait,     // for the next batch
  other,          // a part of a step, a call of a library, ...
};

// What a span is by its category and name: in our files, and in those of PyTorch's profiler.
Role role_of(const Span& span);

// gemm, conv, rnn, elementwise, norm, pool, loss, optimizer or copy. Ours say it; of others it is guessed by
// the names that libraries give their kernels. REQUIRES: a kernel or host_op.
std::string compute_category(const Span& span);

}  // namespace trainyard::trace
