#include "predict/work_cache.h"

#include "predict/network_name.h"

namespace trainyard::predict {

const NetworkWork& WorkCache::work(const std::string& network, std::int64_t batch, int classes,
                                   ops::Rule optimizer, const networks::generator::Given& parameters) {
  const auto key = std::tuple(network, batch, classes, optimizer, parameters);
  if (const auto at = works_.find(key); at != works_.end()) return at->second;
  const NamedNetwork named = named_network(network);
  return works_
      .emplace(key, work_of({.network = named.network,
                             .batch = batch,
                             .classes = classes,
                             .input = named.input,
                             .optimizer = optimizer,
                             .parameters = parameters}))
      .first->second;
}

}  // namespace trainyard::predict
