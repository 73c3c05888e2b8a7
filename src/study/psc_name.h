#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard::study {

// The name of one of PSC's job outputs, in any form they took in 2018:
//   DATE-[GPU-]TYPE:COUNT[:BATCH][:STAGING][:VARIANT]       2018-06-22-GPU-k80:2:scratch:PS
//   DATE-CPU-PARTITION:MODEL:CORES[:BATCH][:STAGING]        2018-07-05-CPU-RM:E5-2695-V2:8:64:scratch
// and the same with '_' for ':'.
struct PscName {
  std::string date;              // of the submission, 2018-06-22
  bool cpu = false;              // the second form
  bool says_gpu = false;         // "GPU-" is there
  std::string gpu_type;          // first form
  std::string partition, model;  // second form; the model is what a person typed
  std::int64_t count = 0;        // GPUs, or cores
  std::optional<std::int64_t> batch;
  std::string staging;  // local, scratch or empty
  std::string variant;  // PS, IN or empty
  char separator = ':';
};

// Nothing when it is not such a name.
std::optional<PscName> parse_psc_name(std::string_view text);

// The reverse: to_text(*parse_psc_name(x)) == x.
std::string to_text(const PscName& name);

}  // namespace trainyard::study
