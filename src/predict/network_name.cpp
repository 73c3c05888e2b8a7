#include "predict/network_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/error.h"
#include "base/nearest_name.h"
#include "networks/zoo.h"

namespace trainyard::predict {
namespace {

// Letters and digits alone.
std::string squeezed(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

struct Alias {
  const char *squeezed, *network;
  std::int64_t side;  // of the input; 0: the network's own
};

// tf_cnn_benchmarks feeds AlexNet images of 227. The second version of residual blocks has the same layers in
// another order, so their work stands for it.
constexpr std::array kAliases = {
    Alias{"alexnet", "alexnet_v2", 227},
    Alias{"mobilenet", "mobilenet_v1", 0},
    Alias{"inceptionv1", "googlenet", 0},
    Alias{"inceptionv3", "inception3", 0},
    Alias{"inceptionv4", "inception4", 0},
    Alias{"inceptionresnet", "inception_resnet_v2", 0},
    Alias{"inceptionresnet2", "inception_resnet_v2", 0},
    Alias{"lenet5", "lenet", 0},
    Alias{"densenet40", "densenet40_k12", 0},
    Alias{"densenet100", "densenet100_k12", 0},
};

constexpr std::array<std::string_view, 7> kSuffixes = {"cifar100",  "cifar10", "cifar", "imagenet",
                                                       "synthetic", "model",   "v15"};

bool drop_suffix(std::string& name, std::string_view suffix) {
  if (name.size() <= suffix.size() || !name.ends_with(suffix)) return false;
  name.resize(name.size() - suffix.size());
  return true;
}

std::optional<NamedNetwork> look_up(const std::string& name) {
  for (const Alias& alias : kAliases)
    if (name == alias.squeezed)
      return NamedNetwork{alias.network, alias.side == 0 ? Shape{} : Shape{3, alias.side, alias.side}};
  for (const networks::NetworkInfo& info : networks::all_networks())
    if (squeezed(info.name) == name) return NamedNetwork{info.name};
  return std::nullopt;
}

}  // namespace

std::optional<NamedNetwork> find_named_network(std::string_view given) {
  std::string name = squeezed(given);
  if (auto found = look_up(name)) return found;
  while (std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [&](std::string_view suffix) { return drop_suffix(name, suffix); }))
    if (auto found = look_up(name)) return found;
  if (name.starts_with("resnet") && (drop_suffix(name, "v1") || drop_suffix(name, "v2")))
    return look_up(name);
  return std::nullopt;
}

NamedNetwork named_network(std::string_view given) {
  if (auto found = find_named_network(given)) return *found;
  std::vector<std::string> names;
  for (const networks::NetworkInfo& info : networks::all_networks()) names.push_back(info.name);
  fail(ErrorKind::config, "unknown network '{}'{}; `trainyard networks` lists those that are known", given,
       did_you_mean(given, names));
}

}  // namespace trainyard::predict
