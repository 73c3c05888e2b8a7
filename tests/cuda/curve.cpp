#include "curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/view/batch_stream.h"
#include "networks/zoo/zoo.h"
#include "train/loop/step_taker.h"

namespace trainyard {
namespace {

data::BatchStreamOptions stream_of(const train::Session& session, const data::Preprocess& preprocess,
                                   std::int64_t first) {
  return {.preprocess = preprocess,
          .batch = session.options().model.batch,
          .seed = session.options().seed,
          .first_step = first,
          .depth = 0};
}

}  // namespace

data::Dataset small_dataset(const Shape& image_shape) {
  return data::make_synthetic(
      {.image_shape = image_shape, .classes = 10, .train_images = 500, .test_images = 10, .seed = 3});
}

Curve::Curve(train::SessionOptions options, const data::Dataset& dataset, train::Feed feed)
    : dataset_(dataset),
      input_(train::match_input(networks::find_network(options.model.network), dataset, "")) {
  options.model.input = input_.network;
  options.model.classes = dataset.classes;
  session_ = std::make_unique<train::Session>(options);
  if (!session_->executor().on_host())
    feed_ = train::feed_device(*session_, dataset, stream_of(*session_, input_.preprocess, 0), feed);
}

std::vector<float> Curve::run(std::int64_t first, std::int64_t count) {
  const std::uint64_t seed = session_->options().seed;
  if (!session_->executor().on_host()) {
    train::DeviceSteps steps(*session_, seed, feed_.get());
    std::vector<float> losses;
    for (const double loss : steps.run(first, count).losses) losses.push_back(static_cast<float>(loss));
    return losses;
  }
  data::BatchStream stream(dataset_, stream_of(*session_, input_.preprocess, first));
  engine::Executor& executor = session_->executor();
  std::vector<float> losses;
  for (std::int64_t step = first; step < first + count; ++step) {
    const data::Batch& batch = stream.next();
    executor.write(train::Session::kImages, batch.images);
    executor.write(train::Session::kLabels, batch.labels);
    executor.run({seed, step});
    losses.push_back(session_->loss());
  }
  return losses;
}

std::vector<float> Curve::state(const std::string& ending) const {
  std::vector<std::string> names;
  for (const plan::Buffer& buffer : session_->executor().plan().buffers)
    if (buffer.name.ends_with(ending) &&
        (buffer.region == plan::Region::parameters || buffer.region == plan::Region::statistics ||
         buffer.region == plan::Region::optimizer_state))
      names.push_back(buffer.name);
  std::sort(names.begin(), names.end());  // plans differ in the order
  std::vector<float> content;
  for (const std::string& name : names) {
    const HostTensor tensor = session_->executor().read(name);
    const auto floats = tensor.as<float>();
    content.insert(content.end(), floats.begin(), floats.end());
  }
  return content;
}

double relative_error(const std::vector<float>& got, const std::vector<float>& want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double error = 0, largest = 1e-6;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - want[i]);
    if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
    error = std::max(error, difference);
    largest = std::max(largest, std::abs(static_cast<double>(want[i])));
  }
  return error / largest;
}

}  // namespace trainyard
