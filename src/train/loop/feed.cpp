#include "train/loop/feed.h"

namespace trainyard::train {

namespace {

backend::DeviceMemory copy_of(const HostTensor& content, const std::shared_ptr<backend::Device>& device) {
  backend::DeviceMemory memory(device, content.bytes());
  device->write(memory.data(), content.data(), content.bytes());
  return memory;
}

// Counts the labels of a batch of images, or the lengths of its sequences.
std::size_t label_bytes(const Session& session) {
  return static_cast<std::size_t>(session.options().model.batch) * sizeof(std::int32_t);
}

// Returns where the labels of a batch go. Who makes batches makes them with their labels; a network without a
// loss has no input for those, and gets memory of its own, which joins `kept`.
std::byte* place_of_labels(Session& session, std::vector<backend::DeviceMemory>& kept) {
  if (!session.options().model.loss)
    return kept.emplace_back(session.backend().device(), label_bytes(session)).data();
  const plan::StepPlan& plan = session.executor().plan();
  const plan::Buffer& labels =
      plan.buffers[static_cast<std::size_t>(plan.find_buffer(session.input_names().labels))];
  TRAINYARD_CHECK(labels.type.dtype == DType::i32 &&
                  labels.type.bytes() == static_cast<std::int64_t>(label_bytes(session)));
  return session.executor().data(labels);
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
  if (split.samples != nullptr)
    return Decision::no("only images that are in memory can be put into that of the device");
  auto kernel = session.backend().make_input_batch(describe(dataset, options));
  if (kernel == nullptr)
    return Decision::no(fmt::format("{} makes no batches of images of {}", executor.device().name(),
                                    dataset.image_shape.to_string()));
  const std::shared_ptr<backend::Device> device = session.backend().device();
  std::vector<backend::DeviceMemory> kept;
  kept.push_back(copy_of(split.images, device));
  kept.push_back(copy_of(split.labels, device));
  std::byte* const images = executor.data(executor.plan().find_buffer(Session::kImages));
  backend::Binding binding{.inputs = {kept[0].data(), kept[1].data()},
                           .outputs = {images, place_of_labels(session, kept)}};
  executor.set_prologue(std::move(kernel), std::move(binding), std::move(kept));
  return Decision::yes();
}

HostBatches::HostBatches(Replicas& replicas, const MakerOf& maker_of)
    : replicas_(replicas),
      streams_(static_cast<std::size_t>(replicas.here())),
      wait_seconds_(static_cast<std::size_t>(replicas.here())) {
  replicas_.run([&](int device) {
    streams_[static_cast<std::size_t>(device)] = std::make_unique<data::BatchStream>(maker_of(device));
  });
}

std::int64_t HostBatches::fill(int device, StepTracer* tracer) {
  const double began = now_seconds();
  Session& session = replicas_.session(device);
  const data::Batch& batch = streams_[static_cast<std::size_t>(device)]->next();
  if (tracer != nullptr) tracer->notes(device).came = now_seconds();
  session.executor().write(session.input_names().inputs, batch.images);
  if (session.options().model.loss) session.executor().write(session.input_names().labels, batch.labels);
  wait_seconds_[static_cast<std::size_t>(device)] += now_seconds() - began;
  return batch.valid;
}

double HostBatches::longest_wait_seconds() const {
  return *std::max_element(wait_seconds_.begin(), wait_seconds_.end());
}

namespace {

// Returns the number of batches made ahead, and of those that may still be copied from.
std::size_t slots_of(const backend::InputRing& ring, const data::BatchStreamOptions& options) {
  return static_cast<std::size_t>(options.depth + ring.places);
}

std::unique_ptr<backend::CopyQueue> copy_queue(backend::Device& device, int places, std::size_t host_bytes) {
  auto queue = device.make_copy_queue(places, host_bytes);
  TRAINYARD_CHECK(queue != nullptr);
  return queue;
}

}  // namespace

HostFeed::HostFeed(std::shared_ptr<backend::Device> device, const backend::InputRing& ring,
                   const Memory& memory, std::shared_ptr<const data::BatchMaker> maker)
    : device_(std::move(device)),
      ring_(ring),
      memory_(memory),
      maker_(std::move(maker)),
      sent_(maker_->options().first_step),
      scratch_(slots_of(ring, maker_->options()), maker_->scratch()),
      queue_(copy_queue(*device_, ring.places, scratch_.size() * ring.place_bytes())),
      made_(
          maker_->options().depth, maker_->options().threads, sent_, maker_->steps(),
          [this](std::int64_t slot, std::int64_t step) { make(slot, step); }, ring.places) {
  // The device's pending work on fresh memory must finish before the first copy into it.
  for (int place = 0; place < ring_.places; ++place) queue_->give_back(place);
}

void HostFeed::make(std::int64_t slot, std::int64_t step) {
  std::byte* memory = this->slot(slot);
  maker_->make(step, memory, reinterpret_cast<std::int32_t*>(memory + ring_.labels_at()),
               scratch_[static_cast<std::size_t>(slot)]);
}

void HostFeed::before(std::int64_t step) {
  while (sent_ <= step || (sent_ < step + ring_.places && may_send())) send_next();
  queue_->take(ring_.place_of(step));
}

bool HostFeed::may_send() {
  return made_.ready() && (!maker_->lends() || queue_->is_used(ring_.place_of(sent_)));
}

void HostFeed::send_next() {
  const int place = ring_.place_of(sent_);
  queue_->settle(place);  // take() gives back what the copy before this one came from
  const std::int64_t before = sent_ - ring_.places;  // the step that had the place
  if (maker_->lends() && before >= maker_->options().first_step) {
    queue_->await_use(place);
    maker_->used(before);
  }
  const std::int64_t slot = made_.take();
  queue_->send(place, memory_.ring + static_cast<std::size_t>(place) * ring_.place_bytes(), this->slot(slot),
               ring_.place_bytes());
  ++sent_;
}

std::vector<std::int64_t> HostFeed::begins(std::int64_t first, std::int64_t count) const {
  std::vector<std::int64_t> ring(static_cast<std::size_t>(ring_.begins)), found;
  device_->read(memory_.begins, ring.data(), ring.size() * sizeof(std::int64_t));
  for (std::int64_t step = first; step < first + count; ++step)
    found.push_back(ring[static_cast<std::size_t>(step % ring_.begins)]);
  return found;
}

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

const plan::Buffer& fed_input(const Session& session) {
  const plan::StepPlan& plan = session.executor().plan();
  return plan.buffers[static_cast<std::size_t>(plan.find_buffer(session.input_names().inputs))];
}

backend::InputRing ring_of(const Session& session, std::size_t image_bytes) {
  return {.places = kFeedPlaces,
          .image_bytes = image_bytes,
          .label_bytes = label_bytes(session),
          .begins = engine::Executor::kMarks};
}

// Lets the kernel begin each step with what lies in the ring, and with `beside` it.
std::unique_ptr<HostFeed> attach(Session& session, const backend::InputRing& ring,
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
  std::byte* const labels = place_of_labels(session, kept);
  backend::Binding binding{.inputs = {kept[0].data()},
                           .outputs = {executor.data(fed_input(session)), labels, kept[1].data()}};
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
  const graph::TensorType& images = fed_input(session).type;
  TRAINYARD_CHECK(images.dtype == maker->input_type() &&
                  images.shape.elements() == maker->input_shape().elements());
  const backend::InputRing ring = ring_of(session, static_cast<std::size_t>(images.bytes()));
  return attach(session, ring, session.backend().make_input_ring(ring), {}, std::move(maker));
}

std::unique_ptr<HostFeed> feed_by_gather(Session& session, std::shared_ptr<const data::BatchMaker> maker,
                                         const backend::SampleGather& gather, std::byte* samples) {
  const graph::TensorType& images = fed_input(session).type;
  TRAINYARD_CHECK(images.dtype == DType::f32 &&
                  images.shape.elements() == gather.batch * gather.sample_bytes());
  const backend::InputRing ring =
      ring_of(session, static_cast<std::size_t>(gather.batch) * sizeof(backend::GatheredSample));
  return attach(session, ring, session.backend().make_sample_gather(gather, ring), {samples},
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
    if (feed == Feed::device) fail(ErrorKind::usage, "{} device: {}", Setting{"feed"}, made.reason);
  }
  return feed_from_host(session, data::batches_of(dataset)(host_options(session, options)));
}

}  // namespace trainyard::train
