// A CONFIG that ranks read together, each a share of its bytes. Lines may have any lengths, as other programs write
// them.
//
// What a line is follows from its number alone: of an atom's lines the first has its name. So every rank counts the
// line ends of its share, ranks tell each other, and each reads the atoms whose first line begins in its share; the
// last of them may go on in the next one. Both passes go through the file in small pieces: the second one finds them in
// the system's memory, and no text needs any of the rank's own.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/comm/communicator.h"
#include "tessera/io/text/config.h"

namespace tessera::io::text {

struct ConfigShare {
  Config config;           // the header, the same on all ranks, and the atoms of this rank in the order of the file
  std::int64_t first = 0;  // place of the first of them
  std::int64_t n_all = 0;  // atoms of all ranks
};

/// Reads a CONFIG or REVCON as read_config() does. Throws InputError, the
/// same on all ranks, with the line in the file. Collective.
ConfigShare read_config_share(const comm::Communicator& comm, const std::string& path);

}  // namespace tessera::io::text
