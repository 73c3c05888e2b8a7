#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "networks/generator/network_info.h"

namespace trainyard::networks {

const std::vector<NetworkInfo>& all_networks();

// Throws an Error of kind usage that suggests the nearest name.
const NetworkInfo& find_network(std::string_view name);

// Whether some generated network has a parameter of this name.
bool is_parameter(std::string_view name);

// All parameters of a network, given or its own. Error (usage) when one is not allowed.
generator::Parameters parameters_of(const NetworkInfo& info, const generator::Given& given);

// The network with the input that these parameters give it.
NetworkInfo find_network(std::string_view name, const generator::Given& given);

}  // namespace trainyard::networks
