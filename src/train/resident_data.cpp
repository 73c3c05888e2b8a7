#include "train/resident_data.h"

#include <fmt/core.h>

namespace trainyard::train {
namespace {

backend::DeviceMemory copy_of(const HostTensor& content, const std::shared_ptr<backend::Device>& device) {
  backend::DeviceMemory memory(device, content.bytes());
  device->write(memory.data(), content.data(), content.bytes());
  return memory;
}

backend::InputBatch describe(const data::Dataset& dataset, const data::BatchStreamOptions& options) {
  const data::Augment augment(options.preprocess, dataset.image_shape);
  const Shape &in = augment.input(), &out = augment.output();
  return {.order = SampleOrder(options.seed, dataset.size(options.split)),
          .recipe = augment.recipe(),
          .channels = in[0],
          .image = {in[1], in[2]},
          .output = {out[1], out[2]},
          .batch = options.batch,
          .worker = options.worker,
          .workers = options.workers};
}

}  // namespace

backend::Decision feed_from_device(Session& session, const data::Dataset& dataset,
                                   const data::BatchStreamOptions& options) {
  using backend::Decision;
  engine::Executor& executor = session.executor();
  const data::SplitData& split = dataset.split(options.split);
  TRAINYARD_CHECK(options.pass == data::Pass::training);
  if (executor.on_host()) return Decision::no("the device is the host");
  if (split.files != nullptr)
    return Decision::no("only images that are in memory can be put into that of the device");
  auto kernel = session.backend().make_input_batch(describe(dataset, options));
  if (kernel == nullptr)
    return Decision::no(fmt::format("{} makes no batches of images of {}", executor.device().name(),
                                    dataset.image_shape.to_string()));
  const std::shared_ptr<backend::Device> device = session.backend().device();
  std::vector<backend::DeviceMemory> kept;
  kept.push_back(copy_of(split.images, device));
  kept.push_back(copy_of(split.labels, device));
  const auto input = [&](const char* name) { return executor.data(executor.plan().find_buffer(name)); };
  backend::Binding binding{.inputs = {kept[0].data(), kept[1].data()},
                           .outputs = {input(Session::kImages), input(Session::kLabels)}};
  executor.set_prologue(std::move(kernel), std::move(binding), std::move(kept));
  return Decision::yes();
}

}  // namespace trainyard::train
