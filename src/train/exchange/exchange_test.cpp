#include "train/exchange/exchange.h"

#include <gtest/gtest.h>

#include "base/cores.h"
#include "engine/canonical.h"
#include "train/session/device_threads.h"

namespace trainyard::train {
namespace {

using comm::collective::Collective;
using comm::collective::LocalGroup;
using comm::collective::LocalRank;

// An EarlyRank is a rank among threads that takes parts of the gradients early, as processes do.
class EarlyRank final : public Collective {
 public:
  EarlyRank(LocalGroup& group, int rank) : rank_(group, rank) {}

  const char* name() const override { return "early"; }
  int rank() const override { return rank_.rank(); }
  int size() const override { return rank_.size(); }
  void barrier() override { rank_.barrier(); }
  void broadcast(int root, std::span<std::byte> bytes) override { rank_.broadcast(root, bytes); }
  void all_reduce_mean(std::span<float> values) override { rank_.all_reduce_mean(values); }
  void start(std::span<float> values) override {
    ++parts;
    rank_.all_reduce_mean(values);
  }
  void finish() override { ++finished; }
  bool overlaps() const override { return true; }
  void abort(int code) override { rank_.abort(code); }

  int parts = 0, finished = 0;

 private:
  LocalRank rank_;
};

// Returns the parameters of both devices after two steps on inputs that differ.
template <typename Rank>
std::vector<std::vector<float>> train_two(Rank& first, Rank& second) {
  SessionOptions options;
  options.model = {.network = "lenet", .batch = 2, .classes = 10, .input = {1, 28, 28}};
  options.update.rule = ops::Rule::momentum;
  options.cores = {process_cores().front()};
  options.keep_gradients = true;
  std::vector<std::unique_ptr<Session>> sessions(2);
  std::vector<std::vector<float>> parameters(2);
  DeviceThreads threads(2);
  threads.run(
      [&](int device) { sessions[static_cast<std::size_t>(device)] = std::make_unique<Session>(options); });
  const auto exchange = make_allreduce({sessions[0].get(), sessions[1].get()}, {&first, &second});
  threads.run([&](int device) {
    Session& session = *sessions[static_cast<std::size_t>(device)];
    for (std::int64_t step = 0; step < 2; ++step) {
      engine::initialise_inputs(session.executor(), static_cast<std::uint64_t>(10 * device + step));
      EXPECT_EQ(exchange->fetch(device, step), step);
      exchange->gradients(device, {1, step});
      exchange->update(device, {1, step});
    }
    const auto kept = session.executor().floats(plan::Region::parameters);
    parameters[static_cast<std::size_t>(device)].assign(kept.begin(), kept.end());
  });
  return parameters;
}

TEST(AllReduce, GradientsThatAreSentAsTheyEndGiveTheSameBits) {
  LocalGroup group(2), early_group(2);
  LocalRank first(group, 0), second(group, 1);
  EarlyRank early_first(early_group, 0), early_second(early_group, 1);
  const auto at_end = train_two(first, second), early = train_two(early_first, early_second);
  EXPECT_GT(early_first.parts, 2) << "several in each of the two steps";
  EXPECT_EQ(early_first.parts, early_second.parts);
  EXPECT_EQ(early_first.finished, 2);
  for (const std::vector<float>& parameters : {at_end[1], early[0], early[1]}) {
    ASSERT_EQ(parameters.size(), at_end[0].size());
    EXPECT_EQ(std::memcmp(parameters.data(), at_end[0].data(), parameters.size() * sizeof(float)), 0);
  }
}

}  // namespace
}  // namespace trainyard::train
