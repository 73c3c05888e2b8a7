#pragma once

#include <map>
#include <string>
#include <tuple>

#include "predict/network_work.h"

namespace trainyard::predict {

// The work of networks' training steps, each made once. References stay good.
class WorkCache {
 public:
  // `network` as the zoo or a table spells it. Error (config) names the nearest when there is none.
  const NetworkWork& work(const std::string& network, std::int64_t batch, int classes, ops::Rule optimizer,
                          const networks::generator::Given& parameters = {});

 private:
  std::map<std::tuple<std::string, std::int64_t, int, ops::Rule, networks::generator::Given>, NetworkWork>
      works_;
};

}  // namespace trainyard::predict
