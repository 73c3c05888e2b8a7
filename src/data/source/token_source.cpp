#include "data/source/token_source.h"

#include "base/error.h"
#include "base/file.h"
#include "base/philox.h"
#include "data/source/dataset.h"
#include "data/text/token_file.h"

namespace trainyard::data {

std::span<std::int32_t> tokens_in(SampleSource::Scratch& scratch, std::int64_t length) {
  const std::size_t count = static_cast<std::size_t>(length) + 1;
  if (scratch.size() < count * sizeof(std::int32_t)) scratch.resize(count * sizeof(std::int32_t));
  return {reinterpret_cast<std::int32_t*>(scratch.data()), count};
}

namespace {

class TextSamples final : public SampleSource {
 public:
  TextSamples(std::shared_ptr<const MappedFile> text, std::int64_t length, std::int64_t first,
              std::int64_t size)
      : text_(std::move(text)), length_(length), first_(first), size_(size) {}

  std::int64_t size() const override { return size_; }
  Sample read(std::int64_t index, Scratch& scratch) const override {
    const std::span<std::int32_t> tokens = tokens_in(scratch, length_);
    std::copy_n(text_->data() + (first_ + index) * length_, tokens.size(), tokens.begin());
    return {std::as_bytes(tokens), static_cast<std::int32_t>(length_)};
  }

 private:
  const std::shared_ptr<const MappedFile> text_;
  const std::int64_t length_, first_, size_;
};

}  // namespace

namespace {

// The end of what is said of a vocabulary that is too small.
std::string and_the_mask(const SequenceOptions& options) {
  return options.masked ? ", and the last token is the mask" : "";
}

}  // namespace

DatasetFiles list_text(const std::filesystem::path& file) {
  if (!std::filesystem::is_regular_file(file))
    fail(ErrorKind::config, "'{}' is not a file; a text expected", file.string());
  return {.root = file, .files = {file}, .note = ""};
}

Dataset load_text(const std::filesystem::path& file, const SequenceOptions& options) {
  list_text(file);
  const auto text = std::make_shared<const MappedFile>(file);
  const std::int64_t sequences = (text->bytes() - 1) / options.length;
  if (sequences < 2)
    fail(ErrorKind::config, "'{}': {} bytes, at least {} expected: two sequences of {} steps, and one more",
         file.string(), text->bytes(), 2 * options.length + 1, options.length);
  const std::uint8_t largest = *std::max_element(text->data(), text->data() + text->bytes());
  if (largest >= options.words())
    fail(ErrorKind::usage, "{} {} is too small: '{}' has byte {}{}; {} takes any text", Setting{"vocabulary"},
         options.vocabulary, file.string(), largest, and_the_mask(options),
         kByteVocabulary + options.vocabulary - options.words());
  const std::int64_t tests = std::max<std::int64_t>(sequences / 10, 1), trains = sequences - tests;
  Dataset dataset;
  dataset.kind = SampleKind::tokens;
  dataset.classes = static_cast<int>(options.vocabulary);
  dataset.train.samples = std::make_shared<TextSamples>(text, options.length, 0, trains);
  dataset.test.samples = std::make_shared<TextSamples>(text, options.length, trains, tests);
  dataset.note = fmt::format("the last {} of {} sequences are held out for evaluation", tests, sequences);
  return dataset;
}

namespace {

constexpr const char* kTrainTokens = "train.tokens";
constexpr const char* kValidationTokens = "validation.tokens";

class PackedSamples final : public SampleSource {
 public:
  PackedSamples(std::shared_ptr<const TokenFile> file, std::int64_t length)
      : file_(std::move(file)), length_(length) {}

  std::int64_t size() const override { return sequences(*file_, length_); }
  Sample read(std::int64_t index, Scratch& scratch) const override {
    const std::span<std::int32_t> tokens = tokens_in(scratch, length_);
    file_->read(index * length_, tokens);
    return {std::as_bytes(tokens), static_cast<std::int32_t>(length_)};
  }

  static std::int64_t sequences(const TokenFile& file, std::int64_t length) {
    return std::max<std::int64_t>(file.header().tokens - 1, 0) / length;
  }

 private:
  const std::shared_ptr<const TokenFile> file_;
  const std::int64_t length_;
};

std::shared_ptr<const TokenFile> open_tokens(const std::filesystem::path& path,
                                             const SequenceOptions& options) {
  auto file = std::make_shared<const TokenFile>(path);
  if (PackedSamples::sequences(*file, options.length) < 1)
    fail(ErrorKind::config, "'{}': {} tokens, at least {} expected: a sequence of {} steps, and one more",
         path.string(), file->header().tokens, options.length + 1, options.length);
  if (file->header().vocabulary > options.words())
    fail(ErrorKind::usage, "{} {} is too small: '{}' has a vocabulary of {}{}", Setting{"vocabulary"},
         options.vocabulary, path.string(), file->header().vocabulary, and_the_mask(options));
  return file;
}

}  // namespace

DatasetFiles list_tokens(const std::filesystem::path& folder) {
  DatasetFiles found{.root = folder, .files = {}, .note = ""};
  for (const char* name : {kTrainTokens, kValidationTokens}) {
    found.files.push_back(folder / name);
    if (!std::filesystem::is_regular_file(found.files.back()))
      fail(ErrorKind::config, "'{}': no file '{}', which 'data pack text' writes", folder.string(), name);
  }
  return found;
}

std::int64_t vocabulary_of_tokens(const std::filesystem::path& folder) {
  return read_token_header(list_tokens(folder).files.front()).vocabulary;
}

Dataset load_tokens(const std::filesystem::path& folder, const SequenceOptions& options) {
  const DatasetFiles files = list_tokens(folder);
  const auto train = open_tokens(files.files[0], options), validation = open_tokens(files.files[1], options);
  const TokenFileHeader &first = train->header(), &second = validation->header();
  if (first.vocabulary != second.vocabulary || first.vocabulary_sum != second.vocabulary_sum)
    fail(ErrorKind::config,
         "'{}' has another vocabulary ({} tokens, sum {:08x}) than '{}' ({} tokens, sum {:08x})",
         files.files[1].string(), second.vocabulary, second.vocabulary_sum, kTrainTokens, first.vocabulary,
         first.vocabulary_sum);
  Dataset dataset;
  dataset.kind = SampleKind::tokens;
  dataset.classes = static_cast<int>(options.vocabulary);
  dataset.train.samples = std::make_shared<PackedSamples>(train, options.length);
  dataset.test.samples = std::make_shared<PackedSamples>(validation, options.length);
  return dataset;
}

namespace {

constexpr std::int64_t kTrainSequences = 10'000, kTestSequences = 1'000;

// Returns 0 to below `count`, all equally likely except for 1 in 2^32.
std::int32_t below(std::int64_t count, std::uint32_t word) {
  return static_cast<std::int32_t>((static_cast<std::uint64_t>(count) * word) >> 32);
}

class SyntheticSequences final : public SampleSource {
 public:
  SyntheticSequences(const SequenceOptions& options, std::uint64_t seed, const char* split, std::int64_t size)
      : length_(options.length), words_(options.words()), random_(seed, stream_of(split)), size_(size) {
    // Without a common divisor of factor and words every token follows exactly one other.
    const Philox rule(seed, stream_of("sequence rule"));
    factor_ = 1 + below(words_, rule.word(0));
    while (std::gcd(factor_, words_) != 1) ++factor_;
    offset_ = below(words_, rule.word(1));
  }

  std::int64_t size() const override { return size_; }
  Sample read(std::int64_t index, Scratch& scratch) const override {
    const std::span<std::int32_t> tokens = tokens_in(scratch, length_);
    // A sequence's words follow each other: its length, then its tokens.
    std::uint64_t word = static_cast<std::uint64_t>(index) * (tokens.size() + 1);
    const auto steps = 1 + below(length_, random_.word(word++));
    std::int64_t token = 0;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      const std::uint32_t drawn = random_.word(word++);
      const bool follows = t > 0 && drawn % 4 != 0;
      token = follows ? (token * factor_ + offset_) % words_ : below(words_, drawn);
      tokens[t] = static_cast<std::int32_t>(token);
    }
    return {std::as_bytes(tokens), steps};
  }

 private:
  const std::int64_t length_, words_;
  const Philox random_;
  const std::int64_t size_;
  std::int64_t factor_ = 1, offset_ = 0;
};

}  // namespace

Dataset make_synthetic_sequences(const SequenceOptions& options, std::uint64_t seed) {
  TRAINYARD_CHECK(options.length > 0 && options.words() > 0 &&
                  options.vocabulary <= std::numeric_limits<std::int32_t>::max());
  Dataset dataset;
  dataset.name = "synthetic";
  dataset.kind = SampleKind::tokens;
  dataset.classes = static_cast<int>(options.vocabulary);
  dataset.train.samples =
      std::make_shared<SyntheticSequences>(options, seed, "synthetic sequences", kTrainSequences);
  dataset.test.samples =
      std::make_shared<SyntheticSequences>(options, seed, "synthetic test sequences", kTestSequences);
  return dataset;
}

}  // namespace trainyard::data
