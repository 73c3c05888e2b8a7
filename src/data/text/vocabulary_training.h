#pragma once

#include "base/progress.h"
#include "data/text/vocabulary.h"

namespace trainyard::data {

// Trains a vocabulary of at most `size` tokens by byte-pair encoding (Sennrich et al., ACL 2016, on bytes as
// in GPT-2): merges the pair of neighbours within words that is most frequent in the text, and again. Of
// equally frequent pairs the one of the smaller tokens comes first, so that a text has one vocabulary. It
// stays smaller where no pair comes twice any more. Error (interrupted) when a StopRequest asks to stop.
// REQUIRES: Vocabulary::kBytes <= size <= Vocabulary::kMost.
Vocabulary train_vocabulary(std::string_view text, std::int64_t size, ProgressListener* progress = nullptr);

}  // namespace trainyard::data
