#include "ensemble/stream_batches.h"

#include <charconv>
#include <deque>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::ensemble {
namespace {

// Plays a GPU in this process's memory.
class ProcessGpu final : public backend::Device {
 public:
  std::string name() const override { return "gpu"; }
  std::string pci_address() const override { return "0000:1B:00.0"; }
  std::byte* allocate(std::size_t bytes) override { return host_->allocate(bytes); }
  void release(std::byte* memory, std::size_t bytes) noexcept override { host_->release(memory, bytes); }
  void write(std::byte* to, const void* from, std::size_t bytes) override {
    host_->write(to, from, bytes);
    written_ += bytes;
  }
  void read(const std::byte* from, void* to, std::size_t bytes) override { host_->read(from, to, bytes); }
  void wait() override {}
  void fill_random(std::byte*, std::size_t, DType) override {}
  double time(const std::function<void()>& enqueue) override { return host_->time(enqueue); }
  std::string share(std::byte* memory) override {
    return std::to_string(reinterpret_cast<std::uintptr_t>(memory));
  }
  std::byte* open(const std::string& shared) override {
    std::uintptr_t address = 0;
    std::from_chars(shared.data(), shared.data() + shared.size(), address);
    return reinterpret_cast<std::byte*>(address);
  }
  std::size_t written() const { return written_; }

 private:
  const std::shared_ptr<backend::Device> host_ = backend::host_device();
  std::size_t written_ = 0;
};

constexpr std::int64_t kBatch = 7, kBlock = 5, kSteps = 60, kSampleBytes = 64;
constexpr int kPlaces = 4, kMembers = 2;

// Takes a member's batches as a feed does: those of the last `kPlaces` steps are used late, one by one.
void check_batches(const std::string& address, int member, const std::shared_ptr<ProcessGpu>& gpu) {
  const auto reader = std::make_shared<SharedReader>(address, member);
  EXPECT_EQ(reader->gpu_copy("0000:00:00.0"), "");
  const auto samples = std::make_shared<backend::OpenedMemory>(gpu, reader->gpu_copy(gpu->pci_address()));
  const GatheredBatches batches(reader, 20, samples,
                                {data::make_preprocessor({.name = "lenet", .output = {1, 8, 8}}), 5, kSteps},
                                StreamPlace(1), {.batch = kBatch, .depth = 4, .threads = 3});
  EXPECT_EQ(batches.options().threads, 1);
  EXPECT_EQ(batches.gather().map.centre[0], 128);
  struct Made {
    std::vector<backend::GatheredSample> chosen;
    std::vector<std::int32_t> labels;
  };
  std::deque<Made> under_way;
  std::int64_t position = 0, mirrored = 0;
  const auto use_first = [&](std::int64_t step) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(kBatch); ++i, ++position) {
      const backend::GatheredSample& sample = under_way.front().chosen[i];
      EXPECT_EQ(std::to_integer<int>(samples->data()[sample.index * kSampleBytes]), position % 251);
      EXPECT_EQ(under_way.front().labels[i], position);
      mirrored += sample.mirrored;
    }
    under_way.pop_front();
    batches.used(step);
  };
  auto scratch = batches.scratch();
  for (std::int64_t step = 0; step < kSteps; ++step) {
    Made& made = under_way.emplace_back();
    made.chosen.resize(kBatch);
    made.labels.resize(kBatch);
    batches.make(step, reinterpret_cast<std::byte*>(made.chosen.data()), made.labels.data(), scratch);
    if (under_way.size() > static_cast<std::size_t>(kPlaces)) use_first(step - kPlaces);
  }
  while (!under_way.empty()) use_first(kSteps - static_cast<std::int64_t>(under_way.size()));
  EXPECT_EQ(position, kSteps * kBatch);
  EXPECT_GT(mirrored, position / 4);
  EXPECT_LT(mirrored, position * 3 / 4);
  EXPECT_EQ(reader->next(20), std::nullopt);
  reader->leave();
}

TEST(GatheredBatches, FindWhatOneCopyBroughtUntilItWasUsedByAll) {
  const auto gpu = std::make_shared<ProcessGpu>();
  const std::int64_t held = GatheredBatches::blocks_held(kBatch, kBlock, kPlaces);
  SharedStream stream({.capacity = kBlock, .sample_bytes = kSampleBytes}, static_cast<int>(held), kMembers,
                      {gpu});
  std::vector<std::jthread> members;
  for (int member = 0; member < kMembers; ++member)
    members.emplace_back([&, member] { check_batches(stream.address(), member, gpu); });
  for (std::int64_t position = 0; position < kSteps * kBatch;) {
    SampleBlock block = stream.next({.seconds = 20, .then = Lost::abort}, [](const std::string&) {});
    for (; !block.full() && position < kSteps * kBatch; ++position)
      std::fill_n(
          block.add({.id = position, .position = position, .label = static_cast<std::int32_t>(position)}),
          kSampleBytes, static_cast<std::uint8_t>(position % 251));
    stream.publish();
  }
  stream.end();
  members.clear();
  EXPECT_EQ(gpu->written(), static_cast<std::size_t>(kSteps * kBatch * kSampleBytes));
}

TEST(GatheredBatches, MemoryOfTheHostIsNotOpened) {
  EXPECT_THROW(backend::OpenedMemory(backend::host_device(), "0"), Error);
}

}  // namespace
}  // namespace trainyard::ensemble
