// Parallel direct access: every writer writes its own range of one file by pwrite.
#include "tessera/io/write/method.h"
#include "tessera/io/write/new_file.h"

namespace tessera::io::write {

const Method pdaw{"pdaw", "parallel direct access: writers write ranges of one file by pwrite", any_format,
                  plan_all_ranks, write_directly<&WriteJob::write_batches>};

}  // namespace tessera::io::write
