#include "train/evaluate.h"

#include <algorithm>
#include <cstring>

#include "train/stop_request.h"

namespace trainyard::train {

// At the batch of training: inference then needs less memory than a training step, whatever the network.
Evaluator::Evaluator(const Session& session, const data::Dataset& dataset, const data::Preprocess& preprocess)
    : dataset_(dataset) {
  const SessionOptions& options = session.options();
  if (dataset.size(data::Split::test) == 0)
    fail(ErrorKind::config, "data set '{}' has no test images: give --no-eval", dataset.name);
  stream_ = {.pass = data::Pass::evaluation,
             .split = data::Split::test,
             .preprocess = preprocess,
             .batch = options.model.batch,
             .seed = options.seed};
  executor_ = session.make_evaluator(options.model.batch, options.update.ema_decay > 0);
}

std::int64_t Evaluator::count_right(const data::Batch& batch) const {
  const auto logits = executor_->host_view<float>(Session::kLogits);
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
  const auto images = executor_->host_view<float>(Session::kImages);
  const auto labels = executor_->host_view<std::int32_t>(Session::kLabels);
  std::int64_t right = 0, seen = 0;
  for (std::int64_t step = 0; step < stream.steps() && !StopRequest::asked(); ++step) {
    const data::Batch& batch = stream.next();
    std::memcpy(images.data(), batch.images.data(), images.size_bytes());
    std::memcpy(labels.data(), batch.labels.data(), labels.size_bytes());
    executor_->run({stream_.seed, step});
    right += count_right(batch);
    seen += batch.valid;
  }
  return static_cast<double>(right) / static_cast<double>(std::max<std::int64_t>(seen, 1));
}

}  // namespace trainyard::train
