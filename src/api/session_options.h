#pragma once

#include <exception>
#include <thread>

#include "networks/zoo/network_files.h"
#include "train/session/session.h"
#include "trainyard/network.h"
#include "trainyard/settings.h"

namespace trainyard {

// A Network is what its model and data need to know of it. Immutable.
struct Network::Parts {
  networks::NetworkInfo info;                         // of an imported network: name, input and classes
  networks::ModelOptions model;                       // without batch, mode and input
  std::shared_ptr<const networks::NetworkFile> file;  // of an imported network
};

}  // namespace trainyard

namespace trainyard::api {

// Throws Error (usage) that names the setting, what was given and what is allowed. `range_name`: the name
// of the setting in record/value.h, where it is another.
void want_number(const char* setting, double given, const char* range_name = nullptr);

train::SessionOptions session_options(const Network& network, const RunSettings& settings, bool training);

// Lets the session start from the weights that the settings name. REQUIRES: its classes and input are
// settled.
void give_weights(const Network& network, const RunSettings& settings, train::SessionOptions& session);

// Runs the work in a thread of its own and returns its result, or throws its exception: sessions limit the
// thread that makes them to some cores, and a caller's thread must keep all of its own.
template <typename Work>
auto run_apart(Work work) {
  decltype(work()) result;
  std::exception_ptr failure;
  std::thread([&] {
    try {
      result = work();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
  return result;
}

}  // namespace trainyard::api
