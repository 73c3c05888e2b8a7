// Trains a language model for some steps on tokens at random and writes its first weights, its tokens and its
// losses, so that bench/compare-losses can do the same steps with a peer:
//   first_losses NETWORK BATCH STEPS DEVICE FOLDER [PARAMETER=VALUE...]

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "backend/backend.h"
#include "base/json.h"
#include "base/philox.h"
#include "engine/canonical.h"
#include "engine/executor.h"
#include "networks/zoo/zoo.h"
#include "plan/compile.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr double kRate = 1e-3;

struct Settings {
  networks::ModelOptions model;
  std::int64_t steps;
  std::string device;
  std::filesystem::path folder;
};

template <typename T>
void write(const std::filesystem::path& file, std::span<const T> numbers) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(numbers.data()),
            static_cast<std::streamsize>(numbers.size_bytes()));
  if (!out.flush()) fail(ErrorKind::io, "'{}': cannot write", file.string());
}

// Tokens of each step, (length + 1, batch); small ones are more frequent, so that there is something to
// learn.
std::vector<std::int32_t> random_tokens(std::int64_t count, std::int64_t vocabulary) {
  const Philox random(kSeed, stream_of("tokens"));
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const double u = static_cast<double>(to_unit_float(random.word(i)));
    tokens[i] = static_cast<std::int32_t>(u * u * static_cast<double>(vocabulary));
  }
  return tokens;
}

void run(const Settings& settings) {
  networks::Model model = networks::build_model(settings.model);
  networks::add_training_step(model, {.rule = ops::Rule::adam, .schedule = {.rate = kRate}});
  const auto backend = backend::make_backend(settings.device == "cpu" ? "auto" : "cuda");
  const Shape tokens_shape = model.graph.shape(model.tokens);
  const std::string tokens_name = model.graph.value(model.tokens).name,
                    lengths_name = model.graph.value(model.lengths).name;
  const std::vector<graph::ValueId> parameters = model.graph.values_with(graph::Role::parameter);
  engine::Executor executor(plan::compile(model.graph, *backend));
  engine::initialise_state(executor, kSeed);
  Json described = Json::array();
  for (const graph::ValueId parameter : parameters) {
    const graph::Value& value = model.graph.value(parameter);
    const HostTensor first = executor.read(value.name);
    write<float>(settings.folder / fmt::format("weight{}.f32", described.size()), first.as<float>());
    described.push_back(
        {{"name", value.name},
         {"shape", std::vector<std::int64_t>(value.type.shape.begin(), value.type.shape.end())}});
  }
  const std::int64_t each = tokens_shape.elements();
  const std::vector<std::int32_t> tokens =
      random_tokens(settings.steps * each,
                    networks::find_network(settings.model.network, settings.model.parameters).classes);
  write<std::int32_t>(settings.folder / "tokens.i32", tokens);
  HostTensor of_step(tokens_shape, DType::i32), lengths({settings.model.batch}, DType::i32);
  std::fill(lengths.as<std::int32_t>().begin(), lengths.as<std::int32_t>().end(),
            static_cast<std::int32_t>(tokens_shape[0] - 1));
  Json losses = Json::array();
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    std::copy_n(tokens.begin() + step * each, each, of_step.as<std::int32_t>().begin());
    executor.write(tokens_name, of_step);
    executor.write(lengths_name, lengths);
    executor.run({.seed = kSeed, .step = step});
    losses.push_back(executor.read("loss:0").as<float>()[0]);
  }
  const Json result{{"network", settings.model.network}, {"batch", settings.model.batch},
                    {"steps", settings.steps},           {"rate", kRate},
                    {"parameters", described},           {"losses", losses}};
  const std::string text = json_text(result);
  write<char>(settings.folder / "result.json", text);
}

}  // namespace
}  // namespace trainyard

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: first_losses NETWORK BATCH STEPS DEVICE FOLDER [PARAMETER=VALUE...]\n");
    return EXIT_FAILURE;
  }
  try {
    trainyard::Settings settings{.model = {.network = argv[1], .batch = std::atoll(argv[2])},
                                 .steps = std::atoll(argv[3]),
                                 .device = argv[4],
                                 .folder = argv[5]};
    for (int i = 6; i < argc; ++i) {
      const std::string given = argv[i];
      const std::size_t equals = given.find('=');
      settings.model.parameters[given.substr(0, equals)] = given.substr(equals + 1);
    }
    trainyard::run(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "first_losses: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
