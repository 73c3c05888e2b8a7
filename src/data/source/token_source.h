#pragma once

#include "data/source/sample_source.h"

namespace trainyard::data {

struct Dataset;
struct DatasetFiles;

struct SequenceOptions {
  std::int64_t length = 50;  // steps of a sequence; it has one token more, which the last step is to predict
  std::int64_t vocabulary = 1024;
  // The last token of the vocabulary is the mask of a network that is asked for masked tokens: no sample has
  // it.
  bool masked = false;

  std::int64_t words() const { return masked ? vocabulary - 1 : vocabulary; }
};

// The vocabulary of a text is its bytes.
inline constexpr std::int64_t kByteVocabulary = 256;

// Returns room in `scratch` for the tokens of one sequence of so many steps.
std::span<std::int32_t> tokens_in(SampleSource::Scratch& scratch, std::int64_t length);

// Loads the bytes of a file as tokens: sequences one behind the other, the last token of one is the first of
// the next. The last tenth is held out for evaluation. Error (config) when the text is too short for two
// sequences; Error (usage) when it has a byte that is not in the vocabulary.
Dataset load_text(const std::filesystem::path& file, const SequenceOptions& options);

// Error (config) when there is no such file.
DatasetFiles list_text(const std::filesystem::path& file);

// Loads what pack_text() wrote: the sequences of train.tokens, one behind the other as those of a text, and
// for evaluation those of validation.tokens. Error (config) when a file is damaged, or too short for a
// sequence; Error (usage) when the vocabulary is larger than that of `options`.
Dataset load_tokens(const std::filesystem::path& folder, const SequenceOptions& options);

// Error (config) when one of the two files is missing.
DatasetFiles list_tokens(const std::filesystem::path& folder);

// Returns the number of different tokens. Error (config) when the header of train.tokens is damaged.
std::int64_t vocabulary_of_tokens(const std::filesystem::path& folder);

// Made-up sequences of any length that can be learnt: three of four tokens follow from the one before, in a
// way that depends on the seed alone, and the others are random. A sequence depends on (seed, split, index).
Dataset make_synthetic_sequences(const SequenceOptions& options, std::uint64_t seed);

}  // namespace trainyard::data
