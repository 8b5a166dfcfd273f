// Parallel HDF5: the records of the format binary as one dataset `atoms`, which all ranks write at once.
#include <fmt/format.h>
#include <hdf5.h>
#include <mpi.h>

#include <optional>
#include <string>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/programs/io/libraries/library_file.h"
#include "tessera/programs/io/library_methods.h"

#ifndef H5_HAVE_PARALLEL
#error "this HDF5 is not built for MPI; install libhdf5-openmpi-dev"
#endif

namespace tessera::programs {

namespace {

using io::write::WriteJob;

/// An identifier of the library, closed by its own function.
class Handle {
 public:
  Handle(hid_t id, herr_t (*its_close)(hid_t)) : id_(id), close_(its_close) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  hid_t id() const { return id_; }
  herr_t close() { return close_(std::exchange(id_, -1)); }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// Returns the innermost of the library's errors.
std::string last_error() {
  std::string text;
  const auto take = [](unsigned, const H5E_error2_t* error, void* out) -> herr_t {
    *static_cast<std::string*>(out) = error->desc ? error->desc : "";
    return 1;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take, &text);
  H5Eclear2(H5E_DEFAULT);
  return text.empty() ? "unknown error" : text;
}

/// All functions are collective.
class LibraryFile {
 public:
  LibraryFile(std::string path, const WriteJob& job)
      : path_(std::move(path)),
        for_all_(checked(H5Pcreate(H5P_DATASET_XFER)), H5Pclose),
        record_(checked(H5Tcreate(H5T_COMPOUND, static_cast<std::size_t>(job.format().atom_bytes))), H5Tclose),
        file_(checked(create(path_)), H5Fclose) {
    check(H5Pset_dxpl_mpio(for_all_.id(), H5FD_MPIO_COLLECTIVE));
    const Handle name(checked(H5Tcopy(H5T_C_S1)), H5Tclose);
    check(H5Tset_size(name.id(), 8));
    check(H5Tset_strpad(name.id(), H5T_STR_NULLPAD));
    constexpr hsize_t three[] = {3}, cell[] = {3, 3};
    const Handle position(checked(H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, three)), H5Tclose);
    check(H5Tinsert(record_.id(), "id", 0, H5T_NATIVE_INT64));
    check(H5Tinsert(record_.id(), "name", 8, name.id()));
    check(H5Tinsert(record_.id(), "position", 16, position.id()));

    const auto n_atoms = static_cast<hsize_t>(job.n_atoms());
    const Handle space(checked(H5Screate_simple(1, &n_atoms, nullptr)), H5Sclose);
    const Handle layout(checked(H5Pcreate(H5P_DATASET_CREATE)), H5Pclose);
    check(H5Pset_alloc_time(layout.id(), H5D_ALLOC_TIME_EARLY));
    check(H5Pset_fill_time(layout.id(), H5D_FILL_TIME_NEVER));
    atoms_.emplace(
        checked(H5Dcreate2(file_.id(), "atoms", record_.id(), space.id(), H5P_DEFAULT, layout.id(), H5P_DEFAULT)),
        H5Dclose);
    const auto& frame = job.frame();
    const Handle box(checked(H5Screate_simple(2, cell, nullptr)), H5Sclose),
        scalar(checked(H5Screate(H5S_SCALAR)), H5Sclose);
    add("cell", H5T_NATIVE_DOUBLE, box, frame.cell.data());  // Å
    add("periodicity", H5T_NATIVE_INT, scalar, &frame.periodicity);
    add("step", H5T_NATIVE_INT64, scalar, &frame.moment.step);
    add("time", H5T_NATIVE_DOUBLE, scalar, &frame.moment.time);  // ps
    if (!frame.title.empty()) {
      const Handle title(checked(H5Tcopy(H5T_C_S1)), H5Tclose);
      check(H5Tset_size(title.id(), frame.title.size()));
      add("title", title.id(), scalar, frame.title.data());
    }
  }

  /// Returns the bytes of the file, with those of all records.
  std::int64_t size() const {
    hsize_t bytes = 0;
    check(H5Fget_filesize(file_.id(), &bytes));
    return static_cast<std::int64_t>(bytes);
  }

  /// Writes n records of this rank, of which there may be none.
  void write(const std::byte* records, hsize_t first, hsize_t n) {
    const Handle there(checked(H5Dget_space(atoms_->id())), H5Sclose);
    const Handle here(checked(H5Screate_simple(1, &n, nullptr)), H5Sclose);
    check(n > 0 ? H5Sselect_hyperslab(there.id(), H5S_SELECT_SET, &first, nullptr, &n, nullptr)
                : H5Sselect_none(there.id()));
    check(H5Dwrite(atoms_->id(), record_.id(), here.id(), there.id(), for_all_.id(), records));
  }

  void close() {
    check(H5Fflush(file_.id(), H5F_SCOPE_GLOBAL));  // brings it to the disk, by MPI_File_sync
    check(atoms_->close());
    check(file_.close());
  }

 private:
  static hid_t create(const std::string& path) {
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    if (H5Pset_fapl_mpio(access.id(), MPI_COMM_WORLD, MPI_INFO_NULL) < 0) return -1;
    return H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id());
  }

  template <class Value>
  Value checked(Value value) const {
    if (value < 0)
      throw RunError(fmt::format("{}: can't write to the file by HDF5: {}", path_, reason(path_, last_error())));
    return value;
  }
  void check(herr_t status) const { checked(status); }

  void add(const char* name, hid_t type, const Handle& space, const void* value) const {
    const Handle attribute(checked(H5Acreate2(atoms_->id(), name, type, space.id(), H5P_DEFAULT, H5P_DEFAULT)),
                           H5Aclose);
    check(H5Awrite(attribute.id(), type, value));
  }

  std::string path_;
  Handle for_all_, record_, file_;
  std::optional<Handle> atoms_;
};

void write(WriteJob& job) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  io::write::NewFile file(job);
  std::optional<LibraryFile> open;
  job.attempt([&] { open.emplace(file.temporary_path(), job); });
  job.agree();
  reserve(job, file, open->size());
  const auto header = std::ssize(job.header()), record = job.format().atom_bytes;
  job.write_batches([&](std::span<const std::byte> bytes, std::int64_t offset) {
    if (!bytes.empty() && offset < header) {  // HDF5 has a header of its own
      bytes = bytes.subspan(static_cast<std::size_t>(header - offset));
      offset = header;
    }
    job.attempt_together([&](bool has_failed) {
      const auto n = has_failed ? 0 : static_cast<hsize_t>(std::ssize(bytes) / record);
      open->write(bytes.data(), n > 0 ? static_cast<hsize_t>((offset - header) / record) : 0, n);
    });
  });
  job.attempt_together([&](bool) { open->close(); });
  if (job.comm().is_root()) job.attempt([&] { file.open().synchronize(); });
  file.commit();
}

const io::write::Method method{"phdf5", "parallel HDF5: all ranks write records of the format binary as one dataset",
                               [](const io::write::Format& format) { return std::string(format.name) == "binary"; },
                               io::write::plan_all_ranks, write};
const io::write::Method* const methods[] = {&method};

}  // namespace

std::span<const io::write::Method* const> library_methods() { return methods; }

}  // namespace tessera::programs
