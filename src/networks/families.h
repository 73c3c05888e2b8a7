#pragma once

#include <vector>

#include "networks/zoo.h"

namespace trainyard::networks {

// Each family describes its networks in its own file; zoo.cpp joins them.
std::vector<NetworkInfo> alexnet_networks();
std::vector<NetworkInfo> cifarnet_networks();
std::vector<NetworkInfo> cnn_networks();
std::vector<NetworkInfo> deepmnist_networks();
std::vector<NetworkInfo> densenet_networks();
std::vector<NetworkInfo> fc_networks();
std::vector<NetworkInfo> googlenet_networks();
std::vector<NetworkInfo> inception3_networks();
std::vector<NetworkInfo> inception4_networks();
std::vector<NetworkInfo> inception_resnet_networks();
std::vector<NetworkInfo> lenet_networks();
std::vector<NetworkInfo> mix_networks();
std::vector<NetworkInfo> mobilenet_networks();
std::vector<NetworkInfo> overfeat_networks();
std::vector<NetworkInfo> resnet_networks();
std::vector<NetworkInfo> resnet_cifar_networks();
std::vector<NetworkInfo> rnn_networks();
std::vector<NetworkInfo> trivial_networks();
std::vector<NetworkInfo> vgg_networks();

}  // namespace trainyard::networks
