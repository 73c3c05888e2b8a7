// The batches a GPU makes of samples in its memory are those that the host makes of the same bytes.
#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/device.h"
#include "base/error.h"
#include "base/philox.h"
#include "data/recipe/preprocess.h"
#include "data/recipe/recipe.h"

namespace trainyard {
namespace {

std::vector<std::uint8_t> random_bytes(std::int64_t count) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  const Philox random(5, 7);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(random.block(i / 4)[i % 4] >> 24);
  return bytes;
}

class SampleGatherTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      gpu_ = backend::make_backend("cuda", DeviceSpec::cuda());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  void expect_hosts(const Shape& output) {
    SCOPED_TRACE(output.to_string());
    constexpr std::int64_t kSamples = 9, kBatch = 6, kStep = 11;
    const auto preprocessor = data::make_preprocessor({.name = GetParam(), .output = output});
    const std::int64_t bytes = preprocessor->sample_bytes();
    const std::vector<std::uint8_t> pixels = random_bytes(kSamples * bytes);

    const backend::InputRing gather_ring{.places = 3,
                                         .image_bytes = kBatch * sizeof(backend::GatheredSample),
                                         .label_bytes = kBatch * sizeof(std::int32_t),
                                         .begins = 4};
    const backend::SampleGather gather{.batch = kBatch,
                                       .channels = output[0],
                                       .output = {output[1], output[2]},
                                       .map = preprocessor->pixel_map()};
    const std::vector<backend::GatheredSample> chosen{{8, 0}, {0, 1}, {3, 0}, {3, 1}, {7, 1}, {1, 0}};
    const std::vector<std::int32_t> labels{4, 9, 2, 6, 5, 3};
    std::vector<std::byte> place(gather_ring.place_bytes());
    std::memcpy(place.data(), chosen.data(), gather_ring.image_bytes);
    std::memcpy(place.data() + gather_ring.labels_at(), labels.data(), gather_ring.label_bytes);

    const std::shared_ptr<backend::Device> device = gpu_->device();
    const auto values = static_cast<std::size_t>(kBatch * bytes);
    const backend::DeviceMemory ring(device, gather_ring.bytes()), samples(device, pixels.size()),
        images(device, (values + 1) * sizeof(float)),
        made_labels(device, (kBatch + 1) * sizeof(std::int32_t)), begins(device, 4 * sizeof(std::int64_t)),
        context(device, sizeof(backend::StepContext));
    const backend::StepContext step{.seed = 0, .step = kStep};
    device->write(context.data(), &step, sizeof step);
    device->write(samples.data(), pixels.data(), pixels.size());
    device->write(
        ring.data() + gather_ring.place_bytes() * static_cast<std::size_t>(gather_ring.place_of(kStep)),
        place.data(), place.size());
    const auto kernel = gpu_->make_sample_gather(gather, gather_ring);
    kernel->bind({.inputs = {ring.data(), samples.data()},
                  .outputs = {images.data(), made_labels.data(), begins.data()},
                  .workspace = nullptr,
                  .context = reinterpret_cast<const backend::StepContext*>(context.data())});
    kernel->run({});

    std::vector<float> got(values + 1), expected(static_cast<std::size_t>(bytes));
    std::vector<std::int32_t> got_labels(kBatch + 1);
    std::vector<std::int64_t> got_begins(4);
    device->read(images.data(), got.data(), got.size() * sizeof(float));
    device->read(made_labels.data(), got_labels.data(), got_labels.size() * sizeof(std::int32_t));
    device->read(begins.data(), got_begins.data(), got_begins.size() * sizeof(std::int64_t));
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      preprocessor->normalise(pixels.data() + chosen[i].index * bytes, expected.data());
      const std::int64_t width = output[2];
      if (chosen[i].mirrored != 0)
        for (auto row = expected.begin(); row != expected.end(); row += width) std::reverse(row, row + width);
      ASSERT_EQ(got_labels[i], labels[i]);
      for (std::size_t k = 0; k < expected.size(); ++k)
        ASSERT_FLOAT_EQ(got[i * expected.size() + k], expected[k]) << "value " << k << " of image " << i;
    }
    EXPECT_EQ(got.back(), 0.0f);
    EXPECT_EQ(got_labels.back(), 0);
    EXPECT_GT(got_begins[kStep % 4], 0);
    EXPECT_EQ(got_begins[(kStep + 1) % 4], 0);
  }

  std::unique_ptr<backend::Backend> gpu_;
};

TEST_P(SampleGatherTest, EqualsTheHosts) {
  for (const Shape& output : {Shape{3, 224, 224}, Shape{3, 32, 32}, Shape{1, 28, 28}, Shape{3, 19, 27}})
    expect_hosts(output);
}

INSTANTIATE_TEST_SUITE_P(Preprocessing, SampleGatherTest,
                         testing::ValuesIn(data::recipe_names(data::SampleKind::encoded)),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace trainyard
