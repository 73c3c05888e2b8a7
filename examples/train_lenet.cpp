// Trains LeNet on images like MNIST's, or on MNIST itself, and prints what it learnt.
//   train_lenet [STEPS] [FOLDER OF MNIST]
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <trainyard/trainyard.h>

int main(int argc, char** argv) try {
  const trainyard::Network network = trainyard::Network::named("lenet");

  trainyard::TrainSettings settings;
  settings.steps = argc > 1 ? std::atoll(argv[1]) : 200;
  settings.run.batch = 64;
  settings.run.optimizer = "momentum";
  settings.run.learning_rate = 0.02;
  if (argc > 2) {  // else synthetic images of the network's size
    settings.data = "mnist";
    settings.data_folder = argv[2];
  }
  settings.on_progress = [&](std::int64_t done) {
    std::fprintf(stderr, "\rstep %lld of %lld", static_cast<long long>(done),
                 static_cast<long long>(settings.steps));
  };

  const trainyard::TrainReport report = trainyard::train_network(network, settings);
  std::fprintf(stderr, "\n");
  std::printf("%s with %lld parameters, trained for %lld steps in %.2f s (%.0f images per second)\n",
              network.name().c_str(),
              static_cast<long long>(network.step_cost(settings.run.batch).parameters),
              static_cast<long long>(report.final_step), report.seconds, report.images_per_second);
  std::printf("loss %.3f at first, %.3f at last\n", report.first_loss, report.final_loss);
  if (report.test_accuracy) std::printf("test accuracy %.3f\n", *report.test_accuracy);
  return report.diverged ? 1 : 0;
} catch (const trainyard::Error& error) {
  std::fprintf(stderr, "train_lenet: %s\n", error.what());
  return 1;
}
