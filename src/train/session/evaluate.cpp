#include "train/session/evaluate.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "process/stop_request.h"
#include "stats/statistics.h"

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

void LossCurve::add(double seconds, std::int64_t gradients, double loss) {
  TRAINYARD_CHECK(gradients > 0);
  if (points_.empty() || in_last_ == per_point_) {
    if (points_.size() == kMostPoints) merge_neighbours();
    before_last_ = points_.empty() ? 0 : points_.back().gradients;
    points_.push_back({.gradients = before_last_});
    in_last_ = 0;
  }
  Point& last = points_.back();
  const auto weight = static_cast<double>(last.gradients - before_last_),
             more = static_cast<double>(gradients);
  last.loss = (last.loss * weight + loss * more) / (weight + more);
  last.gradients += gradients;
  last.seconds = seconds;
  ++in_last_;
}

void LossCurve::merge_neighbours() {
  std::int64_t before = 0;
  for (std::size_t i = 0; i + 1 < points_.size(); i += 2) {
    const Point& first = points_[i];
    Point both = points_[i + 1];
    const auto of_first = static_cast<double>(first.gradients - before),
               of_second = static_cast<double>(both.gradients - first.gradients);
    both.loss = (first.loss * of_first + both.loss * of_second) / (of_first + of_second);
    before = both.gradients;
    points_[i / 2] = both;
  }
  points_.resize(points_.size() / 2);  // kMostPoints is even
  per_point_ *= 2;
}

bool has_diverged(double first_loss, std::span<const double> last_losses) {
  constexpr double kFactor = 1000;
  return !last_losses.empty() && stats::median(last_losses) > kFactor * std::max(first_loss, 1.0);
}

namespace {

constexpr std::int64_t kUsefulBatch = 256;
constexpr std::size_t kModestBytes = std::size_t{512} << 20;

}  // namespace

Evaluator::Evaluator(const Session& session, data::MakeBatches batches, const data::Preprocess& preprocess)
    : batches_(std::move(batches)),
      stream_{.pass = data::Pass::evaluation,
              .split = data::Split::test,
              .preprocess = preprocess,
              .batch = 1,
              .seed = session.options().seed} {
  const SessionOptions& options = session.options();
  const std::int64_t images = batches_(stream_)->steps(), trained = options.model.batch;
  const bool shadow = options.update.ema_decay > 0;
  stream_.batch = std::max(trained, std::min(kUsefulBatch, images));
  executor_ = session.make_evaluator(stream_.batch, shadow);
  // At the batch of training, inference needs less memory than training, whatever the network.
  if (stream_.batch > trained && executor_->plan().bytes(plan::Region::slab) > kModestBytes)
    executor_ = session.make_evaluator(stream_.batch = trained, shadow);
  logits_ = HostTensor(executor_->read(Session::kLogits).shape(), DType::f32);
}

void Evaluator::evaluate(const Hear& hear) {
  data::BatchStream stream(batches_(stream_));
  for (std::int64_t step = 0; step < stream.steps() && !process::StopRequest::asked(); ++step) {
    const data::Batch& batch = stream.next();
    executor_->write(Session::kImages, batch.images);
    executor_->write(Session::kLabels, batch.labels);
    executor_->run({stream_.seed, step});
    executor_->read_plain(Session::kLogits, logits_);
    const auto logits = logits_.as<float>();
    const auto labels = batch.labels.as<std::int32_t>();
    const std::size_t classes = logits.size() / labels.size();
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch.valid); ++i)
      hear(logits.subspan(i * classes, classes), labels[i]);
  }
}

double Evaluator::accuracy() {
  std::int64_t right = 0, seen = 0;
  evaluate([&](std::span<const float> logits, std::int32_t label) {
    if (label < 0) return;
    right += std::max_element(logits.begin(), logits.end()) - logits.begin() == label ? 1 : 0;
    ++seen;
  });
  return static_cast<double>(right) / static_cast<double>(std::max<std::int64_t>(seen, 1));
}

}  // namespace trainyard::train
