// A worker on a GPU means the same numbers as one on the CPU.
#include "engine/canonical.h"

#include <algorithm>
#include <cmath>

#include "curve.h"
#include "gpu.h"

namespace trainyard {
namespace {

using backend::Precision;
using engine::CanonicalArray;

class CanonicalOnGpu : public GpuTest {
 protected:
  // The first dense layer of deepmnist is one that a plan which keeps no gradients never stores one for.
  static std::unique_ptr<train::Session> session_on(const std::string& device, const std::string& network,
                                                    Precision precision = Precision::f32) {
    train::SessionOptions options;
    options.model = {.network = network, .batch = 8};
    options.update.rule = ops::Rule::momentum;
    options.device = DeviceSpec::parse(device);
    options.precision = precision;
    options.keep_gradients = true;
    options.seed = 5;
    auto session = std::make_unique<train::Session>(options);
    engine::initialise_inputs(session->executor(), 9);
    return session;
  }

  static std::vector<float> gathered(const CanonicalArray& array) {
    std::vector<float> content(static_cast<std::size_t>(array.elements()));
    array.gather(content);
    return content;
  }

  // Returns the distance of two arrays relative to the length of the second.
  static double distance(const std::vector<float>& got, const std::vector<float>& want) {
    double difference = 0, length = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      difference += std::pow(static_cast<double>(got[i]) - want[i], 2);
      length += std::pow(static_cast<double>(want[i]), 2);
    }
    return std::sqrt(difference / length);
  }

  static std::vector<float> gradients_of(engine::Executor& executor, std::int64_t step) {
    const CanonicalArray gradients = CanonicalArray::gradients(executor);
    std::vector<float> content(static_cast<std::size_t>(gradients.elements()));
    std::int64_t ready = 0;
    engine::run_gradients(executor, {5, step}, gradients, content,
                          [&](std::int64_t, std::int64_t elements) { ready += elements; });
    EXPECT_EQ(ready, gradients.elements());
    return content;
  }
};

TEST_F(CanonicalOnGpu, StateIsTheCpusBitByBit) {
  const auto gpu = session_on("cuda", "resnet20"), cpu = session_on("cpu", "resnet20");
  engine::Executor &a = gpu->executor(), &b = cpu->executor();
  EXPECT_EQ(gathered(CanonicalArray::parameters(a)), gathered(CanonicalArray::parameters(b)));
  EXPECT_EQ(gathered(CanonicalArray::statistics(a)), gathered(CanonicalArray::statistics(b)));
  EXPECT_EQ(gathered(CanonicalArray::slot(a, 0)), gathered(CanonicalArray::slot(b, 0)));
}

// After parameters came from outside, too. In resnet20 the middle one of five batches: where an activation is
// zero but for rounding, its ReLU passes on one device and not on the other, and that alone moves the
// gradient of so deep a network by some thousandths (so it does on one device when the weights move by their
// last bit). Batch norm of eight images makes of bf16 more than a rounding.
TEST_F(CanonicalOnGpu, GradientsAreTheCpus) {
  struct Case {
    const char* network;
    Precision precision;
    double middle, worst;
  };
  const Case cases[] = {{"deepmnist", Precision::f32, 1e-3, 1e-3},
                        {"lenet", Precision::f32, 1e-3, 1e-3},
                        {"resnet20", Precision::f32, 1e-4, 0.02},
                        {"deepmnist", Precision::bf16, 0.2, 0.2},
                        {"lenet", Precision::bf16, 0.2, 0.2}};
  for (const auto& [network, precision, middle, worst] : cases) {
    SCOPED_TRACE(std::string(network) + " " + backend::name(precision));
    const auto gpu = session_on("cuda", network, precision), cpu = session_on("cpu", network);
    auto there = CanonicalArray::parameters(gpu->executor()),
         here = CanonicalArray::parameters(cpu->executor());
    std::vector<float> weights = gathered(here);
    std::vector<double> distances;
    for (const std::int64_t step : {0, 1, 2, 3, 4}) {
      for (train::Session* session : {gpu.get(), cpu.get()})
        engine::initialise_inputs(session->executor(), 9 + static_cast<std::uint64_t>(step));
      distances.push_back(distance(gradients_of(gpu->executor(), step), gradients_of(cpu->executor(), step)));
      for (float& weight : weights) weight *= 0.9f;
      there.scatter(weights);
      here.scatter(weights);
      EXPECT_EQ(gathered(there), weights);
    }
    std::sort(distances.begin(), distances.end());
    EXPECT_LT(distances[2], middle);
    EXPECT_LT(distances[4], worst);
  }
}

// Two halves are a step, whatever lanes the whole one has.
TEST_F(CanonicalOnGpu, GradientsAndUpdateApartTrainTheSame) {
  const auto apart = session_on("cuda", "deepmnist"), whole = session_on("cuda", "deepmnist");
  for (std::int64_t step = 0; step < 5; ++step) {
    apart->executor().run_gradients({5, step});
    apart->executor().run_update({5, step});
    whole->executor().run({5, step});
  }
  EXPECT_LT(relative_error(gathered(CanonicalArray::parameters(apart->executor())),
                           gathered(CanonicalArray::parameters(whole->executor()))),
            1e-4);
}

}  // namespace
}  // namespace trainyard
