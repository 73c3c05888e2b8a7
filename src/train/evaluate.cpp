#include "train/evaluate.h"

#include <algorithm>

#include "train/stop_request.h"

namespace trainyard::train {

namespace {

constexpr std::int64_t kUsefulBatch = 256;
constexpr std::size_t kModestBytes = std::size_t{512} << 20;

}  // namespace

Evaluator::Evaluator(const Session& session, const data::Dataset& dataset, const data::Preprocess& preprocess)
    : dataset_(dataset) {
  const SessionOptions& options = session.options();
  const std::int64_t images = dataset.size(data::Split::test), trained = options.model.batch;
  if (images == 0) fail(ErrorKind::config, "data set '{}' has no test images: give --no-eval", dataset.name);
  const bool shadow = options.update.ema_decay > 0;
  std::int64_t batch = std::max(trained, std::min(kUsefulBatch, images));
  executor_ = session.make_evaluator(batch, shadow);
  // At the batch of training, inference needs less memory than training, whatever the network.
  if (batch > trained && executor_->plan().bytes(plan::Region::slab) > kModestBytes)
    executor_ = session.make_evaluator(batch = trained, shadow);
  logits_ = HostTensor(executor_->read(Session::kLogits).shape(), DType::f32);
  stream_ = {.pass = data::Pass::evaluation,
             .split = data::Split::test,
             .preprocess = preprocess,
             .batch = batch,
             .seed = options.seed};
}

std::int64_t Evaluator::count_right(const data::Batch& batch) {
  executor_->read_plain(Session::kLogits, logits_);
  const auto logits = logits_.as<float>();
  const auto labels = batch.labels.as<std::int32_t>();
  const auto classes = static_cast<std::int64_t>(logits.size() / labels.size());
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < batch.valid; ++i) {
    const float* row = logits.data() + i * classes;
    right += std::max_element(row, row + classes) - row == labels[static_cast<std::size_t>(i)] ? 1 : 0;
  }
  return right;
}

double Evaluator::accuracy() {
  data::BatchStream stream(dataset_, stream_);
  std::int64_t right = 0, seen = 0;
  for (std::int64_t step = 0; step < stream.steps() && !StopRequest::asked(); ++step) {
    const data::Batch& batch = stream.next();
    executor_->write(Session::kImages, batch.images);
    executor_->write(Session::kLabels, batch.labels);
    executor_->run({stream_.seed, step});
    right += count_right(batch);
    seen += batch.valid;
  }
  return static_cast<double>(right) / static_cast<double>(std::max<std::int64_t>(seen, 1));
}

}  // namespace trainyard::train
