/* Lets ranks of one machine pretend to be on two hosts in turn, to MPI's users but not to MPI. */
#include <stdio.h>
#include <stdlib.h>

int PMPI_Get_processor_name(char* name, int* length) {
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!rank) rank = getenv("PMI_RANK");
  *length = sprintf(name, "n%d", rank ? atoi(rank) % 2 : 0);
  return 0;
}
