#pragma once

#include "base/device_spec.h"
#include "train/session/decoding.h"

namespace trainyard::run {

struct SampleOptions {
  std::filesystem::path from;  // a run's folder, or one of its checkpoints
  std::string prompt;          // empty: a line's end
  std::int64_t tokens = 200;   // to make, at most as many as the network has room for
  train::Drawing drawing;
  // The vocabulary of the texts that the network was trained on; empty: that of the run's data, or bytes.
  std::filesystem::path vocabulary;
  DeviceSpec device;
  std::string precision = "f32";
  int threads = 0;  // 0: every core this process may use
};

struct SampleResult {
  std::string network, checkpoint, text;  // the text that was made, without the prompt
  std::int64_t prompt_tokens = 0, tokens = 0;
  double first_token_seconds = 0;  // of the prompt and the token behind it
  double token_seconds = 0;        // of each of the others: the median; 0 where there are none
};

// Makes text by a network that was trained. `hear` receives the bytes of each token as soon as it is made;
// false ends the text. Error (usage) where the network has no room for the prompt, Error (config) where the
// vocabulary is not the network's.
SampleResult sample_text(const SampleOptions& options, const std::function<bool(std::string_view)>& hear);

}  // namespace trainyard::run
