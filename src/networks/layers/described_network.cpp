#include "networks/layers/described_network.h"

#include "networks/layers/description.h"
#include "networks/layers/layer_builder.h"
#include "networks/zoo/zoo.h"

namespace trainyard::networks::layers {
namespace {

using generator::Parameters;
using generator::SequenceSizes;
using yaml::YamlReader;

using SharedDescription = std::shared_ptr<const Description>;

LayerBuilder layer_builder(const Description& description, Builder& builder, int classes,
                           const Parameters& parameters) {
  Variables variables = Description::variables(parameters);
  variables["classes"] = std::to_string(classes);
  const bool is_sequence = description.kind == InputKind::sequence;
  return {builder, std::move(variables), is_sequence ? parameters.number("length") : 0, !description.masked};
}

graph::ValueId build(const Description& description, Builder& builder, graph::ValueId x, int classes,
                     const Parameters& parameters) {
  return layer_builder(description, builder, classes, parameters).network(description.layers, x, classes);
}

graph::ValueId decode(const Description& description, Builder& builder, const generator::NewSteps& input,
                      const Parameters& parameters) {
  const auto vocabulary = static_cast<int>(parameters.number("vocabulary"));
  LayerBuilder layers = layer_builder(description, builder, vocabulary, parameters);
  layers.decode(input);
  return layers.network(description.layers, input.ids, vocabulary);
}

generator::Generator generator_of(const SharedDescription& description) {
  generator::Generator generator{
      .parameters = description->parameters,
      .input =
          [description](const Parameters& parameters) {
            return description->input_shape(Description::variables(parameters));
          },
      .build =
          [description](Builder& builder, graph::ValueId x, int classes, const Parameters& parameters) {
            return build(*description, builder, x, classes, parameters);
          }};
  if (description->kind != InputKind::sequence) return generator;
  generator.sequence = [masked = description->masked](const Parameters& parameters) {
    return SequenceSizes{parameters.number("length"), parameters.number("vocabulary"), masked};
  };
  if (!description->masked)
    generator.decode = [description](Builder& builder, const generator::NewSteps& input,
                                     const Parameters& parameters) {
      return decode(*description, builder, input, parameters);
    };
  return generator;
}

// Says at once what does not fit together.
void build_once(const Description& description, const NetworkInfo& info, const Parameters& parameters) {
  graph::Graph graph;
  Builder builder(graph, true);
  const bool is_sequence = description.kind == InputKind::sequence;
  Shape shape{is_sequence ? info.input[0] : 1};
  if (is_sequence) shape.append(1);
  for (int axis = 0; !is_sequence && axis < info.input.rank(); ++axis) shape.append(info.input[axis]);
  const graph::ValueId x =
      graph.add_input(is_sequence ? "ids" : "images", {shape, is_sequence ? DType::i32 : DType::f32});
  build(description, builder, x, info.classes, parameters);
}

std::shared_ptr<const NetworkFile> network_of(const YamlReader& content, const std::string& file_name) {
  const auto description = std::make_shared<const Description>(read_description(content));
  auto file = std::make_shared<NetworkFile>();
  file->generator = generator_of(description);
  const Parameters parameters("", description->parameters, {});
  const std::string name =
      description->name.empty() ? std::filesystem::path(file_name).stem().string() : description->name;
  file->info = {.name = file_name,
                .family = "yaml",
                .description = description->about.empty() ? name : name + ": " + description->about,
                .input = description->input_shape(Description::variables(parameters)),
                .classes = description->classes,
                .preprocess = description->kind == InputKind::sequence ? "" : description->preprocess,
                .masked = description->masked,
                .generator = &file->generator};
  file->note = "a file of layers: weights start from random numbers, unless others are given";
  build_once(*description, file->info, parameters);
  return file;
}

}  // namespace

std::shared_ptr<const NetworkFile> parse_described(const std::string& text, const std::string& file_name) {
  return network_of(YamlReader::parse(text, file_name), file_name);
}

std::shared_ptr<const NetworkFile> read_described(const std::filesystem::path& file) {
  return network_of(YamlReader::read(file), file.string());
}

void know_described_networks() {
  for (const char* end : kEnds) read_network_files(end, read_described);
}

}  // namespace trainyard::networks::layers
