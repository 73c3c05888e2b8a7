#include "comm/collective/mpi_check.h"

#define OMPI_SKIP_MPICXX  // the C++ bindings, long gone from the standard
#include <mpi.h>

#include "base/error.h"

namespace trainyard::comm::collective {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(ErrorKind::peer, "mpi: {}: {}", call, text);
}

}  // namespace trainyard::comm::collective
