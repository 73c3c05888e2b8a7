#include "base/json.h"
#include "cli/networks.h"

#include <charconv>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "engine/canonical.h"
#include "engine/checkpoint.h"
#include "interchange/dot.h"
#include "networks/zoo/network_files.h"
#include "run/run_options.h"
#include "weights/safetensors.h"
#include "weights/weight_file.h"

namespace trainyard::cli {

namespace {

std::vector<std::byte> first_content(const graph::Value& value, std::uint64_t seed) {
  std::vector<std::byte> content(static_cast<std::size_t>(value.type.bytes()));
  engine::fill(value.initializer, value.name, seed, value.type, Layout::plain(value.type.shape.rank()),
               content.data());
  return content;
}

class CheckpointWeights {
 public:
  explicit CheckpointWeights(const std::filesystem::path& folder)
      : path_(folder / "tensors.bin"), tensors_(path_) {
    const std::filesystem::path path = folder / "manifest.json";
    const std::vector<std::byte> text = read_file(path);
    engine::CheckpointManifest manifest =
        engine::parse_manifest({reinterpret_cast<const char*>(text.data()), text.size()}, path);
    for (engine::StoredTensor& tensor : manifest.tensors) stored_[tensor.name] = std::move(tensor);
    header_ = std::move(manifest.header);
  }

  // Sequences have the classes and the length that the parameters say.
  void describe(networks::ModelOptions& model) const {
    const networks::NetworkInfo& info = networks::find_network(model.network);
    if (header_.network != model.network)
      fail(ErrorKind::config, "'{}' is of network '{}', not '{}'", path_.string(), header_.network,
           model.network);
    for (const auto& [name, value] : header_.asked) {
      if (info.generator != nullptr)
        for (const networks::generator::Parameter& parameter : info.generator->parameters)
          if (parameter.name == name) model.parameters[name] = value;
      if (info.reads_sequences()) continue;
      if (name == "classes") std::from_chars(value.data(), value.data() + value.size(), model.classes);
      if (name == "input") model.input = Shape::parse(value);
    }
    if (const auto file = networks::imported_file(model.network))
      networks::give_classes(*file, model.classes, model);
  }

  std::vector<std::byte> content(const graph::Value& value) const {
    const auto found = stored_.find(value.name);
    if (found == stored_.end())
      fail(ErrorKind::config, "'{}' has no tensor '{}': is it of this network?", path_.string(), value.name);
    const engine::StoredTensor& stored = found->second;
    if (!(stored.type == value.type))
      fail(ErrorKind::config, "'{}': tensor '{}' is {}, the network's {}", path_.string(), value.name,
           stored.type.to_string(), value.type.to_string());
    const std::int64_t bytes = value.type.bytes();
    if (stored.offset < 0 || stored.offset > tensors_.bytes() - bytes)
      fail(ErrorKind::config, "'{}' ends before tensor '{}'", path_.string(), value.name);
    const auto* first = reinterpret_cast<const std::byte*>(tensors_.data()) + stored.offset;
    if (crc32c(first, static_cast<std::size_t>(bytes)) != stored.crc32c)
      fail(ErrorKind::config, "'{}': the checksum of tensor '{}' does not agree", path_.string(), value.name);
    return {first, first + bytes};
  }

 private:
  std::filesystem::path path_;
  MappedFile tensors_;
  std::map<std::string, engine::StoredTensor> stored_;
  engine::CheckpointHeader header_;
};

}  // namespace

ExportedWeights exported_weights(const std::string& weights, std::uint64_t seed,
                                 networks::ModelOptions model) {
  if (weights == "none") return {nullptr, std::move(model)};
  if (weights == "initial")
    return {[seed](const graph::Value& value) { return first_content(value, seed); }, std::move(model)};
  std::filesystem::path folder = weights;
  if (!std::filesystem::exists(folder / "manifest.json")) {
    const std::optional<std::filesystem::path> latest =
        std::filesystem::is_directory(folder) ? engine::latest_checkpoint(folder) : std::nullopt;
    if (!latest)
      fail(ErrorKind::usage, "--weights '{}': wants none, initial, a checkpoint or a folder of them",
           weights);
    folder = *latest;
  }
  const auto checkpoint = std::make_shared<CheckpointWeights>(folder);
  checkpoint->describe(model);
  return {[checkpoint](const graph::Value& value) { return checkpoint->content(value); }, std::move(model)};
}

namespace {

struct ExportOptions {
  GraphOptions graph;
  std::string name, weights = "none";
  std::filesystem::path to;
  std::uint64_t seed = 1;
  bool json = false;
};

void write_dot(const ExportOptions& options) {
  if (options.weights != "none") fail(ErrorKind::usage, "--weights: a drawing has none; --to FILE.onnx has");
  AtomicFile file(options.to);
  file.write(interchange::to_dot(graph_of(options.name, options.graph)));
  file.commit();
}

void write_onnx(const ExportOptions& options) {
  if (options.graph.step != "forward")
    fail(ErrorKind::usage, "--step {}: an ONNX file holds the forward pass", options.graph.step);
  if (is_graph_file(options.name) && !options.name.ends_with(".onnx"))
    fail(ErrorKind::usage,
         "'{}': only networks of ours and ONNX files become ONNX files; others can become .dot",
         options.name);
  const ExportedWeights weights =
      exported_weights(options.weights, options.seed, model_options(options.name, options.graph));
  const networks::Model model = networks::build_model(weights.model);
  interchange::export_onnx(model.graph, model.logits, {.name = options.name, .weights = weights.source},
                           options.to);
}

// Weights by their names, without the network.
void write_weights(const ExportOptions& options) {
  if (is_graph_file(options.name))
    fail(ErrorKind::usage,
         "'{}': our ops arrange the weights of a file otherwise; --to FILE.onnx has them as its own",
         options.name);
  const ExportedWeights weights =
      exported_weights(options.weights, options.seed, model_options(options.name, options.graph));
  if (weights.source == nullptr)
    fail(ErrorKind::usage, "--to '{}': holds weights; --weights says which: initial, or a checkpoint",
         options.to.string());
  const networks::Model model = networks::build_model(weights.model);
  std::vector<weights::OutgoingTensor> tensors;
  for (const graph::Value& value : model.graph.values())
    if (value.role == graph::Role::parameter || value.role == graph::Role::statistic)
      tensors.push_back({value.name,
                         weights::Element::f32,
                         {value.type.shape.begin(), value.type.shape.end()},
                         [&source = weights.source, &value] { return source(value); }});
  AtomicFile file(options.to);
  weights::write_safetensors(tensors, {{"network", options.name}},
                             [&](std::string_view bytes) { file.write(bytes); });
  file.commit();
}

// Returns the name of the format.
const char* write_export(const ExportOptions& options) {
  const std::optional<weights::Format> of_weights = weights::format_of(options.to);
  if (of_weights == weights::Format::safetensors) {
    write_weights(options);
    return "safetensors";
  }
  const std::optional<interchange::Format> format = interchange::format_of(options.to);
  if (!format || *format == interchange::Format::graph_def)
    fail(ErrorKind::usage, "--to '{}': the name ends with .onnx, .safetensors, .dot or .gv",
         options.to.string());
  if (*format == interchange::Format::dot)
    write_dot(options);
  else
    write_onnx(options);
  return interchange::name(*format);
}

int run_export(const ExportOptions& options) {
  const char* const format = write_export(options);
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(options.to));
  if (options.json)
    fmt::print("{}\n", json_text(Json{{"network", options.name},
                                      {"file", options.to.string()},
                                      {"format", format},
                                      {"batch", options.graph.batch},
                                      {"weights", options.weights},
                                      {"bytes", bytes}},
                                 2));
  else
    fmt::print("{}: {} as {}, {}\n", options.to.string(), options.name, format, format_bytes(bytes));
  return 0;
}

}  // namespace

std::function<int()> declare_networks_export(Command& command) {
  const auto options = std::make_shared<ExportOptions>();
  command
      .add_option("name", options->name,
                  "Network, or a file of one (.onnx, .yaml); for a drawing also another file of a graph")
      ->required()
      ->type_name("NAME");
  add_output_file(command, "--to", options->to,
                  "File to write: .onnx, .safetensors (weights alone), or .dot (or .gv) for Graphviz")
      ->required();
  command
      .add_option("--weights", options->weights,
                  "Weights in the file: none (they are inputs then), initial, or those of a checkpoint")
      ->capture_default_str()
      ->type_name("WHAT");
  command.add_option("--seed", options->seed, "Of initial weights")
      ->transform(within("seed"))
      ->capture_default_str()
      ->type_name("N");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  add_graph_options(command, options->graph, true);
  command.footer(
      "Examples:\n"
      "  trainyard networks export lenet --to lenet.onnx --weights initial\n"
      "  trainyard networks export lenet --to lenet.safetensors --weights initial\n"
      "  trainyard networks export googlenet --to googlenet.dot");
  return [options, &command] {
    warn_of_idle_options(command,
                         {{options->weights != "initial", {"--seed"}, "it is for --weights initial"},
                          {is_graph_file(options->name), {"--classes"}, "the file says how many there are"}});
    return run_export(*options);
  };
}

}  // namespace trainyard::cli
