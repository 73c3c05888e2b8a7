// The batches a GPU makes of a data set in its memory are those that the host makes.
#include <cstring>
#include <optional>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/device.h"
#include "base/error.h"
#include "data/recipe/recipe.h"
#include "data/source/synthetic.h"
#include "data/view/batch_stream.h"

namespace trainyard {
namespace {

constexpr std::int64_t kBatch = 6;

// A batch with one value more than it has, to see that nothing is written there.
struct Made {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
};

class GpuBatches {
 public:
  GpuBatches(const backend::Backend& gpu, const data::Dataset& dataset,
             const data::BatchStreamOptions& options)
      : device_(gpu.device()), augment_(options.preprocess, dataset.image_shape) {
    const auto source = dataset.split(data::Split::train).source();
    const std::int64_t count = dataset.size(data::Split::train), bytes = dataset.image_shape.elements();
    images_ = backend::DeviceMemory(device_, static_cast<std::size_t>(count * bytes));
    std::vector<std::uint8_t> scratch(static_cast<std::size_t>(bytes));
    for (std::int64_t i = 0; i < count; ++i)
      device_->write(images_.data() + i * bytes, source->read(i, scratch).bytes.data(),
                     static_cast<std::size_t>(bytes));
    const auto labels = dataset.split(data::Split::train).labels.as<std::int32_t>();
    labels_ = backend::DeviceMemory(device_, labels.size_bytes());
    device_->write(labels_.data(), labels.data(), labels.size_bytes());

    const Shape &in = dataset.image_shape, &out = augment_.output();
    values_ = static_cast<std::size_t>(options.batch * out.elements());
    batch_images_ = backend::DeviceMemory(device_, (values_ + 1) * sizeof(float));
    batch_labels_ =
        backend::DeviceMemory(device_, static_cast<std::size_t>(options.batch + 1) * sizeof(std::int32_t));
    context_ = backend::DeviceMemory(device_, sizeof(backend::StepContext));
    kernel_ = gpu.make_input_batch({.order = SampleOrder(options.seed, count),
                                    .recipe = augment_.recipe(),
                                    .channels = in[0],
                                    .image = {in[1], in[2]},
                                    .output = {out[1], out[2]},
                                    .batch = options.batch,
                                    .worker = options.worker,
                                    .workers = options.workers});
    kernel_->bind({.inputs = {images_.data(), labels_.data()},
                   .outputs = {batch_images_.data(), batch_labels_.data()},
                   .workspace = nullptr,
                   .context = reinterpret_cast<const backend::StepContext*>(context_.data())});
  }

  Made at(std::int64_t step) {
    const backend::StepContext context{.seed = 0, .step = step};
    device_->write(context_.data(), &context, sizeof context);
    kernel_->run({});
    Made made{std::vector<float>(values_ + 1), std::vector<std::int32_t>(kBatch + 1)};
    device_->read(batch_images_.data(), made.images.data(), made.images.size() * sizeof(float));
    device_->read(batch_labels_.data(), made.labels.data(), made.labels.size() * sizeof(std::int32_t));
    return made;
  }

 private:
  std::shared_ptr<backend::Device> device_;
  data::Augment augment_;
  backend::DeviceMemory images_, labels_, batch_images_, batch_labels_, context_;
  std::size_t values_ = 0;
  std::unique_ptr<backend::Kernel> kernel_;
};

class InputBatchTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      gpu_ = backend::make_backend("cuda", DeviceSpec::cuda());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  std::unique_ptr<backend::Backend> gpu_;
};

void expect_same(const Made& got, const data::Batch& expected) {
  const auto images = expected.images.as<float>();
  const auto labels = expected.labels.as<std::int32_t>();
  for (std::size_t i = 0; i < labels.size(); ++i) ASSERT_EQ(got.labels[i], labels[i]) << "label " << i;
  for (std::size_t i = 0; i < images.size(); ++i)
    ASSERT_NEAR(got.images[i], images[i], 2e-6) << "value " << i << " of step " << expected.step;
  EXPECT_EQ(got.labels.back(), 0);
  EXPECT_EQ(got.images.back(), 0.0f);
}

TEST_P(InputBatchTest, EqualsTheHosts) {
  for (const Shape& shape : {Shape{3, 32, 32}, Shape{1, 28, 28}, Shape{2, 27, 33}}) {
    SCOPED_TRACE(shape.to_string());
    const data::Dataset dataset = data::make_synthetic(
        {.image_shape = shape, .classes = 10, .train_images = 37, .test_images = 1, .seed = 3});
    data::BatchStreamOptions options{.preprocess = {GetParam(), {}}, .batch = kBatch, .seed = 11};
    options.depth = 0;
    options.worker = 1;
    options.workers = 3;
    data::BatchStream stream(dataset, options);
    GpuBatches batches(*gpu_, dataset, options);
    for (std::int64_t step = 0; step < 8; ++step) expect_same(batches.at(step), stream.next());
  }
}

// Larger than the image, so that the centre is surrounded by zeros; odd, so that pixels go one by one.
TEST_P(InputBatchTest, EqualsTheHostsInOtherSizes) {
  if (GetParam() != "lenet" && GetParam() != "standardise") GTEST_SKIP() << GetParam() << " keeps the size";
  const data::Dataset dataset = data::make_synthetic(
      {.image_shape = {3, 30, 31}, .classes = 10, .train_images = 20, .test_images = 1, .seed = 3});
  for (const Shape& output : {Shape{3, 37, 41}, Shape{3, 224, 224}, Shape{3, 20, 40}}) {
    SCOPED_TRACE(output.to_string());
    data::BatchStreamOptions options{.preprocess = {GetParam(), output}, .batch = kBatch, .seed = 5};
    options.depth = 0;
    data::BatchStream stream(dataset, options);
    GpuBatches batches(*gpu_, dataset, options);
    for (std::int64_t step = 0; step < 3; ++step) expect_same(batches.at(step), stream.next());
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, InputBatchTest,
                         testing::ValuesIn(data::recipe_names(data::SampleKind::pixels)),
                         [](const auto& row) {
                           std::string name = row.param;
                           for (char& letter : name)
                             if (letter == '-') letter = '_';
                           return name;
                         });

}  // namespace
}  // namespace trainyard
