#include "tessera/machine/hostfile.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"

namespace tessera::machine {
namespace {

using tessera::test::message_of;

const Network pair = one_switch({{"n0", 2, std::nullopt}, {"n1.site.int", 2, std::nullopt}}, {1e-4, 1e8});

TEST(HostFile, OneLineARank) {
  const RankOrder order = {0, 1, 0, 1};
  EXPECT_EQ(host_file(pair, order, host_file_format("openmpi")),
            "# Open MPI: mpirun -n 4 --hostfile THIS_FILE --map-by seq PROGRAM\nn0\nn1.site.int\nn0\nn1.site.int\n");
  EXPECT_EQ(host_file(pair, order, host_file_format("slurm")),
            "# Slurm: SLURM_HOSTFILE=THIS_FILE srun -n 4 --distribution=arbitrary PROGRAM\n"
            "n0\nn1.site.int\nn0\nn1.site.int\n");
  EXPECT_EQ(host_file(pair, {1}, host_file_format("plain")), "# the host of each of 1 ranks in turn\nn1.site.int\n");
}

/// The behaviour is that of MPICH 5.0.2: hosts a:1, b:1 and 4 ranks give a b a b on two nodes; a b a b in four lines
/// give four nodes.
TEST(HostFile, MpichGoesRound) {
  const auto lines = [](const RankOrder& order) {
    const auto text = host_file(pair, order, HostFileFormat::mpich);
    return text.substr(text.find('\n') + 1);
  };
  EXPECT_EQ(lines({0, 1, 0, 1}), "n0:1\nn1.site.int:1\n");
  EXPECT_EQ(lines({0, 1, 0}), "n0:1\nn1.site.int:1\n");
  EXPECT_EQ(lines({0, 0, 1, 1}), "n0:2\nn1.site.int:2\n");
  EXPECT_EQ(lines({0, 0, 0}), "n0:1\n");
  EXPECT_EQ(lines({0, 1, 1, 0}), "n0:1\nn1.site.int:2\n");
  EXPECT_EQ(lines({0, 1, 0, 0}),
            "# Hosts are listed more than once: MPICH does not use shared memory between ranks of different lines.\n"
            "n0:1\nn1.site.int:1\nn0:1\n");
}

TEST(HostFile, UnknownFormat) {
  EXPECT_EQ(message_of<InputError>([] { host_file_format("mpch"); }),
            "no host file format is called \"mpch\"; did you mean \"mpich\"?");
}

}  // namespace
}  // namespace tessera::machine
