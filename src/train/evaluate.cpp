#include "train/evaluate.h"

#include <algorithm>
#include <utility>

#include "base/stop_request.h"

namespace trainyard::train {

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
  for (std::int64_t step = 0; step < stream.steps() && !StopRequest::asked(); ++step) {
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
