// Measures the training steps of a network: of the zoo, of an ONNX file, or a generated recurrent one. With a
// model of `trainyard predict fit`, also says what a step takes on a device that is not here.
//   measure_network [NAME | FILE.onnx] [BATCH] [MODEL DEVICE]
#include <cstdio>
#include <cstdlib>
#include <string>

#include <trainyard/trainyard.h>

namespace {

trainyard::Network network_of(const std::string& given) {
  if (given.ends_with(".onnx")) return trainyard::Network::from_onnx(given);
  if (!given.empty()) return trainyard::Network::named(given);
  return trainyard::Network::named("rnn",
                                   {{"cell", "gru"}, {"layers", "1"}, {"hidden", "64"}, {"length", "20"}});
}

}  // namespace

int main(int argc, char** argv) try {
  const trainyard::Network network = network_of(argc > 1 ? argv[1] : "");
  const long long batch = argc > 2 ? std::atoll(argv[2]) : 32;

  const trainyard::Measurement measured =
      trainyard::measure_network(network, {.run = {.batch = batch}, .steps = 30});
  std::printf("trainyard %s, %s on %d threads\n", trainyard::describe_build().version.c_str(),
              measured.backend.c_str(), measured.threads);
  std::printf("%s, batch %lld, %lld parameters\n", network.name().c_str(), batch,
              static_cast<long long>(measured.cost.parameters));
  std::printf("step        %.3f ms (%.3f .. %.3f), median %.3f ms\n", 1e3 * measured.mean_seconds,
              1e3 * measured.mean_low, 1e3 * measured.mean_high, 1e3 * measured.median_seconds);
  std::printf("throughput  %.0f samples per second, %.2f GFLOP/s\n", measured.images_per_second,
              1e-9 * measured.flops_per_second);
  std::printf("memory      %.1f MB of the step, %.1f MB of the process at most\n",
              1e-6 * static_cast<double>(measured.plan_bytes),
              1e-6 * static_cast<double>(measured.peak_bytes));
  if (argc > 4) {
    const trainyard::StepPredictor model(argv[3]);
    const trainyard::PredictedRun there = model.predict(network, {.device = argv[4], .batch = batch});
    std::printf("predicted   %.3f ms a step on %s, %.1f MB\n", 1e3 * there.step_seconds, argv[4],
                1e-6 * there.memory_bytes);
  }
  return 0;
} catch (const trainyard::Error& error) {
  std::fprintf(stderr, "measure_network: %s\n", error.what());
  return 1;
}
