#pragma once

#include "base/progress.h"
#include "base/standard.h"

namespace trainyard::data {

struct TextPackOptions {
  std::filesystem::path text, to;
  std::int64_t vocabulary = 4096;  // tokens at most; 256: the bytes as they are
  double validation = 0.1;         // share of the text's bytes, its end
  ProgressListener* progress = nullptr;
};

struct PackedText {
  std::int64_t bytes = 0, vocabulary = 0, train_tokens = 0, validation_tokens = 0;
  std::int64_t train_bytes = 0;  // of the text
};

// Trains a vocabulary on the text but for its end, and writes it and both parts in its tokens into the
// folder: vocabulary.json, validation.tokens, train.tokens (docs/formats/datasets.md). Error (config) when
// there is no such text or a part has less than two tokens; Error (interrupted) when a StopRequest asks to
// stop, before anything is written.
PackedText pack_text(const TextPackOptions& options);

}  // namespace trainyard::data
