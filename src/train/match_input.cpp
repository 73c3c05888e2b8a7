#include "train/match_input.h"

#include <algorithm>

namespace trainyard::train {
namespace {

constexpr std::int64_t kSyntheticBytes = std::int64_t{64} << 20;

}  // namespace

void want_images(const networks::NetworkInfo& network) {
  if (network.reads_sequences())
    fail(ErrorKind::usage,
         "network '{}': reads sequences, and data sets hold images; bench and explain make sequences up",
         network.name);
}

MatchedInput match_input(const networks::NetworkInfo& network, const data::Dataset& dataset,
                         const std::string& preprocess) {
  MatchedInput matched;
  matched.preprocess.name = preprocess.empty() ? network.preprocess : preprocess;
  const bool flat = network.input.rank() == 1;
  if (!flat) matched.preprocess.output = {dataset.image_shape[0], network.input[1], network.input[2]};
  const data::Augment augment(matched.preprocess, dataset.image_shape);
  matched.network = flat ? Shape{augment.output().elements()} : augment.output();
  return matched;
}

data::SyntheticOptions synthetic_for(const networks::NetworkInfo& network, int classes, std::uint64_t seed) {
  data::SyntheticOptions options;
  const Shape& input = network.input;
  options.image_shape = input.rank() == 1 ? Shape{1, 1, input[0]} : input;
  options.classes = classes == 0 ? network.classes : classes;
  const std::int64_t room = std::max<std::int64_t>(kSyntheticBytes / input.elements(), 64);
  options.train_images = std::min(options.train_images, room);
  options.test_images = std::min(options.test_images, std::max<std::int64_t>(room / 5, 16));
  options.seed = seed;
  return options;
}

}  // namespace trainyard::train
