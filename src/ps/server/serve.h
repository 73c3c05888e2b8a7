#pragma once

#include "ps/server/server.h"

namespace trainyard::ps {

struct ServeOptions {
  ServerOptions server;
  comm::transport::Address listen;       // port 0: any that is free
  std::string advertise;                 // the host under which others reach it; empty: as in `listen`
  comm::transport::Address coordinator;  // who says when it begins and ends
};

// A server's whole life: tells the coordinator where it listens, gets numbers to begin with unless it has
// them, serves until the coordinator ends the run. Error (peer) when the coordinator is gone before.
void serve(const ServeOptions& options, const std::vector<Key>& keys, Updater& updater,
           const comm::transport::JobKey& key, const Server::Log& log);

}  // namespace trainyard::ps
