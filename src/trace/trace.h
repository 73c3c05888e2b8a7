#pragma once

#include <variant>

#include "base/standard.h"

namespace trainyard::trace {

using Argument = std::variant<std::int64_t, double, std::string>;
using Arguments = std::vector<std::pair<std::string, Argument>>;

// A Track is a row of the picture: a thread, a stream or a queue of a process or device.
struct Track {
  std::string process, name;
  int process_number = 0;  // tracks of one process or device share it

  friend bool operator==(const Track&, const Track&) = default;
};

// Something that took time. Those of one track lie beside or within each other.
struct Span {
  int track = 0;
  std::string name, category;
  double began = 0, seconds = 0;  // all spans and counters of a trace are on one clock
  Arguments arguments;

  double ended() const { return began + seconds; }
  // Null: it has none of that name, or of another type.
  const std::string* text(const std::string& key) const;
  const std::int64_t* number(const std::string& key) const;
};

// A Counter is a number that has a value from some moment on.
struct Counter {
  int track = 0;
  std::string name;
  double at = 0, value = 0;
};

struct Trace {
  std::vector<Track> tracks;
  std::vector<Span> spans;
  std::vector<Counter> counters;
  std::vector<std::pair<std::string, std::string>> facts;  // of the run

  // Returns the track's number; adds it when it is new.
  int track(const Track& wanted);
};

// Says what a span tells about the time it covers.
enum class SpanRole {
  step,           // a training step: what is summarised
  plain_step,     // one that was not traced, to compare with
  kernel,         // a device computes
  host_op,        // an operator of a framework: it computes where no device does
  copy,           // between host and device, or into the inputs
  communication,  // with other devices and processes
  input_wait,     // for the next batch
  other,          // a part of a step, a call of a library, ...
};

// Classifies a span by its category and name, in our files and in those of PyTorch's profiler.
SpanRole role_of(const Span& span);

// gemm, conv, rnn, elementwise, norm, pool, loss, optimizer or copy. Ours say it; of others it is guessed by
// the names that libraries give their kernels. REQUIRES: a kernel or host_op.
std::string compute_category(const Span& span);

}  // namespace trainyard::trace
