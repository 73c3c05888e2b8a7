#include <algorithm>

#include <gtest/gtest.h>

#include "base/cores.h"
#include "train/device_threads.h"
#include "train/exchange.h"

namespace trainyard::train {
namespace {

using comm::collective::LocalGroup;
using comm::collective::LocalRank;

// Announces gradients as layers end: from the last element to the first, in pieces of every size, some too
// small to be sent alone.
void announce(Exchange& exchange, int device, std::size_t elements) {
  std::size_t piece = 1;
  for (std::size_t end = elements; end > 0; piece = piece * 3 + 1) {
    const std::size_t begin = end - std::min(piece, end);
    exchange.ready(device, begin, end - begin);
    end = begin;
  }
}

TEST(AllReduce, GradientsThatAreSentAsTheyEndHaveTheSameMean) {
  SessionOptions options;
  options.model = {.network = "lenet", .batch = 2, .classes = 4, .input = {1, 12, 12}};
  options.cores = {process_cores().front()};
  LocalGroup group(2);
  LocalRank first(group, 0), second(group, 1);
  std::vector<std::unique_ptr<Session>> sessions(2);
  DeviceThreads threads(2);
  threads.run(
      [&](int device) { sessions[static_cast<std::size_t>(device)] = std::make_unique<Session>(options); });
  const auto exchange = make_allreduce({sessions[0].get(), sessions[1].get()}, {&first, &second});
  for (const bool early : {true, false, true})
    threads.run([&](int device) {
      const std::span<float> gradients =
          sessions[static_cast<std::size_t>(device)]->numbers(plan::Region::gradients);
      for (std::size_t i = 0; i < gradients.size(); ++i)
        gradients[i] = static_cast<float>(i % 1024) + static_cast<float>(device);
      if (early) announce(*exchange, device, gradients.size());
      exchange->update(device, {});
      for (std::size_t i = 0; i < gradients.size(); ++i)
        ASSERT_EQ(gradients[i], static_cast<float>(i % 1024) + 0.5f) << i;
    });
}

}  // namespace
}  // namespace trainyard::train
