#include "data/source/synthetic.h"

#include "base/test_folder.h"
#include "data/view/batch_stream.h"

namespace trainyard::data {

namespace {

// Does softmax regression by plain gradient descent on standardised pixels.
class Linear {
 public:
  Linear(std::int64_t inputs, int classes)
      : inputs_(static_cast<std::size_t>(inputs)),
        classes_(static_cast<std::size_t>(classes)),
        weights_(inputs_ * classes_) {}

  void step(const Batch& batch, float rate) {
    const std::vector<float> before = weights_;
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch.valid); ++i) {
      const float* x = batch.images.as<float>().data() + i * inputs_;
      std::vector<float> p = scores(before, x);
      float total = 0;
      for (float& value : p) total += value = std::exp(std::min(value, 60.0f));
      for (std::size_t k = 0; k < classes_; ++k) {
        const bool right = batch.labels.as<std::int32_t>()[i] == static_cast<std::int32_t>(k);
        const float error = rate / static_cast<float>(batch.valid) * (p[k] / total - (right ? 1.0f : 0.0f));
        for (std::size_t j = 0; j < inputs_; ++j) weights_[k * inputs_ + j] -= error * x[j];
      }
    }
  }

  double accuracy(const Dataset& set) const {
    BatchStreamOptions options;
    options.pass = Pass::evaluation;
    options.split = Split::test;
    options.preprocess.name = "standardise";
    options.depth = 0;
    BatchStream stream(set, options);
    int right = 0;
    for (std::int64_t step = 0; step < stream.steps(); ++step) {
      const Batch& batch = stream.next();
      for (std::size_t i = 0; i < static_cast<std::size_t>(batch.valid); ++i) {
        const std::vector<float> s = scores(weights_, batch.images.as<float>().data() + i * inputs_);
        right += std::max_element(s.begin(), s.end()) - s.begin() == batch.labels.as<std::int32_t>()[i];
      }
    }
    return right / static_cast<double>(set.size(Split::test));
  }

 private:
  std::vector<float> scores(const std::vector<float>& weights, const float* x) const {
    std::vector<float> result(classes_);
    for (std::size_t k = 0; k < classes_; ++k)
      for (std::size_t j = 0; j < inputs_; ++j) result[k] += weights[k * inputs_ + j] * x[j];
    return result;
  }

  std::size_t inputs_, classes_;
  std::vector<float> weights_;
};

void expect_learnable(const SyntheticOptions& synthetic) {
  const Dataset set = make_synthetic(synthetic);
  BatchStreamOptions options;
  options.preprocess.name = "standardise";
  options.batch = 64;
  options.depth = 0;
  BatchStream stream(set, options);
  Linear model(set.image_shape.elements(), set.classes);
  const float rate = 20.0f / static_cast<float>(set.image_shape.elements());
  model.step(stream.next(), rate);
  const double first = model.accuracy(set);
  for (int step = 1; step < 200; ++step) model.step(stream.next(), rate);
  const double last = model.accuracy(set);
  EXPECT_LT(first, 0.9);
  EXPECT_GT(last, 0.9);
}

TEST(Synthetic, ALinearClassifierLearnsIt) {
  expect_learnable({{3, 32, 32}, 10, 2000, 500, 1});
  expect_learnable({{1, 28, 28}, 10, 2000, 500, 2});
}

TEST(Synthetic, DependsOnSeedAndIndexAlone) {
  const Dataset small = make_synthetic({{2, 5, 7}, 3, 10, 4, 1}),
                large = make_synthetic({{2, 5, 7}, 3, 30, 9, 1});
  EXPECT_EQ(0, std::memcmp(small.train.images.data(), large.train.images.data(), small.train.images.bytes()));
  EXPECT_EQ(0, std::memcmp(small.test.images.data(), large.test.images.data(), small.test.images.bytes()));
  EXPECT_NE(0, std::memcmp(small.train.images.data(), small.test.images.data(), small.test.images.bytes()));
  const Dataset other = make_synthetic({{2, 5, 7}, 3, 10, 4, 2});
  EXPECT_NE(0, std::memcmp(small.train.images.data(), other.train.images.data(), small.train.images.bytes()));
}

TEST(Synthetic, HasEveryClassAndAnyShape) {
  const Dataset set = make_synthetic({{1, 1, 1}, 3, 300, 30, 1});
  std::vector<int> counts(3);
  for (const std::int32_t label : set.train.labels.as<std::int32_t>())
    ++counts.at(static_cast<std::size_t>(label));
  for (const int count : counts) EXPECT_GT(count, 60);
  EXPECT_EQ(make_synthetic({{5, 2, 3}, 1, 3, 3, 1}).train.images.shape(), (Shape{3, 5, 2, 3}));
  expect_error(ErrorKind::config, "image shape 32x32", [] { make_synthetic({{32, 32}, 10, 10, 10, 1}); });
  expect_error(ErrorKind::config, "0 classes", [] { make_synthetic({{1, 2, 2}, 0, 10, 10, 1}); });
  expect_error(ErrorKind::config, "-5 training", [] { make_synthetic({{1, 2, 2}, 2, -5, 10, 1}); });
}

}  // namespace

}  // namespace trainyard::data
