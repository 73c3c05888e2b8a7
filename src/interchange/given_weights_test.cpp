#include "interchange/given_weights.h"

#include "base/test_folder.h"
#include "interchange/read_graph.h"
#include "interchange/test_models.h"
#include "weights/safetensors.h"

namespace trainyard::interchange {
namespace {

using networks::ModelOptions;

// Numbers that tell which weight they are of, and which of its numbers.
std::vector<float> telling(const graph::Value& value) {
  std::vector<float> numbers(static_cast<std::size_t>(value.type.shape.elements()));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = 0.01f * static_cast<float>(value.name.size()) + 0.001f * static_cast<float>(i % 977);
  return numbers;
}

std::vector<std::byte> bytes_of(const std::vector<float>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(float));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

networks::Model inference(ModelOptions options) {
  options.training = options.loss = false;
  return networks::build_model(options);
}

OfferedWeight offer(const std::string& name, std::vector<std::int64_t> dims, double number = 1,
                    const std::string& type = "f32") {
  std::size_t elements = 1;
  for (const std::int64_t dim : dims) elements *= static_cast<std::size_t>(dim);
  return {name, type, std::move(dims), [elements, number] { return std::vector<double>(elements, number); }};
}

// Offers all weights of the network.
std::vector<OfferedWeight> offer_all(const ModelOptions& options) {
  std::vector<OfferedWeight> offered;
  const networks::Model model = inference(options);
  for (const graph::Value& value : model.graph.values())
    if (value.role == graph::Role::parameter || value.role == graph::Role::statistic)
      offered.push_back(offer(value.name, {value.type.shape.begin(), value.type.shape.end()}));
  return offered;
}

GivenWeights match(const ModelOptions& options, const std::vector<OfferedWeight>& offered,
                   const WeightRules& rules = {}) {
  return match_weights(options, nullptr, {"x.pt", false, offered}, rules);
}

void expect_refused(const std::string& part, const ModelOptions& options,
                    const std::vector<OfferedWeight>& offered, const WeightRules& rules = {}) {
  expect_error(ErrorKind::config, part, [&] { match(options, offered, rules); });
}

void expect_back_from_onnx(const ModelOptions& options) {
  SCOPED_TRACE(options.network);
  const TestFolder folder;
  const networks::Model model = inference(options);
  const auto file =
      folder.write("own.onnx", onnx_file_of(model, [](const graph::Value& value) {
                     const bool listed = value.initializer.kind == graph::Initializer::Kind::listed;
                     return bytes_of(listed ? std::vector<float>(value.initializer.numbers->begin(),
                                                                 value.initializer.numbers->end())
                                            : telling(value));
                   }));
  const GivenWeights given = match_weights(options, nullptr, read_offered_weights(file), {});
  std::size_t weights = 0;
  for (const graph::Value& value : model.graph.values()) {
    if (value.role != graph::Role::parameter && value.role != graph::Role::statistic) continue;
    if (value.initializer.kind == graph::Initializer::Kind::listed) continue;
    ++weights;
    const auto found = given.start->content.find(value.name);
    ASSERT_NE(found, given.start->content.end()) << value.name;
    std::vector<float> numbers;
    for (const double number : *found->second.numbers) numbers.push_back(static_cast<float>(number));
    EXPECT_EQ(numbers, telling(value)) << value.name;
  }
  EXPECT_EQ(given.start->content.size(), weights);
}

TEST(GivenWeights, OfOurOwnOnnxFilesComeBackInOurOrder) {
  for (const char* network : {"deepmnist", "lenet", "resnet20", "squeezenet"})
    expect_back_from_onnx({.network = network});
  for (const char* cell : {"lstm", "gru", "rnn"})
    expect_back_from_onnx(
        {.network = "rnn", .parameters = {{"cell", cell}, {"hidden", "6"}, {"length", "4"}}});
  const networks::generator::Given small{
      {"layers", "1"}, {"width", "16"}, {"heads", "2"}, {"length", "5"}, {"vocabulary", "11"}};
  expect_back_from_onnx({.network = "transformer", .parameters = small});
  networks::generator::Given llama = small;
  llama.insert({{"norm", "rms"}, {"activation", "swiglu"}, {"positions", "rotary"}, {"kv_heads", "1"}});
  expect_back_from_onnx({.network = "transformer", .parameters = llama});
}

TEST(GivenWeights, AreMatchedByNameAndShape) {
  std::vector<OfferedWeight> offered = offer_all({.network = "resnet20"});
  for (OfferedWeight& weight : offered) {
    std::replace(weight.name.begin(), weight.name.end(), '/', '.');
    weight.name = "module." + weight.name;
  }
  offered.push_back(offer("module.norm.num_batches_tracked", {}, 7, "i64"));
  const GivenWeights given = match({.network = "resnet20"}, offered);
  EXPECT_EQ(given.start->content.size(), offered.size() - 1);
  EXPECT_EQ(given.start->from, "x.pt");
  EXPECT_EQ(given.note, fmt::format("{0} of {0} tensors start from 'x.pt'", offered.size() - 1));
}

TEST(GivenWeights, OfFlatImagesFitDenseLayersThatTakeThemAsTheyAre) {
  std::vector<OfferedWeight> offered = offer_all({.network = "lenet"});
  std::size_t flattened = 0;
  for (OfferedWeight& weight : offered)
    if (weight.dims.size() == 4 && weight.dims[2] != 5) {
      weight.dims = {weight.dims[0], weight.dims[1] * weight.dims[2] * weight.dims[3]};
      ++flattened;
    }
  EXPECT_EQ(flattened, 1u);
  EXPECT_NO_THROW(match({.network = "lenet"}, offered));
  offered[0].dims = {offered[0].dims[0], offered[0].dims[1], 25, 1};
  expect_refused("tensor 'conv1/weight' is ", {.network = "lenet"}, offered);
}

TEST(GivenWeights, DifferencesAreSaid) {
  std::vector<OfferedWeight> offered = offer_all({.network = "lenet"});
  offered[1].name = "other/bias";
  expect_refused(
      "'x.pt' lacks 1 of the network's 8 tensors: 'conv1/bias'; has 1 that the network has not: 'other/bias' "
      "(partial_weights allows it)",
      {.network = "lenet"}, offered);
  const GivenWeights given = match({.network = "lenet"}, offered, {.partial = true});
  EXPECT_FALSE(given.start->content.contains("conv1/bias"));
  EXPECT_NE(given.note.find("1 from random numbers: 'conv1/bias'; 1 of the file are left out: 'other/bias'"),
            std::string::npos)
      << given.note;
  expect_refused("none of its 1 tensors has a name of the network's; it has 'a', the network 'conv1/weight'",
                 {.network = "lenet"}, {offer("a", {1})});
  expect_refused("lacks 8 of the network's 8 tensors", {.network = "lenet"}, {});
  offered = offer_all({.network = "lenet"});
  offered[0].type = "i64";
  expect_refused("and weights are floats", {.network = "lenet"}, offered);
}

TEST(GivenWeights, TheLastLayerStartsAfreshWhereItsClassesDiffer) {
  const std::vector<OfferedWeight> offered = offer_all({.network = "lenet", .classes = 1000});
  const GivenWeights given = match({.network = "lenet", .classes = 7}, offered);
  EXPECT_EQ(given.start->content.size(), offered.size() - 2);
  EXPECT_FALSE(given.start->content.contains("logits/weight"));
  EXPECT_NE(given.note.find("the last layer starts afresh: 'logits/weight', 'logits/bias'"),
            std::string::npos)
      << given.note;
  const GivenWeights same = match({.network = "lenet"}, offer_all({.network = "lenet"}), {.new_head = true});
  EXPECT_EQ(same.start->content.size(), offered.size() - 2);
  // The weights of a trunk alone are enough then.
  std::vector<OfferedWeight> trunk = offer_all({.network = "lenet"});
  trunk.resize(trunk.size() - 2);
  EXPECT_NO_THROW(match({.network = "lenet"}, trunk, {.new_head = true}));
  expect_refused("lacks 2 of the network's 8 tensors: 'logits/weight'", {.network = "lenet"}, trunk);
}

TEST(GivenWeights, AHeadThatIsAlsoTheEmbeddingIsNotRenewed) {
  const ModelOptions gpt{
      .network = "gpt2",
      .parameters = {{"layers", "1"}, {"width", "12"}, {"heads", "2"}, {"length", "4"}, {"vocabulary", "9"}}};
  expect_error(ErrorKind::usage, "is a weight of other layers, too",
               [&] { match(gpt, offer_all(gpt), {.new_head = true}); });
}

// x (N, 4) -> MatMul -> Relu -> Gemm -> y (N, 3). MatMul's weight lies (inputs, outputs) there.
onnx::Model matrix_model(bool with_content) {
  onnx::Model model;
  model.producer = "test";
  model.ir_version = 7;
  model.opset = 13;
  model.inputs = {{"x", "", {true, {kUnknown, 4}, "f32"}}};
  model.outputs = {{"y", "", {true, {kUnknown, 3}, "f32"}}};
  for (const auto& [name, dims] : std::vector<std::pair<std::string, std::vector<std::int64_t>>>{
           {"first", {4, 5}}, {"second", {3, 5}}, {"bias", {3}}}) {
    if (with_content)
      model.initializers.push_back(float_tensor(name, dims, 0.5));
    else
      model.inputs.push_back({name, "parameter", {true, dims, "f32"}});
  }
  model.nodes = {{.name = "m", .type = "MatMul", .domain = "", .inputs = {"x", "first"}, .outputs = {"a"}},
                 {.name = "r", .type = "Relu", .domain = "", .inputs = {"a"}, .outputs = {"b"}},
                 {.name = "g",
                  .type = "Gemm",
                  .domain = "",
                  .inputs = {"b", "second", "bias"},
                  .outputs = {"y"},
                  .attributes = {{.name = "transB", .kind = onnx::Attribute::Kind::integer, .integer = 1}}}};
  return model;
}

TEST(GivenWeights, OfANetworkInAFileAreArrangedAsItsOwn) {
  const TestFolder folder;
  std::vector<double> rows(20);
  std::iota(rows.begin(), rows.end(), 0.0);
  const std::vector<OfferedWeight> offered{
      {"first", "f32", {4, 5}, [rows] { return rows; }}, offer("second", {3, 5}, 2), offer("bias", {3}, 3)};
  for (const bool with_content : {true, false}) {
    const auto path =
        folder.write(fmt::format("{}.onnx", with_content), onnx_file_of(matrix_model(with_content)));
    const auto file = read_trainable(path);
    const ModelOptions options{.network = "m", .imported = file->build};
    const GivenWeights given = match_weights(options, file.get(), {"w", false, offered}, {});
    ASSERT_EQ(given.start->content.size(), 3u);
    const std::vector<double>& first = *given.start->content.at("first").numbers;
    EXPECT_EQ(first[1], 5);  // of the first output: inputs 0, 1, ...
    EXPECT_EQ(first[4], 1);  // of the second
    EXPECT_EQ(given.start->content.at("bias").numbers->at(2), 3);
    expect_error(ErrorKind::config, "'first' is 5x4, the network's 'first' 4x5", [&] {
      match_weights(options, file.get(), {"w", false, {offer("first", {5, 4}), offered[1], offered[2]}}, {});
    });
    const GivenWeights renewed =
        match_weights(options, file.get(), {"w", false, offered}, {.new_head = true});
    EXPECT_EQ(renewed.start->content.at("second").kind, graph::Initializer::Kind::truncated_normal);
    EXPECT_EQ(renewed.start->content.at("first").kind, graph::Initializer::Kind::listed);
    EXPECT_EQ(renew_head(options, *file).start->content.size(), 2u);
  }
}

TEST(GivenWeights, OneOnnxFileGivesAnotherItsOwn) {
  const TestFolder folder;
  const auto bare = folder.write("bare.onnx", onnx_file_of(matrix_model(false))),
             full = folder.write("full.onnx", onnx_file_of(matrix_model(true)));
  const auto file = read_trainable(bare);
  const ModelOptions options{.network = "m", .imported = file->build};
  const GivenWeights given = match_weights(options, file.get(), read_offered_weights(full), {});
  EXPECT_EQ(given.start->content.size(), 3u);
  EXPECT_EQ(given.start->content.at("second").numbers->front(), 0.5);
  // A checkpoint has MatMul's weight by outputs.
  const OfferedWeights checkpoint{
      "step-1", true, {offer("first", {5, 4}, 7), offer("second", {3, 5}), offer("bias", {3})}};
  EXPECT_EQ(match_weights(options, file.get(), checkpoint, {}).start->content.at("first").numbers->front(),
            7);
}

TEST(GivenWeights, OfAnOnnxFileOfHalvesAreRead) {
  const TestFolder folder;
  onnx::Model model = matrix_model(true);
  model.inputs[0].spec.dtype = model.outputs[0].spec.dtype = "f16";
  for (onnx::Tensor& tensor : model.initializers) {
    tensor.dtype = "f16";
    tensor.content = [elements = static_cast<std::size_t>(tensor.elements())] {
      std::vector<std::byte> bytes(2 * elements);
      for (std::size_t i = 0; i < elements; ++i) bytes[2 * i + 1] = std::byte{0x40};  // 2
      return bytes;
    };
  }
  const OfferedWeights offered = read_offered_weights(folder.write("half.onnx", onnx_file_of(model)));
  ASSERT_EQ(offered.tensors.size(), 3u);
  for (const OfferedWeight& weight : offered.tensors) EXPECT_EQ(weight.numbers().back(), 2) << weight.name;
}

TEST(GivenWeights, OfOtherFilesComeInTheirTypes) {
  const TestFolder folder;
  std::string text;
  weights::write_safetensors({{"w", weights::Element::bf16, {2}, [] { return std::vector<std::byte>(4); }}},
                             {}, [&](std::string_view piece) { text += piece; });
  const OfferedWeights offered = read_offered_weights(folder.write("w.safetensors", text));
  ASSERT_EQ(offered.tensors.size(), 1u);
  EXPECT_EQ(offered.tensors[0].to_string(), "bf16 2");
  EXPECT_EQ(offered.tensors[0].numbers(), (std::vector<double>{0, 0}));
  expect_error(ErrorKind::config, "no graph in it",
               [&] { read_offered_weights(folder.write("x.onnx", "")); });
}

}  // namespace
}  // namespace trainyard::interchange
