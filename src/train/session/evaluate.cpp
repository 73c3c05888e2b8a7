#include "train/session/evaluate.h"

#include "data/decode/decode.h"
#include "process/stop_request.h"
#include "stats/statistics.h"

namespace trainyard::train {

namespace {

constexpr std::int64_t kSyntheticBytes = std::int64_t{64} << 20;

}  // namespace

namespace {

void want_kind(const networks::NetworkInfo& network, data::SampleKind kind, const std::string& dataset) {
  const bool tokens = kind == data::SampleKind::tokens, boxes = kind == data::SampleKind::boxes;
  if (tokens == network.reads_sequences() && boxes == network.finds_boxes()) return;
  fail(ErrorKind::usage, "network '{}' {}, and data set '{}' has {}{}", network.name,
       network.reads_sequences() ? "reads sequences"
       : network.finds_boxes()   ? "finds boxes in images"
                                 : "reads images",
       dataset, data::name(kind),
       network.reads_sequences() ? ": text:FILE has a text's bytes, tokens:DIR its tokens; synthetic and "
                                   "language:SEED make sequences up"
                                 : "");
}

// Returns the channels that an image of the set is to have, and the size of the first one. The set is in
// colour when one of a few images all over it is: gray photos among others are common.
Shape look_at_images(const data::SampleSource& images) {
  constexpr std::int64_t kLooks = 16;
  const std::int64_t looks = std::min(kLooks, images.size());
  data::SampleSource::Scratch scratch;
  Shape shape;
  for (std::int64_t i = 0; i < looks; ++i) {
    const std::int64_t index = i * images.size() / looks;
    const data::Sample sample = images.read(index, scratch);
    try {
      const auto image = data::open_image(sample.bytes);
      if (i == 0) shape = {image->channels(), image->height(), image->width()};
      if (image->channels() > shape[0]) shape = {image->channels(), shape[1], shape[2]};
    } catch (const Error& error) {
      fail(error.kind(), "{}: {}", images.where(index), error.what());
    }
  }
  return shape;
}

}  // namespace

void want_readable(const networks::NetworkInfo& network, const std::string& dataset) {
  if (const auto kind = data::kind_of_dataset(dataset)) want_kind(network, *kind, dataset);
}

data::SequenceOptions sequences_for(const networks::NetworkInfo& network,
                                    const networks::generator::Given& parameters) {
  TRAINYARD_CHECK(network.reads_sequences());
  const auto [length, vocabulary, masked] =
      network.generator->sequence(networks::parameters_of(network, parameters));
  return {length, vocabulary, masked};
}

MatchedInput match_input(const networks::NetworkInfo& network, const data::Dataset& dataset,
                         const std::string& preprocess) {
  want_kind(network, dataset.kind, dataset.name);
  MatchedInput matched;
  if (dataset.kind == data::SampleKind::tokens) {
    const std::string own = network.masked ? "masked-token" : "next-token";
    matched.preprocess.name = preprocess.empty() ? own : preprocess;
    data::find_recipe(matched.preprocess.name, dataset.kind);
    if (matched.preprocess.name != own)
      fail(ErrorKind::usage, "{} {}: network '{}' {}; {} expected", Setting{"preprocess"}, preprocess,
           network.name,
           network.masked ? "sees the tokens that it would have to say"
                          : "does not see the tokens behind a masked one",
           own);
    return matched;
  }
  matched.classes = dataset.classes;
  if (dataset.kind == data::SampleKind::boxes) {
    if (!preprocess.empty() && preprocess != network.preprocess)
      fail(ErrorKind::usage, "{} {}: images with boxes are taken as they are; {} expected",
           Setting{"preprocess"}, preprocess, network.preprocess);
    matched.network = dataset.image_shape;
    matched.preprocess = {network.preprocess, dataset.image_shape};
    return matched;
  }
  matched.preprocess.name = preprocess.empty() ? network.preprocess : preprocess;
  const bool flat = network.input.rank() == 1;
  if (dataset.kind == data::SampleKind::encoded) {
    const Shape found = look_at_images(*dataset.train.source());
    matched.preprocess.output = flat ? found : Shape{found[0], network.input[1], network.input[2]};
    matched.network = flat ? Shape{found.elements()} : data::EncodedRecipe(matched.preprocess).output();
    return matched;
  }
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
  if (network.finds_boxes()) options.boxes = networks::kMostBoxes;
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
constexpr const char* kAnchorLabels = "anchor_labels:0";
constexpr std::size_t kModestBytes = std::size_t{512} << 20;

}  // namespace

Evaluator::Evaluator(const Session& session, data::MakeBatches batches, const data::Preprocess& preprocess)
    : session_(session),
      batches_(std::move(batches)),
      names_(session.input_names()),
      sequences_(names_.inputs != std::string_view(Session::kImages)),
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
  session_.renew_evaluator(*executor_);
  data::BatchStream stream(batches_(stream_));
  for (std::int64_t step = 0; step < stream.steps() && !process::StopRequest::asked(); ++step) {
    const data::Batch& batch = stream.next();
    executor_->write(names_.inputs, batch.images);
    executor_->write(names_.labels, batch.labels);
    executor_->run({stream_.seed, step});
    executor_->read_plain(Session::kLogits, logits_);
    if (executor_->plan().find_buffer(kAnchorLabels) >= 0)
      hear_anchors(batch, hear);
    else
      sequences_ ? hear_steps(batch, hear) : hear_images(batch, hear);
  }
}

void Evaluator::hear_images(const data::Batch& batch, const Hear& hear) const {
  const auto logits = logits_.as<float>();
  const auto labels = batch.labels.as<std::int32_t>();
  const std::size_t classes = logits.size() / labels.size();
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.valid); ++i)
    hear(logits.subspan(i * classes, classes), labels[i]);
}

// Only anchors that are to find a box have a class to name.
void Evaluator::hear_anchors(const data::Batch& batch, const Hear& hear) {
  const HostTensor labels = executor_->read(kAnchorLabels);
  const auto of_rows = labels.as<std::int32_t>();
  const auto logits = logits_.as<float>();
  const std::size_t classes = logits.size() / of_rows.size(), rows = of_rows.size() /
                                                                     static_cast<std::size_t>(stream_.batch) *
                                                                     static_cast<std::size_t>(batch.valid);
  for (std::size_t row = 0; row < rows; ++row)
    if (of_rows[row] >= 0) hear(logits.subspan(row * classes, classes), of_rows[row]);
  const HostTensor loss = executor_->read(Session::kLoss);
  batch_losses_.push_back(static_cast<double>(loss.as<float>()[0]));
}

// Logits are (length * N, vocabulary). The labels are the last `length` rows of the tokens; below 0: no
// label.
void Evaluator::hear_steps(const data::Batch& batch, const Hear& hear) const {
  const auto logits = logits_.as<float>();
  const auto tokens = batch.images.as<std::int32_t>(), lengths = batch.labels.as<std::int32_t>();
  const std::size_t sequences = lengths.size(),
                    steps = static_cast<std::size_t>(logits_.shape()[0]) / sequences,
                    vocabulary = logits.size() / (steps * sequences),
                    first = tokens.size() - steps * sequences;  // label
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.valid); ++i)
    for (std::size_t t = 0; t < static_cast<std::size_t>(lengths[i]); ++t)
      if (const std::int32_t label = tokens[first + t * sequences + i]; label >= 0)
        hear(logits.subspan((t * sequences + i) * vocabulary, vocabulary), label);
}

namespace {

// Softmax cross-entropy in nats.
double loss_of(std::span<const float> logits, std::int32_t label) {
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += static_cast<double>(std::exp(logit - most));
  return std::log(sum) - static_cast<double>(logits[static_cast<std::size_t>(label)] - most);
}

}  // namespace

double Evaluator::accuracy() {
  std::int64_t right = 0, seen = 0;
  double losses = 0;
  batch_losses_.clear();
  evaluate([&](std::span<const float> logits, std::int32_t label) {
    if (label < 0) return;
    right += std::max_element(logits.begin(), logits.end()) - logits.begin() == label ? 1 : 0;
    if (sequences_) losses += loss_of(logits, label);
    ++seen;
  });
  const auto count = static_cast<double>(std::max<std::int64_t>(seen, 1));
  if (sequences_) loss_ = losses / count;
  if (!batch_losses_.empty())
    loss_ = std::accumulate(batch_losses_.begin(), batch_losses_.end(), 0.0) /
            static_cast<double>(batch_losses_.size());
  return static_cast<double>(right) / count;
}

}  // namespace trainyard::train
