#include "data/source/language.h"

#include "base/error.h"
#include "base/philox.h"
#include "data/source/dataset.h"

namespace trainyard::data {

namespace {

constexpr std::uint32_t kGroups = 4;
constexpr double kFullStop = 1.0 / 16;

// The probabilities of the words behind a state with so many of them, the full stop not among them.
constexpr std::size_t kMostRow = 8;
struct Row {
  std::array<double, kMostRow> share{};
  double entropy = 0;  // with that of the full stop
};

const std::array<Row, kMostRow + 1>& rows() {
  static const std::array<Row, kMostRow + 1> kRows = [] {
    std::array<Row, kMostRow + 1> rows;
    for (std::size_t count = 1; count <= kMostRow; ++count) {
      Row& row = rows[count];
      double sum = 0;
      for (std::size_t j = 0; j < count; ++j) sum += 1.0 / static_cast<double>(j + 1);
      row.entropy = -kFullStop * std::log(kFullStop);
      for (std::size_t j = 0; j < count; ++j) {
        row.share[j] = (1 - kFullStop) / (sum * static_cast<double>(j + 1));
        row.entropy -= row.share[j] * std::log(row.share[j]);
      }
    }
    return rows;
  }();
  return kRows;
}

// Returns 0 to below `count`, all equally likely except for 1 in 2^32.
std::uint32_t scaled(std::uint32_t word, std::uint32_t count) {
  return static_cast<std::uint32_t>((std::uint64_t{word} * count) >> 32);
}

double to_share(std::uint32_t drawn) { return (static_cast<double>(drawn) + 0.5) * 0x1p-32; }

std::uint32_t checked_words(std::int64_t vocabulary) {
  if (vocabulary < 2 || vocabulary > Language::kMostWords)
    fail(ErrorKind::usage, "{} {}: a language has 2 to {} words", Setting{"vocabulary"}, vocabulary,
         Language::kMostWords);
  return static_cast<std::uint32_t>(vocabulary);
}

}  // namespace

Language::Language(std::uint64_t seed, std::int64_t vocabulary)
    : words_(checked_words(vocabulary)), groups_(std::min(kGroups, words_)) {
  static_assert(kMostRow == kMostNext);
  draw_words(seed);
  find_stationary();
  for (State state = 0; state < states(); ++state)
    entropy_rate_ += stationary_[state] * rows()[count_of(state)].entropy;
  first_entropy_ = entropy_after_word();
}

void Language::draw_words(std::uint64_t seed) {
  const std::uint32_t most = std::min(kMostNext, words_ - 1);
  counts_.resize(states());
  next_.resize(std::size_t{states()} * kMostNext);
  const std::uint64_t stream = stream_of("language");
  for (State state = 0; state < states(); ++state) {
    const Philox random(seed, mix_streams(stream, state));
    std::uint64_t drawn = 0;
    counts_[state] = static_cast<std::uint8_t>(1 + scaled(random.word(drawn++), most));
    const auto row = std::span(next_).subspan(std::size_t{state} * kMostNext, counts_[state]);
    for (std::size_t j = 0; j < row.size();) {
      row[j] = 1 + scaled(random.word(drawn++), words_ - 1);
      if (std::find(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(j), row[j]) ==
          row.begin() + static_cast<std::ptrdiff_t>(j))
        ++j;
    }
  }
}

Language::State Language::after(State state, std::int32_t word) const {
  return state % words_ % groups_ * words_ + static_cast<State>(word);
}

// Power iteration. The full stop twice makes the chain forget where it was, so that it converges.
void Language::find_stationary() {
  constexpr double kEqual = 1e-13;
  constexpr int kMostRounds = 20'000;
  stationary_.assign(states(), 1.0 / states());
  std::vector<double> following(states());
  for (int round = 0; round < kMostRounds; ++round) {
    std::fill(following.begin(), following.end(), 0.0);
    for (State state = 0; state < states(); ++state) {
      const double mass = stationary_[state];
      const Row& row = rows()[count_of(state)];
      following[after(state, 0)] += mass * kFullStop;
      for (std::size_t j = 0; const std::uint32_t word : next_of(state))
        following[after(state, static_cast<std::int32_t>(word))] += mass * row.share[j++];
    }
    const double sum = std::accumulate(following.begin(), following.end(), 0.0);
    double change = 0;
    for (State state = 0; state < states(); ++state) {
      following[state] /= sum;
      change += std::abs(following[state] - stationary_[state]);
    }
    stationary_.swap(following);
    if (change < kEqual) break;
  }
  up_to_.resize(states());
  std::partial_sum(stationary_.begin(), stationary_.end(), up_to_.begin());
}

Language::State Language::begin(std::uint32_t drawn) const {
  const auto found = std::upper_bound(up_to_.begin(), up_to_.end(), to_share(drawn) * up_to_.back());
  return static_cast<State>(found - up_to_.begin());
}

std::int32_t Language::next(State state, std::uint32_t drawn) const {
  double left = to_share(drawn) - kFullStop;
  if (left < 0) return 0;
  const std::span<const std::uint32_t> words = next_of(state);
  const Row& row = rows()[words.size()];
  std::size_t j = 0;
  while (j + 1 < words.size() && left >= row.share[j]) left -= row.share[j++];
  return static_cast<std::int32_t>(words[j]);
}

double Language::probability(State state, std::int32_t next) const {
  if (next == 0) return kFullStop;
  const std::span<const std::uint32_t> words = next_of(state);
  const auto found = std::find(words.begin(), words.end(), static_cast<std::uint32_t>(next));
  return found == words.end() ? 0
                              : rows()[words.size()].share[static_cast<std::size_t>(found - words.begin())];
}

double Language::probability_after_word(std::int32_t word, std::int32_t next) const {
  double mass = 0, together = 0;
  for (std::uint32_t group = 0; group < groups_; ++group) {
    const State state = group * words_ + static_cast<State>(word);
    mass += stationary_[state];
    together += stationary_[state] * probability(state, next);
  }
  return together / mass;
}

double Language::loss_of(std::span<const std::int32_t> words) const {
  double nats = -std::log(probability_after_word(words[0], words[1]));
  // Any state with the first word will do: its own group is that of the word before.
  State state = after(static_cast<State>(words[0]), words[1]);
  for (const std::int32_t next : words.subspan(2)) {
    nats -= std::log(probability(state, next));
    state = after(state, next);
  }
  return nats / static_cast<double>(words.size() - 1);
}

double Language::entropy_after_word() const {
  double entropy = 0;
  for (std::uint32_t word = 0; word < words_; ++word) {
    double mass = 0;
    std::set<std::uint32_t> followers{0};
    for (std::uint32_t group = 0; group < groups_; ++group) {
      const State state = group * words_ + word;
      mass += stationary_[state];
      followers.insert(next_of(state).begin(), next_of(state).end());
    }
    if (mass <= 0) continue;  // nobody comes to this word
    for (const std::uint32_t next : followers) {
      const double share =
          probability_after_word(static_cast<std::int32_t>(word), static_cast<std::int32_t>(next));
      if (share > 0) entropy -= mass * share * std::log(share);
    }
  }
  return entropy;
}

double Language::least_loss(std::int64_t length) const {
  const auto steps = static_cast<double>(length);
  return (first_entropy_ + (steps - 1) * entropy_rate_) / steps;
}

namespace {

constexpr std::int64_t kTrainSequences = 100'000, kTestSequences = 1'000;

class LanguageSamples final : public SampleSource {
 public:
  LanguageSamples(std::shared_ptr<const Language> language, const Philox& random, std::int64_t length,
                  std::int64_t size)
      : language_(std::move(language)), random_(random), length_(length), size_(size) {}

  std::int64_t size() const override { return size_; }
  Sample read(std::int64_t index, Scratch& scratch) const override {
    const std::span<std::int32_t> tokens = tokens_in(scratch, length_);
    std::uint64_t drawn = static_cast<std::uint64_t>(index) * tokens.size();
    Language::State state = language_->begin(random_.word(drawn++));
    tokens[0] = language_->last_word(state);
    for (std::int32_t& token : tokens.subspan(1)) {
      token = language_->next(state, random_.word(drawn++));
      state = language_->after(state, token);
    }
    return {std::as_bytes(tokens), static_cast<std::int32_t>(length_)};
  }

 private:
  const std::shared_ptr<const Language> language_;
  const Philox random_;
  const std::int64_t length_, size_;
};

double loss_of_samples(const Language& language, const SampleSource& samples) {
  SampleSource::Scratch scratch;
  double sum = 0;
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    const Sample sample = samples.read(i, scratch);
    sum += language.loss_of({reinterpret_cast<const std::int32_t*>(sample.bytes.data()),
                             static_cast<std::size_t>(sample.label) + 1});
  }
  return sum / static_cast<double>(samples.size());
}

}  // namespace

Dataset make_language(std::uint64_t seed, const SequenceOptions& options) {
  if (options.masked && (options.words() < 2 || options.words() > Language::kMostWords))
    fail(ErrorKind::usage, "{} {}: a language has 2 to {} words, and the last token is the mask",
         Setting{"vocabulary"}, options.vocabulary, Language::kMostWords);
  const auto language = std::make_shared<const Language>(seed, options.words());
  const auto samples = [&](const char* split, std::int64_t size) {
    return std::make_shared<LanguageSamples>(language, Philox(seed, stream_of(split)), options.length, size);
  };
  Dataset dataset;
  dataset.kind = SampleKind::tokens;
  dataset.classes = static_cast<int>(options.vocabulary);
  dataset.train.samples = samples("language train", kTrainSequences);
  dataset.test.samples = samples("language test", kTestSequences);
  // The least loss is known only for networks that see nothing but the words before.
  if (options.masked) return dataset;
  dataset.least_loss = language->least_loss(options.length);
  dataset.least_test_loss = [language, tests = dataset.test.samples] {
    return loss_of_samples(*language, *tests);
  };
  dataset.note =
      fmt::format("no network has a smaller mean loss than {:.4f} nats a token (perplexity {:.4g})",
                  *dataset.least_loss, std::exp(*dataset.least_loss));
  return dataset;
}

}  // namespace trainyard::data
