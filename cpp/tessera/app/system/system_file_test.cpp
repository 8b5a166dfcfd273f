#include "tessera/app/system/system_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>

#include "tessera/base/error.h"
#include "tessera/base/files/descriptor.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/io/checked_file.h"
#include "tessera/io/hdf5.h"

namespace tessera::app {
namespace {

using test::expect_says;

template <class Value>
void put(io::Hdf5File& file, const std::string& name, const std::vector<Value>& values,
         std::vector<std::int64_t> shape) {
  file.write<Value>(name, values, shape);
}

/// Makes a checked file of an HDF5 file: puts a header before it, and a table of checksums behind.
void add_checksums(const std::string& path) {
  std::string content(io::checked_header_bytes, '\0');
  std::ifstream from(path, std::ios::binary);
  content.append(std::istreambuf_iterator<char>(from), {});
  std::ofstream(path, std::ios::binary) << content;
  const auto file = Descriptor::open_to_change(path);
  const io::Region region{io::checked_header_bytes, std::ssize(content), false};
  std::vector<std::uint64_t> table;
  for (std::int64_t i = 0; i < region.n_pieces(); ++i) {
    const auto [begin, end] = region.piece(i);
    table.push_back(
        io::piece_checksum(std::as_bytes(std::span(content))
                               .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))));
  }
  io::write_checksums(file, {region}, region.end, table);
}

/// Two waters and three ions in a box of 20 Å with blocks along x. What differs from this valid file is given by name.
struct Tiny {
  std::int32_t version = 2;
  bool has_checksums = true;
  std::string format = "tessera-system";
  std::int64_t n_atoms = 9;
  std::vector<double> box = {20, 0, 0, 0, 20, 0, 0, 0, 20};
  std::int32_t periodic = 1;
  std::vector<double> origin = {};
  std::vector<std::int32_t> water_type = {0, 1, 1};
  std::vector<std::int32_t> group = {0, 0, 0};
  std::vector<std::int32_t> bond_atoms = {0, 1, 0, 2};
  std::vector<double> mass = {15.999, 1.008, 1.008};
  std::vector<std::int32_t> exclusions = {0, 1, 0, 2, 1, 2};
  std::vector<std::int64_t> runs = {0, 2, 1, 3};
  std::vector<std::int64_t> residue_numbers = {0, 2, 17, 1, 2, 3, 1, 1};
  std::vector<std::int64_t> offset = {0, 3, 5, 9};
  std::vector<std::int64_t> id = {0, 1, 2, 6, 7, 3, 4, 5, 8};
  bool has_velocity = true;
  struct Truncation {
    std::string modifier = "quintic-switch";
    double cutoff = 11.5, switch_distance = 9.5;
    std::int32_t tail = 1;
  };
  Truncation truncation = {};
  struct Sites {  // H2 between O and H1
    std::vector<std::int32_t> atom = {2}, frame = {0}, parents = {0, 0, 0, 1};
    std::vector<double> position = {0, 0, 0}, weights = {0.75, 0, 0, 0.25, 0, 0};
  };
  std::optional<Sites> sites;

  void write(const std::string& path) const {
    std::filesystem::remove(path);
    write_content(io::Hdf5File::create(path));
    if (has_checksums) add_checksums(path);
  }

  void write_content(io::Hdf5File file) const {
    file.write_text_attribute("/", "format", format);
    file.write_attribute<std::int32_t>("/", "version", std::span(&version, 1));
    const std::int32_t yes = 1;
    file.write_attribute<std::int32_t>("/", "periodic", std::span(&periodic, 1));
    if (!origin.empty()) file.write_attribute<double>("/", "origin", origin);
    const double coulomb = 332.0636;
    file.write_attribute<double>("/", "coulomb_constant", std::span(&coulomb, 1));
    file.write_text_attribute("/", "lj_rule", "lorentz-berthelot");
    file.write_text_attribute("/", "coulomb_source", "charmm");
    file.write_text_attribute("/", "lj_modifier", truncation.modifier);
    file.write_attribute<double>("/", "lj_cutoff", std::span(&truncation.cutoff, 1));
    file.write_attribute<double>("/", "lj_switch", std::span(&truncation.switch_distance, 1));
    file.write_attribute<std::int32_t>("/", "lj_tail", std::span(&truncation.tail, 1));
    file.write_attribute<std::int64_t>("/", "n_atoms", std::span(&n_atoms, 1));
    put(file, "/box", box, {static_cast<std::int64_t>(box.size()) / 3, 3});
    file.write_text("/forcefield/type_name", {"OW", "HW", "Na"});
    put<double>(file, "/forcefield/type_lj", {3.1, 0.15, 0.4, 0.046, 2.4, 0.05}, {3, 2});
    put<std::int32_t>(file, "/forcefield/nbfix_types", {0, 2}, {1, 2});
    put<double>(file, "/forcefield/nbfix_lj", {2.0, 0.5}, {1, 2});
    put<double>(file, "/forcefield/bond", {450, 0.9572}, {1, 2});
    put<double>(file, "/forcefield/cmap", std::vector<double>(32, 0.5), {2, 4, 4});
    const auto n = static_cast<std::int64_t>(water_type.size());
    file.write_text("/templates/0/atom_name", {"OH2", "H1", "H2"});
    put(file, "/templates/0/type", water_type, {n});
    put<double>(file, "/templates/0/charge", {-0.8, 0.4, 0.4}, {3});
    put(file, "/templates/0/mass", mass, {3});
    put<std::int32_t>(file, "/templates/0/atomic_number", {8, 1, 1}, {3});
    put<std::int32_t>(file, "/templates/0/residue", {0, 0, 0}, {3});
    file.write_text("/templates/0/residue_name", {"TIP3"});
    file.write_text("/templates/0/segment_name", {"W"});
    put<std::int32_t>(file, "/templates/0/residue_number", {1}, {1});
    put(file, "/templates/0/group", group, {3});
    put(file, "/templates/0/bond/atoms", bond_atoms, {2, 2});
    put<std::int32_t>(file, "/templates/0/bond/parameter", {0, 0}, {2});
    put(file, "/templates/0/exclusions", exclusions, {3, 2});
    if (sites) {
      const auto n_sites = static_cast<std::int64_t>(sites->atom.size());
      const auto n_parents = static_cast<std::int64_t>(sites->parents.size()) / 2;
      put(file, "/templates/0/virtual_site/atom", sites->atom, {n_sites});
      put(file, "/templates/0/virtual_site/frame", sites->frame, {n_sites});
      put(file, "/templates/0/virtual_site/position", sites->position, {n_sites, 3});
      put(file, "/templates/0/virtual_site/parents", sites->parents, {n_parents, 2});
      put(file, "/templates/0/virtual_site/weights", sites->weights, {n_parents, 3});
    }
    file.write_text_attribute("/templates/0", "name", "water");
    file.write_attribute<std::int32_t>("/templates/0", "rigid_water", std::span(&yes, 1));
    const std::vector<double> settle = {0.9572, 1.5139};
    file.write_attribute<double>("/templates/0", "settle", settle);
    file.write_text("/templates/1/atom_name", {"SOD"});
    for (const char* name : {"charge", "mass"}) put<double>(file, std::string("/templates/1/") + name, {1}, {1});
    put<std::int32_t>(file, "/templates/1/type", {2}, {1});
    for (const char* name : {"atomic_number", "residue", "residue_number", "group"})
      put<std::int32_t>(file, std::string("/templates/1/") + name, {0}, {1});
    file.write_text("/templates/1/residue_name", {"SOD"});
    file.write_text("/templates/1/segment_name", {"ION"});
    put(file, "/instances/runs", runs, {static_cast<std::int64_t>(runs.size()) / 2, 2});
    put(file, "/instances/residue_numbers", residue_numbers,
        {static_cast<std::int64_t>(residue_numbers.size()) / 4, 4});
    const auto rows = static_cast<std::int64_t>(id.size());
    put(file, "/coordinates/id", id, {rows});
    std::vector<std::int32_t> fraction(id.size() * 3);
    for (std::size_t i = 0; i < fraction.size(); ++i) fraction[i] = static_cast<std::int32_t>(i) * 1000 - 5;
    put(file, "/coordinates/fraction", fraction, {rows, 3});
    if (has_velocity)
      put(file, "/coordinates/velocity", std::vector<double>(fraction.begin(), fraction.end()), {rows, 3});
    put<std::int32_t>(file, "/coordinates/block_grid", {3, 1, 1}, {3});
    put(file, "/coordinates/block_offset", offset, {static_cast<std::int64_t>(offset.size())});
  }
};

class SystemFile : public testing::Test {
 protected:
  SystemFile() : folder_(testing::TempDir() + "tessera_system_" + std::to_string(getpid())) {
    std::filesystem::create_directory(folder_);
  }
  ~SystemFile() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/tiny.tsr"; }

  /// Returns what reading a changed file says.
  std::string message(const std::function<void(Tiny&)>& change) {
    Tiny tiny;
    change(tiny);
    tiny.write(path());
    return message();
  }
  std::string message() {
    return test::message_of<InputError>([&] {
      read_system(path());
      read_coordinates(path(), 0, 1);
    });
  }

  std::string folder_;
};

TEST_F(SystemFile, ReadsTheSystem) {
  Tiny{}.write(path());
  const auto system = read_system(path());
  EXPECT_EQ(system.n_atoms(), 9);
  EXPECT_EQ(system.templates.at(0).name, "water");
  EXPECT_TRUE(system.templates.at(0).rigid_water);
  EXPECT_EQ(system.templates.at(0).water_hh, 1.5139);
  EXPECT_EQ(system.templates.at(0).terms[model::bond].atoms.at(1), (std::array<std::int32_t, 2>{0, 2}));
  EXPECT_EQ(system.force_field.parameters[model::cmap].size(), 2U);
  EXPECT_EQ(system.box.edges()[2], 20.0);
  EXPECT_EQ(system.describe(3), "atom 4 (TIP3 18 OH2)");
  const auto ab = system.force_field.lj(2, 0);
  EXPECT_DOUBLE_EQ(ab.b, 4 * 0.5 * 64);
  EXPECT_DOUBLE_EQ(ab.a, 4 * 0.5 * 4096);
}

TEST_F(SystemFile, KeepsHowTheSourceEndsLennardJones) {
  const auto read = [&](const Tiny& tiny) {
    tiny.write(path());
    return read_system(path()).lj_truncation;
  };
  Tiny tiny;
  const auto own = read(tiny);
  EXPECT_EQ(own.modifier, model::LjModifier::quintic_switch);
  EXPECT_EQ(own.cutoff, 11.5);
  EXPECT_EQ(own.switch_distance, 9.5);
  EXPECT_TRUE(own.has_tail);
  const auto refused = [&](auto&& change) { return message([&](Tiny& t) { change(t, t.truncation); }); };
  expect_says(refused([](Tiny&, auto& lj) { lj.modifier = "soft"; }),
              "lj_modifier is \"soft\", expected one of \"cut\"");
  expect_says(refused([](Tiny&, auto& lj) { lj.cutoff = std::numeric_limits<double>::quiet_NaN(); }),
              "lj_cutoff is nan");
  expect_says(refused([](Tiny&, auto& lj) { lj.cutoff = -1; }), "lj_cutoff is -1");
  expect_says(refused([](Tiny&, auto& lj) { lj.switch_distance = 11.5; }), "lj_switch is 11.5");
}

TEST_F(SystemFile, RanksShareWholeBlocks) {
  Tiny tiny;
  tiny.write(path());
  for (const int size : {1, 2, 3, 4, 7, 20}) {
    std::vector<std::int64_t> ids;
    for (int rank = 0; rank < size; ++rank) {
      const auto block = read_coordinates(path(), rank, size);
      EXPECT_EQ(block.fraction.size(), block.id.size());
      EXPECT_EQ(block.velocity.size(), block.id.size());
      for (std::size_t i = 0; i < block.id.size(); ++i) {
        const auto row = static_cast<std::int32_t>(ids.size() + i);
        EXPECT_EQ(block.fraction[i].y, (3 * row + 1) * 1000 - 5);
        EXPECT_EQ(block.velocity[i].z, (3 * row + 2) * 1000 - 5);
      }
      ids.insert(ids.end(), block.id.begin(), block.id.end());
    }
    EXPECT_EQ(ids, tiny.id) << size << " ranks";
  }
  // Nearest boundary: nine rows on two ranks part at 5, not at 3.
}

TEST_F(SystemFile, VelocitiesMayBeAbsent) {
  Tiny tiny;
  tiny.has_velocity = false;
  tiny.write(path());
  EXPECT_TRUE(read_coordinates(path(), 0, 1).velocity.empty());
}

TEST_F(SystemFile, RefusesWhatIsNoSystemFile) {
  expect_says(message(), "there is no such file");
  std::ofstream(path()) << "not HDF5";
  expect_says(message(), "is not an HDF5 file");
  expect_says(message([](Tiny& t) { t.format = "else"; }), "not a system file");
  expect_says(message([](Tiny& t) { t.version = 5; }), "use a newer tessera");
  expect_says(message([](Tiny& t) { t.version = 1, t.has_checksums = false; }),
              path() +
                  ": is a system file of version 1, this tessera reads versions 2 to 4: make it again with "
                  "`tessera prepare`");
  expect_says(message([](Tiny& t) { t.has_checksums = false; }), "its checksums are missing");
  Tiny{}.write(path());
  const auto size = std::filesystem::file_size(path());
  std::filesystem::resize_file(path(), size / 2);
  expect_says(message(), "bytes, expected");
  EXPECT_EQ(message([](Tiny&) {}), "");
}

TEST_F(SystemFile, AVacuumHasAFrameAndAnOrigin) {
  Tiny tiny;
  tiny.periodic = 0;
  tiny.origin = {900, 0, -3};
  tiny.write(path());
  EXPECT_EQ(norm2(read_system(path()).origin - Vec3{900, 0, -3}), 0);
  Tiny{}.write(path());
  EXPECT_EQ(norm2(read_system(path()).origin), 0);
  expect_says(message([](Tiny& t) { t.origin = {900, 0, -3}; }), "attribute origin is that of a vacuum");
  expect_says(message([](Tiny& t) { t.periodic = 0, t.origin = {900, 0}; }), "attribute origin has 2 numbers");
  expect_says(message([](Tiny& t) { t.periodic = 0, t.box[3] = 5; }), "edges that are not along the axes");
}

TEST_F(SystemFile, RefusesIndicesOutOfRange) {
  expect_says(message([](Tiny& t) { t.water_type = {0, 1, 3}; }), "/templates/0/type names row 3, expected 0 to 2");
  expect_says(message([](Tiny& t) { t.group = {1, 0, 0}; }), "which is in the group of atom");
  expect_says(message([](Tiny& t) { t.bond_atoms = {0, 1, 0, -1}; }), "bond/atoms names row -1");
  expect_says(message([](Tiny& t) { t.exclusions = {0, 1, 2, 0, 1, 2}; }), "expected i < j");
  expect_says(message([](Tiny& t) { t.mass[2] = 0; }), "atom 3 (H2) the mass 0");
  expect_says(message([](Tiny& t) { t.runs = {0, 2, 2, 3}; }), "/instances/runs names row 2");
  expect_says(message([](Tiny& t) { t.residue_numbers[4] = 1; }), "numbers 3 molecules from 1");
  expect_says(message([](Tiny& t) { t.residue_numbers[5] = 4; }), "rows in order within 5 molecules");
  expect_says(message([](Tiny& t) { t.residue_numbers[1] = 0; }), "numbers 0 molecules from 0");
  expect_says(message([](Tiny& t) { t.runs = {0, 2, 1, 4}; }), "its instances make 10 atoms");
  expect_says(message([](Tiny& t) { t.box[1] = 1; }), "lower triangular");
  expect_says(message([](Tiny& t) { t.box[0] = std::numeric_limits<double>::quiet_NaN(); }), "holds nan");
  expect_says(message([](Tiny& t) { t.water_type = {0, 1}; }), "has 3 rows, expected 2");
  expect_says(message([](Tiny& t) { t.offset = {0, 5, 3, 9}; }), "does not rise");
  expect_says(message([](Tiny& t) { t.id[4] = 9; }), "names atom 9 of 9");
}

TEST_F(SystemFile, ReadsVirtualSites) {
  Tiny tiny;
  tiny.mass[2] = 0;
  tiny.sites = Tiny::Sites{};
  tiny.sites->frame = {2};
  tiny.sites->position = {0.1, 0, 0};
  tiny.sites->weights = {1, -1, 0, 0, 1, 0};
  tiny.write(path());
  const auto system = read_system(path());
  ASSERT_EQ(system.templates[0].virtual_sites.size(), 1u);
  const auto& site = system.templates[0].virtual_sites[0];
  EXPECT_EQ(site.atom, 2);
  EXPECT_EQ(site.frame, model::SiteFrame::orthonormal);
  EXPECT_EQ(site.position[0], 0.1);
  ASSERT_EQ(site.parents.size(), 2u);
  EXPECT_EQ(site.parents[1].atom, 1);
  EXPECT_EQ(site.parents[1].x, 1);
  EXPECT_EQ(system.n_virtual_sites(), 2);
}

TEST_F(SystemFile, RefusesBadVirtualSites) {
  const auto with = [&](const std::function<void(Tiny&, Tiny::Sites&)>& change) {
    return message([&](Tiny& t) {
      t.mass[2] = 0;
      Tiny::Sites sites;
      change(t, sites);
      t.sites = sites;
    });
  };
  EXPECT_EQ(with([](Tiny&, Tiny::Sites&) {}), "");
  expect_says(with([](Tiny& t, Tiny::Sites&) { t.mass[2] = 1; }), "makes atom 3 (H2) a virtual site, but its mass is");
  expect_says(with([](Tiny& t, Tiny::Sites&) { t.mass[1] = 0; }), "atom 2 (H1) the mass 0; every atom that is not a");
  expect_says(with([](Tiny&, Tiny::Sites& s) { s.atom = {3}; }), "virtual_site/atom names row 3");
  expect_says(with([](Tiny&, Tiny::Sites& s) { s.frame = {3}; }), "virtual_site/frame names row 3");
  expect_says(with([](Tiny&, Tiny::Sites& s) { s.parents = {0, 0, 0, 3}; }), "virtual_site/parents names row 3");
  expect_says(with([](Tiny&, Tiny::Sites& s) { s.parents = {0, 0, 1, 1}; }), "virtual_site/parents names row 1");
  expect_says(with([](Tiny&, Tiny::Sites& s) {
                s.parents = {0, 0, 0, 2};
              }),
              "gives the site 3 (H2) the parent 3 (H2), which is a virtual site itself");
  expect_says(with([](Tiny& t, Tiny::Sites&) { t.group = {0, 1, 0}; }), "the parent 2 (H1) of another hydrogen group");
  expect_says(with([](Tiny&, Tiny::Sites& s) { s.weights[0] = 0.5; }), "weights that sum to 0.75, 0 and 0, expected 1");
}

/// For bench/io/setup.py, which names a large file.
TEST(LargeSystemFile, AShareOfManyRanksIsReadAlone) {
  const char* path = std::getenv("TESSERA_LARGE_SYSTEM");
  if (path == nullptr) GTEST_SKIP() << "TESSERA_LARGE_SYSTEM names no system file";
  const int ranks = std::atoi(std::getenv("TESSERA_LARGE_RANKS"));
  const auto begin = std::chrono::steady_clock::now();
  const auto system = read_system(std::string(path));
  const auto share = read_coordinates(std::string(path), ranks / 3, ranks);
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::cout << "atoms " << share.id.size() << " of " << system.n_atoms() << " seconds " << seconds << " peak_MB "
            << static_cast<double>(usage.ru_maxrss) / 1024 << "\n";
  EXPECT_NEAR(static_cast<double>(share.id.size()), static_cast<double>(system.n_atoms()) / ranks, 2000);
}

}  // namespace
}  // namespace tessera::app
