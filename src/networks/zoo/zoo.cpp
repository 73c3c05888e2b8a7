#include "networks/zoo/zoo.h"

#include <iterator>

#include "base/nearest_name.h"
#include "networks/generator/network_info.h"

namespace trainyard::networks {

const std::vector<NetworkInfo>& all_networks() {
  static const std::vector<NetworkInfo> all = [] {
    std::vector<NetworkInfo> joined;
    for (const auto family :
         {deepmnist_networks, lenet_networks, cifarnet_networks, fc_networks, cnn_networks, mix_networks,
          rnn_networks, trivial_networks, alexnet_networks, overfeat_networks, vgg_networks,
          googlenet_networks, inception3_networks, inception4_networks, inception_resnet_networks,
          resnet_networks, resnet_cifar_networks, densenet_networks, mobilenet_networks}) {
      std::vector<NetworkInfo> rows = family();
      joined.insert(joined.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
    }
    return joined;
  }();
  return all;
}

const NetworkInfo& find_network(std::string_view name) {
  std::vector<std::string> names;
  for (const NetworkInfo& info : all_networks()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  fail(ErrorKind::usage, "unknown network '{}'{}; `trainyard networks` lists them", name,
       did_you_mean(name, names));
}

bool is_parameter(std::string_view name) {
  for (const NetworkInfo& network : all_networks())
    if (network.generator != nullptr)
      for (const generator::Parameter& parameter : network.generator->parameters)
        if (parameter.name == name) return true;
  return false;
}

generator::Parameters parameters_of(const NetworkInfo& info, const generator::Given& given) {
  const generator::Generator* generator = info.generator;
  generator::Parameters parameters(
      info.name, generator == nullptr ? std::vector<generator::Parameter>{} : generator->parameters, given);
  if (generator != nullptr && generator->check != nullptr) generator->check(parameters);
  return parameters;
}

NetworkInfo find_network(std::string_view name, const generator::Given& given) {
  NetworkInfo info = find_network(name);
  const generator::Parameters parameters = parameters_of(info, given);
  if (info.generator != nullptr) info.input = info.generator->input(parameters);
  if (info.reads_sequences())
    info.classes = static_cast<int>(info.generator->sequence(parameters).vocabulary);
  return info;
}

}  // namespace trainyard::networks
