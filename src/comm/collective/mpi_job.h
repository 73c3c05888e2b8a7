#pragma once

namespace trainyard::comm::collective {

// How many ranks mpirun or srun started together with this process; 0: it was started by neither.
int mpi_job_ranks();

}  // namespace trainyard::comm::collective
