#include "networks/generator/network_info.h"

namespace trainyard::networks {

namespace {

using graph::ValueId;

ValueId lenet(Builder& b, ValueId images, int classes) {
  ValueId x = images;
  x = b.conv("conv1", x, {.filters = 32, .kernel = 5});
  x = b.max_pool("pool1", x, {});
  x = b.conv("conv2", x, {.filters = 64, .kernel = 5});
  x = b.max_pool("pool2", x, {});
  x = b.dense("fc1", x, {.outputs = 512});
  return b.logits(x, classes);
}

}  // namespace

std::vector<NetworkInfo> lenet_networks() {
  return {{.name = "lenet",
           .family = "lenet",
           .description = "LeNet-5 as tf_cnn_benchmarks has it: 5x5 convolutions, dense 512, colour input",
           .input = {3, 28, 28},
           .classes = 10,
           .preprocess = "lenet",
           .build = lenet}};
}

namespace {

// Builds the network of TensorFlow's "Deep MNIST for experts" tutorial.
ValueId deepmnist(Builder& b, ValueId images, int classes) {
  const WeightInit init = WeightInit::truncated_normal(0.1);
  ValueId x = images;
  x = b.conv("conv1", x, {.filters = 32, .kernel = 5, .first_bias = 0.1, .init = init});
  x = b.max_pool("pool1", x, {.padding = Padding::same});
  x = b.conv("conv2", x, {.filters = 64, .kernel = 5, .first_bias = 0.1, .init = init});
  x = b.max_pool("pool2", x, {.padding = Padding::same});
  x = b.dense("fc1", x, {.outputs = 1024, .first_bias = 0.1, .init = init});
  x = b.dropout("dropout1", x, 0.5);
  return b.logits(x, classes, {.first_bias = 0.1, .init = init});
}

}  // namespace

std::vector<NetworkInfo> deepmnist_networks() {
  return {{.name = "deepmnist",
           .family = "deepmnist",
           .description = "two 5x5 convolutions and two dense layers of the TensorFlow MNIST tutorial",
           .input = {1, 28, 28},
           .classes = 10,
           .preprocess = "unit",
           .build = deepmnist}};
}

namespace {

// Builds the network of TensorFlow's CIFAR-10 tutorial; the second norm stands before its pool.
ValueId cifarnet(Builder& b, ValueId images, int classes) {
  const ops::LocalResponseNormAttrs norm{.window = 9, .k = 1, .alpha = 0.001 / 9, .beta = 0.75};
  const PoolSpec pool{.kernel = 3, .stride = 2, .padding = Padding::same};
  const WeightInit conv_init = WeightInit::truncated_normal(0.05);
  const WeightInit local_init = WeightInit::truncated_normal(0.04);
  ValueId x = images;
  x = b.conv("conv1", x, {.filters = 64, .kernel = 5, .init = conv_init});
  x = b.max_pool("pool1", x, pool);
  x = b.lrn("norm1", x, norm);
  x = b.conv("conv2", x, {.filters = 64, .kernel = 5, .first_bias = 0.1, .init = conv_init});
  x = b.lrn("norm2", x, norm);
  x = b.max_pool("pool2", x, pool);
  x = b.dense("local3", x, {.outputs = 384, .first_bias = 0.1, .init = local_init, .l2 = 0.004});
  x = b.dense("local4", x, {.outputs = 192, .first_bias = 0.1, .init = local_init, .l2 = 0.004});
  return b.logits(x, classes, {.init = WeightInit::truncated_normal(1.0 / 192)});
}

}  // namespace

std::vector<NetworkInfo> cifarnet_networks() {
  return {{.name = "cifarnet",
           .family = "cifarnet",
           .description = "two 5x5 convolutions with response norm, three dense layers (CIFAR-10 tutorial)",
           .input = {3, 24, 24},
           .classes = 10,
           .preprocess = "cifarnet",
           .build = cifarnet}};
}

namespace {

// TF-slim's alexnet_v2 ("one weird trick"), its fully connected convolutions written as dense layers.
ValueId alexnet_v2(Builder& b, ValueId images, int classes) {
  const PoolSpec pool{.kernel = 3, .stride = 2};
  const WeightInit dense_init = WeightInit::truncated_normal(0.005);
  const auto conv = [&](const char* name, ValueId x, std::int64_t filters, std::int64_t kernel,
                        std::int64_t stride = 1, Padding padding = Padding::same) {
    return b.conv(name, x,
                  {.filters = filters,
                   .kernel = kernel,
                   .stride = stride,
                   .padding = padding,
                   .first_bias = 0.1,
                   .init = WeightInit::xavier_uniform()});
  };
  ValueId x = images;
  x = conv("conv1", x, 64, 11, 4, Padding::valid);
  x = b.max_pool("pool1", x, pool);
  x = conv("conv2", x, 192, 5);
  x = b.max_pool("pool2", x, pool);
  x = conv("conv3", x, 384, 3);
  x = conv("conv4", x, 384, 3);
  x = conv("conv5", x, 256, 3);
  x = b.max_pool("pool5", x, pool);
  x = b.dense("fc6", x, {.outputs = 4096, .first_bias = 0.1, .init = dense_init});
  x = b.dropout("dropout6", x, 0.5);
  x = b.dense("fc7", x, {.outputs = 4096, .first_bias = 0.1, .init = dense_init});
  x = b.dropout("dropout7", x, 0.5);
  return b.logits(x, classes, {.init = dense_init});
}

}  // namespace

std::vector<NetworkInfo> alexnet_networks() {
  return {{.name = "alexnet_v2",
           .family = "alexnet",
           .description = "AlexNet without response norm, for one device (TF-slim)",
           .input = {3, 224, 224},
           .classes = 1001,
           .preprocess = "standardise",
           .build = alexnet_v2}};
}

namespace {

ValueId overfeat(Builder& b, ValueId images, int classes) {
  ValueId x = images;
  x = b.conv("conv1", x, {.filters = 96, .kernel = 11, .stride = 4, .padding = Padding::valid});
  x = b.max_pool("pool1", x, {});
  x = b.conv("conv2", x, {.filters = 256, .kernel = 5, .padding = Padding::valid});
  x = b.max_pool("pool2", x, {});
  x = b.conv("conv3", x, {.filters = 512, .kernel = 3});
  x = b.conv("conv4", x, {.filters = 1024, .kernel = 3});
  x = b.conv("conv5", x, {.filters = 1024, .kernel = 3});
  x = b.max_pool("pool5", x, {});
  x = b.dense("fc6", x, {.outputs = 3072});
  x = b.dropout("dropout6", x, 0.5);
  x = b.dense("fc7", x, {.outputs = 4096});
  x = b.dropout("dropout7", x, 0.5);
  return b.logits(x, classes);
}

}  // namespace

std::vector<NetworkInfo> overfeat_networks() {
  return {{.name = "overfeat",
           .family = "overfeat",
           .description = "OverFeat, the fast model: five convolutions, wide dense layers",
           .input = {3, 231, 231},
           .classes = 1001,
           .preprocess = "standardise",
           .build = overfeat}};
}

namespace {

ValueId vgg(Builder& b, ValueId images, int classes, const std::array<int, 5>& convolutions) {
  constexpr std::array<std::int64_t, 5> kFilters{64, 128, 256, 512, 512};
  ValueId x = images;
  for (std::size_t group = 0; group < convolutions.size(); ++group) {
    for (int i = 1; i <= convolutions[group]; ++i)
      x = b.conv(fmt::format("conv{}_{}", group + 1, i), x, {.filters = kFilters[group], .kernel = 3});
    x = b.max_pool(fmt::format("pool{}", group + 1), x, {});
  }
  x = b.dense("fc6", x, {.outputs = 4096});
  x = b.dropout("dropout6", x, 0.5);
  x = b.dense("fc7", x, {.outputs = 4096});
  x = b.dropout("dropout7", x, 0.5);
  return b.logits(x, classes);
}

ValueId vgg11(Builder& b, ValueId x, int classes) { return vgg(b, x, classes, {1, 1, 2, 2, 2}); }
ValueId vgg16(Builder& b, ValueId x, int classes) { return vgg(b, x, classes, {2, 2, 3, 3, 3}); }
ValueId vgg19(Builder& b, ValueId x, int classes) { return vgg(b, x, classes, {2, 2, 4, 4, 4}); }

NetworkInfo vgg_row(const char* name, const char* description, decltype(NetworkInfo::build) build) {
  return {.name = name,
          .family = "vgg",
          .description = description,
          .input = {3, 224, 224},
          .classes = 1001,
          .preprocess = "standardise",
          .build = build};
}

}  // namespace

std::vector<NetworkInfo> vgg_networks() {
  return {vgg_row("vgg11", "VGG, configuration A: 8 convolutions of 3x3, 3 dense layers", vgg11),
          vgg_row("vgg16", "VGG, configuration D: 13 convolutions of 3x3, 3 dense layers", vgg16),
          vgg_row("vgg19", "VGG, configuration E: 16 convolutions of 3x3, 3 dense layers", vgg19)};
}

namespace {

// The network does hardly any work on an input of full size, so that a step measures input and framework.
ValueId trivial(Builder& b, ValueId images, int classes) {
  ValueId x = images;
  x = b.dense("fc1", x, {.outputs = 1});
  x = b.dense("fc2", x, {.outputs = 4096});
  return b.logits(x, classes);
}

}  // namespace

std::vector<NetworkInfo> trivial_networks() {
  return {{.name = "trivial",
           .family = "trivial",
           .description = "three dense layers on a large image; measures everything but the network",
           .input = {3, 227, 227},
           .classes = 1001,
           .preprocess = "unit",
           .build = trivial}};
}

}  // namespace trainyard::networks
