#include "train/feed.h"

#include <algorithm>
#include <array>

#include "data/image_batches.h"
#include "train/resident_data.h"

namespace trainyard::train {
namespace {

constexpr std::array kFeeds = {Feed::automatic, Feed::device, Feed::host};

constexpr int kMostThreads = 8;  // each makes whole batches; more would take more memory than they are worth

// Libraries ask for memory of their own while the first steps run: they find as much as the images take, or
// this.
constexpr std::size_t kSpareBytes = std::size_t{1} << 30;

bool fits(const backend::Device& device, const data::SplitData& split) {
  const std::size_t bytes = split.images.bytes() + split.labels.bytes(), free = device.free_bytes();
  return free == 0 || bytes + std::min(bytes, kSpareBytes) <= free;
}

// What each step reads its batch from.
struct FedBuffers {
  const plan::Buffer &images, &labels;

  explicit FedBuffers(Session& session)
      : images(find(session, session.input_names().inputs)),
        labels(find(session, session.input_names().labels)) {
    TRAINYARD_CHECK(labels.type.dtype == DType::i32);
  }
  backend::InputRing ring(std::size_t image_bytes) const {
    return {.places = kFeedPlaces,
            .image_bytes = image_bytes,
            .label_bytes = static_cast<std::size_t>(labels.type.bytes()),
            .begins = engine::Executor::kMarks};
  }

 private:
  static const plan::Buffer& find(Session& session, const char* name) {
    const plan::StepPlan& plan = session.executor().plan();
    return plan.buffers[static_cast<std::size_t>(plan.find_buffer(name))];
  }
};

// Lets the kernel begin each step with what lies in the ring, and with `beside` it.
std::unique_ptr<HostFeed> attach(Session& session, const FedBuffers& buffers, const backend::InputRing& ring,
                                 std::unique_ptr<backend::Kernel> kernel,
                                 const std::vector<std::byte*>& beside,
                                 std::shared_ptr<const data::BatchMaker> maker) {
  TRAINYARD_CHECK(kernel != nullptr);
  engine::Executor& executor = session.executor();
  const std::shared_ptr<backend::Device> device = session.backend().device();
  std::vector<backend::DeviceMemory> kept;
  kept.emplace_back(device, ring.bytes());
  kept.emplace_back(device, static_cast<std::size_t>(ring.begins) * sizeof(std::int64_t));
  const HostFeed::Memory memory{kept[0].data(), kept[1].data()};
  backend::Binding binding{
      .inputs = {kept[0].data()},
      .outputs = {executor.data(buffers.images), executor.data(buffers.labels), kept[1].data()}};
  binding.inputs.insert(binding.inputs.end(), beside.begin(), beside.end());
  executor.set_prologue(std::move(kernel), std::move(binding), std::move(kept));
  return std::make_unique<HostFeed>(device, ring, memory, std::move(maker));
}

}  // namespace

data::BatchStreamOptions host_options(const Session& session, data::BatchStreamOptions options) {
  // One core stays with the thread that starts the steps.
  options.threads = std::clamp(session.options().threads - 1, 1, kMostThreads);
  options.depth = std::max<std::int64_t>(options.threads, kFeedPlaces);
  return options;
}

std::unique_ptr<HostFeed> feed_from_host(Session& session, std::shared_ptr<const data::BatchMaker> maker) {
  const FedBuffers buffers(session);
  const graph::TensorType& images = buffers.images.type;
  TRAINYARD_CHECK(images.dtype == maker->input_type() &&
                  images.shape.elements() == maker->input_shape().elements());
  const backend::InputRing ring = buffers.ring(static_cast<std::size_t>(images.bytes()));
  return attach(session, buffers, ring, session.backend().make_input_ring(ring), {}, std::move(maker));
}

std::unique_ptr<HostFeed> feed_by_gather(Session& session, std::shared_ptr<const data::BatchMaker> maker,
                                         const backend::SampleGather& gather, std::byte* samples) {
  const FedBuffers buffers(session);
  const graph::TensorType& images = buffers.images.type;
  TRAINYARD_CHECK(images.dtype == DType::f32 &&
                  images.shape.elements() == gather.batch * gather.sample_bytes());
  const backend::InputRing ring =
      buffers.ring(static_cast<std::size_t>(gather.batch) * sizeof(backend::GatheredSample));
  return attach(session, buffers, ring, session.backend().make_sample_gather(gather, ring), {samples},
                std::move(maker));
}

const char* name(Feed feed) {
  switch (feed) {
    case Feed::automatic:
      return "auto";
    case Feed::device:
      return "device";
    case Feed::host:
      return "host";
  }
  return "";
}

std::vector<std::string> feed_names() {
  std::vector<std::string> names;
  for (const Feed feed : kFeeds) names.emplace_back(name(feed));
  return names;
}

std::optional<Feed> find_feed(const std::string& wanted) {
  for (const Feed feed : kFeeds)
    if (wanted == name(feed)) return feed;
  return std::nullopt;
}

std::unique_ptr<HostFeed> feed_device(Session& session, const data::Dataset& dataset,
                                      const data::BatchStreamOptions& options, Feed feed) {
  if (feed == Feed::device ||
      (feed == Feed::automatic && fits(session.executor().device(), dataset.split(options.split)))) {
    const backend::Decision made = feed_from_device(session, dataset, options);
    if (made.accepted()) return nullptr;
    if (feed == Feed::device) fail(ErrorKind::usage, "--feed device: {}", made.reason);
  }
  return feed_from_host(session,
                        std::make_shared<data::ImageBatches>(dataset, host_options(session, options)));
}

}  // namespace trainyard::train
