#include "data/pack/pack_text.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/source/dataset.h"
#include "data/text/token_file.h"
#include "data/text/vocabulary_training.h"
#include "process/stop_request.h"

namespace trainyard::data {

namespace {

constexpr std::int64_t kFewestTokens = 2;  // one to read, one to predict

// Returns the begin of the first word at or behind the share of the text that is trained on: a word that was
// cut would be tokens that no other text has.
std::size_t begin_of_validation(std::string_view text, double share) {
  const double train = static_cast<double>(text.size()) * (1 - share);
  std::size_t place = 0;
  while (place < text.size() && static_cast<double>(place) < train) place += first_word(text.substr(place));
  return place;
}

std::vector<Token> encode(Encoder& encoder, std::string_view text, const char* label,
                          ProgressListener* progress) {
  constexpr std::size_t kTold = std::size_t{1} << 20;
  Progress bar(progress, label, std::ssize(text));
  std::vector<Token> tokens;
  std::size_t told = 0;
  for (std::size_t place = 0; place < text.size();) {
    place += encoder.add_first_word(text.substr(place), tokens);
    if (place - told < kTold) continue;
    told = place;
    process::StopRequest::check();
    bar.update(static_cast<std::int64_t>(place), format_bytes(static_cast<std::int64_t>(place)));
  }
  return tokens;
}

}  // namespace

PackedText pack_text(const TextPackOptions& options) {
  list_text(options.text);
  const MappedFile file(options.text);
  const std::string_view text(reinterpret_cast<const char*>(file.data()),
                              static_cast<std::size_t>(file.bytes()));
  const std::size_t cut = begin_of_validation(text, options.validation);
  const Vocabulary vocabulary = train_vocabulary(text.substr(0, cut), options.vocabulary, options.progress);
  Encoder encoder(vocabulary);
  const std::vector<Token> train = encode(encoder, text.substr(0, cut), "packing train", options.progress),
                           validation =
                               encode(encoder, text.substr(cut), "packing validation", options.progress);
  if (std::min(std::ssize(train), std::ssize(validation)) < kFewestTokens)
    fail(ErrorKind::config,
         "'{}': {} bytes make {} tokens to train on and {} for evaluation, at least {} each expected",
         options.text.string(), text.size(), train.size(), validation.size(), kFewestTokens);
  make_folders(options.to);
  const std::uint32_t sum = write_vocabulary(vocabulary, options.to / "vocabulary.json");
  write_tokens(options.to / "validation.tokens", validation, vocabulary.size(), sum);
  write_tokens(options.to / "train.tokens", train, vocabulary.size(), sum);
  return {.bytes = file.bytes(),
          .vocabulary = vocabulary.size(),
          .train_tokens = std::ssize(train),
          .validation_tokens = std::ssize(validation),
          .train_bytes = static_cast<std::int64_t>(cut)};
}

}  // namespace trainyard::data
