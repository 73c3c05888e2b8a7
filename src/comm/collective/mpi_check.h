#pragma once

namespace trainyard::comm::collective {

// Error (peer) with MPI's words unless the code says that the call went well.
void check_mpi(int code, const char* call);

}  // namespace trainyard::comm::collective
