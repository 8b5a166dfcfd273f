// Serial direct access: the master alone writes, all others send to it in turn.
#include "tessera/io/write/method.h"
#include "tessera/io/write/new_file.h"

namespace tessera::io::write {

const Method sdaw{"sdaw", "serial direct access: the master writes, others send to it in turn", any_format, plan_root,
                  write_directly<&WriteJob::write_in_turn>};

}  // namespace tessera::io::write
