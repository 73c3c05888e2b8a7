#include "networks/families.h"

namespace trainyard::networks {
namespace {

using graph::ValueId;

// Hardly any work on an input of full size: what remains of a step is input and framework.
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
