#include "data/source/language.h"

#include "base/philox.h"
#include "base/test_folder.h"
#include "data/source/dataset.h"

namespace trainyard::data {
namespace {

std::span<const std::int32_t> words_of(const Sample& sample) {
  return {reinterpret_cast<const std::int32_t*>(sample.bytes.data()),
          static_cast<std::size_t>(sample.label) + 1};
}

// The mean loss in nats of who knows the language, and the standard error of that mean.
struct Loss {
  double mean = 0, error = 0;
};

Loss loss_of_the_language(const Language& language, const SampleSource& samples, std::int64_t sequences) {
  SampleSource::Scratch scratch;
  std::vector<double> losses;
  for (std::int64_t i = 0; i < sequences; ++i) {
    const Sample sample = samples.read(i, scratch);
    losses.push_back(language.loss_of(words_of(sample)));
  }
  const auto count = static_cast<double>(losses.size());
  const double mean = std::accumulate(losses.begin(), losses.end(), 0.0) / count;
  double squares = 0;
  for (const double loss : losses) squares += (loss - mean) * (loss - mean);
  return {mean, std::sqrt(squares / (count - 1) / count)};
}

TEST(Language, ItsOwnLossIsTheLeastLoss) {
  for (const std::int64_t vocabulary : {2, 3, 10, 256, 1024})
    for (const std::int64_t length : {1, 2, 40}) {
      const Language language(7, vocabulary);
      const Dataset dataset = make_language(7, {length, vocabulary});
      EXPECT_EQ(dataset.least_loss, language.least_loss(length));
      for (const Split split : {Split::train, Split::test}) {
        const Loss loss = loss_of_the_language(language, *dataset.split(split).source(), 1000);
        EXPECT_NEAR(loss.mean, language.least_loss(length), 4 * loss.error + 1e-9)
            << vocabulary << " words, length " << length;
        EXPECT_LT(loss.error, 0.05);
        if (split == Split::test) {
          EXPECT_NEAR(dataset.least_test_loss(), loss.mean, 1e-12);
        }
      }
    }
}

TEST(Language, ALossIsThatOfEachWordBehindTheTwoBeforeIt) {
  const Language language(7, 40);
  const std::int32_t first = language.next(3, 0xC000'0000),
                     second = language.next(language.after(3, first), 0xA000'0000);
  const Language::State begun = language.after(3, first);
  const std::vector<std::int32_t> words{3, first, second, 0};
  const double nats = -std::log(language.probability_after_word(3, first)) -
                      std::log(language.probability(begun, second)) - std::log(1.0 / 16);
  EXPECT_NEAR(language.loss_of(words), nats / 3, 1e-12);
  EXPECT_NEAR(language.loss_of(std::span(words).first(2)),
              -std::log(language.probability_after_word(3, first)), 1e-12);
}

// Three words are so few that every number can be computed another way.
TEST(Language, TheEntropyRateIsThatOfTheStationaryDistribution) {
  const Language language(11, 3);
  const Language::State states = 9;
  std::vector<double> distribution(states, 1.0 / states);
  for (int round = 0; round < 5000; ++round) {
    std::vector<double> following(states, 0.0);
    for (Language::State state = 0; state < states; ++state)
      for (std::int32_t next = 0; next < 3; ++next)
        following[language.after(state, next)] += distribution[state] * language.probability(state, next);
    distribution = following;
  }
  double rate = 0;
  for (Language::State state = 0; state < states; ++state) {
    double sum = 0;
    for (std::int32_t next = 0; next < 3; ++next) {
      const double share = language.probability(state, next);
      sum += share;
      if (share > 0) rate -= distribution[state] * share * std::log(share);
    }
    EXPECT_NEAR(sum, 1, 1e-12);
  }
  EXPECT_NEAR(language.entropy_rate(), rate, 1e-10);
  EXPECT_GE(language.least_loss(1), rate);
  EXPECT_NEAR(language.least_loss(1'000'000), rate, 1e-5);
}

TEST(Language, DependsOnTheSeedAlone) {
  SampleSource::Scratch scratch;
  const auto first_words = [&](std::uint64_t seed, Split split, std::int64_t index) {
    const Dataset dataset = make_language(seed, {20, 100});
    const Sample sample = dataset.split(split).source()->read(index, scratch);
    const auto* words = reinterpret_cast<const std::int32_t*>(sample.bytes.data());
    return std::vector<std::int32_t>(words, words + 21);
  };
  const auto words = first_words(3, Split::train, 5);
  EXPECT_EQ(first_words(3, Split::train, 5), words);
  EXPECT_NE(first_words(3, Split::train, 6), words);
  EXPECT_NE(first_words(3, Split::test, 5), words);
  EXPECT_NE(first_words(4, Split::train, 5), words);
}

TEST(Language, IsADataSetByItsSeed) {
  const auto load = [](const std::string& name, std::int64_t vocabulary) {
    DatasetOptions options;
    options.name = name;
    options.tokens = SequenceOptions{20, vocabulary};
    return load_dataset(options);
  };
  const Dataset dataset = load("language:12", 64);
  EXPECT_EQ(dataset.name, "language:12");
  EXPECT_EQ(dataset.least_loss, Language(12, 64).least_loss(20));
  EXPECT_NE(dataset.note.find("no network has a smaller mean loss than"), std::string::npos) << dataset.note;
  EXPECT_FALSE(has_files("language:12"));
  EXPECT_EQ(vocabulary_of("language:12"), std::nullopt);
  expect_error(ErrorKind::config, "'language:x': a seed expected", [&] { load("language:x", 64); });
  expect_error(ErrorKind::config, "'language:-1': a seed expected", [&] { load("language:-1", 64); });
  expect_error(ErrorKind::config, "language:SEED expected", [&] { load("language:", 64); });
  expect_error(ErrorKind::usage, "vocabulary 65537: a language has 2 to 65536 words",
               [&] { load("language:1", 65537); });
  expect_error(ErrorKind::config, "data set 'language:1' has no files",
               [] { list_files({.name = "language:1"}); });
}

}  // namespace
}  // namespace trainyard::data
