#include "tessera/io/hdf5.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/io/hdf5_handles.h"
#include "tessera/io/hdf5_mark.h"
#include "tessera/io/large_pages.h"

namespace tessera::io {

using namespace hdf5;

namespace {

template <class Value>
std::string type_name() {
  return fmt::format("{}{}", std::is_floating_point_v<Value> ? "float" : "int", 8 * sizeof(Value));
}

[[noreturn]] void fail_to_write(const std::string& path, const std::string& what) {
  throw RunError(fmt::format("{}: {}: {}", path, what, write_error()));
}

/// Refuses a stored type whose values do not fit into the requested type.
template <class Value>
void check_type(const std::string& path, const std::string& what, hid_t stored) {
  const H5T_class_t kind = H5Tget_class(stored);
  const std::size_t size = H5Tget_size(stored);
  const bool fits = kind == H5T_INTEGER ? (std::is_floating_point_v<Value> || size <= sizeof(Value))
                                        : (kind == H5T_FLOAT && std::is_floating_point_v<Value>);
  if (fits) return;
  const std::string found = kind == H5T_INTEGER  ? fmt::format("int{}", 8 * size)
                            : kind == H5T_FLOAT  ? fmt::format("float{}", 8 * size)
                            : kind == H5T_STRING ? "text"
                                                 : "another type";
  refuse(path, fmt::format("{} holds {}, expected {}; write the file again with this version of tessera", what, found,
                           type_name<Value>()));
}

/// Allocates an array of these dimensions. Throws InputError first where a file of this size can't hold so many
/// elements, even compressed.
template <class Value>
std::vector<Value> room_for(const std::string& path, const std::string& what, const std::vector<hsize_t>& dimensions) {
  constexpr double greatest_compression = 1100;  // deflate: 1032
  double elements = 1;
  for (const auto extent : dimensions) elements *= static_cast<double>(extent);
  std::error_code error;
  const auto bytes = static_cast<double>(std::filesystem::file_size(path, error));
  if (elements > 1e6 + greatest_compression * bytes)
    refuse(path,
           fmt::format("{} claims {:.3g} elements, more than the file can hold; it is damaged: copy it again or make "
                       "it again",
                       what, elements));
  return zeros_in_large_pages<Value>(static_cast<std::size_t>(elements));
}

/// Returns properties without locks: a reader may look at a trajectory while it grows, and parallel file systems often
/// have none.
Handle access_properties() {
  const hid_t id = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_file_locking(id, 0, 1);
  // Of a growing file HDF5 reads a block again where its checksum is wrong, after twice as long each time.
  H5Pset_metadata_read_attempts(id, 20);
  return {id, H5Pclose};
}

/// Reads texts of either kind of HDF5 string, fixed or variable length; `read(type, buffer)` reads all of them.
template <class Read>
std::vector<std::string> texts(hid_t type, hid_t space, Read&& read) {
  const auto n = static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space)));
  std::vector<std::string> values(n);
  if (n == 0) return values;
  if (H5Tis_variable_str(type) > 0) {
    std::vector<char*> pointers(n, nullptr);
    const Handle memory(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(memory, H5T_VARIABLE);
    H5Tset_cset(memory, H5Tget_cset(type));
    if (read(memory, pointers.data()) < 0) return {};
    for (std::size_t i = 0; i < n; ++i) values[i] = pointers[i] ? pointers[i] : "";
    H5Dvlen_reclaim(memory, space, H5P_DEFAULT, pointers.data());
    return values;
  }
  const std::size_t width = H5Tget_size(type);
  std::vector<char> buffer(n * width);
  if (read(type, buffer.data()) < 0) return {};
  for (std::size_t i = 0; i < n; ++i) {
    values[i].assign(buffer.data() + i * width, width);
    values[i].resize(values[i].find_last_not_of(std::string("\0 ", 2)) + 1);
  }
  return values;
}

void write_texts(const std::string& path, hid_t file, const std::string& object, const std::string& name,
                 const std::vector<std::string>& values, H5S_class_t kind) {
  silence();
  const hsize_t n = values.size();
  const Handle space(kind == H5S_SCALAR ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, nullptr), H5Sclose);
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, H5T_VARIABLE);  // what h5py gives as text; fixed lengths come as bytes
  H5Tset_cset(type, H5T_CSET_UTF8);
  std::vector<const char*> pointers;
  for (const auto& value : values) pointers.push_back(value.c_str());
  const Handle id(
      H5Acreate_by_name(file, object.c_str(), name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  if (!id.is_valid() || H5Awrite(id, type, static_cast<const void*>(pointers.data())) < 0)
    fail_to_write(path, fmt::format("attribute {} of {} can't be written", name, object));
}

}  // namespace

void Hdf5File::fail_write(const std::string& what) { fail_write(what, write_error()); }

void Hdf5File::fail_write(const std::string& what, const std::string& reason) {
  has_failed_ = true;
  if (growing_) clear_open_mark(*growing_);
  throw RunError(fmt::format("{}: {}: {}", path_, what, reason));
}

Hdf5File Hdf5File::open(const std::string& path) {
  silence();
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) refuse(path, "there is no such file; check the path");
  if (error) refuse(path, fmt::format("can't be read: {}", system_error_text(error.value())));
  if (std::filesystem::is_directory(status)) refuse(path, "is a folder, expected an HDF5 file");
  if (!std::filesystem::is_regular_file(status)) refuse(path, "is a device, a pipe or the like, expected an HDF5 file");
  auto checked = CheckedFile::find(path);
  const htri_t is_hdf5 = H5Fis_hdf5(path.c_str());
  if (is_hdf5 == 0) refuse(path, "is not an HDF5 file (or was cut off at its very start); make it again");
  const Handle properties = access_properties();  // closed last: closing it would wipe the error out
  hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, properties);
  // A writer that was killed between HDF5's superblock and clear_open_mark left the mark that readers of growing files
  // pass over.
  if (id < 0 && stack_text().find("already open") != std::string::npos)
    id = H5Fopen(path.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, properties);
  if (id < 0) {
    const std::string text = stack_text();
    if (text.find("truncated") != std::string::npos)
      refuse(path, fmt::format("is truncated ({} bytes are left); copy it again or make it again",
                               std::filesystem::file_size(path, error)));
    if (text.find("Permission denied") != std::string::npos) refuse(path, "may not be read; check its permissions");
    refuse(path, fmt::format("can't be opened as an HDF5 file: {}; copy it again or make it again", last_error()));
  }
  return {path, id, std::move(checked)};
}

Hdf5File Hdf5File::open_image(const std::string& name, std::span<const std::byte> image) {
  silence();
  auto checked = CheckedFile::find(name, image);
  const Handle properties = access_properties();
  H5Pset_fapl_core(properties, 1 << 20, 0);
  H5Pset_file_image(properties, const_cast<std::byte*>(image.data()), image.size());
  const hid_t id = H5Fopen(name.c_str(), H5F_ACC_RDONLY, properties);
  if (id < 0) refuse(name, fmt::format("is no image of an HDF5 file: {}", last_error()));
  return {name, id, std::move(checked)};
}

Hdf5File Hdf5File::open_to_append(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) refuse(path, "there is no such file; check the path");
  silence();
  const Handle properties = access_properties();
  H5Pset_libver_bounds(properties, H5F_LIBVER_V110, H5F_LIBVER_LATEST);
  const hbool_t yes = 1;  // what `h5clear --status` sets: a mark left by a run that was killed does not count
  H5Pset(properties, "clear_status_flags", &yes);
  const hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDWR, properties);
  // The superblock of a run that was killed may not know yet of the last blocks that the index points to.
  if (id < 0 || H5Fincrement_filesize(id, 0) < 0)
    refuse(path, fmt::format("can't be opened to be continued: {}; remove it to begin it anew", last_error()));
  return {path, id};
}

Hdf5File Hdf5File::create(const std::string& path) {
  silence();
  const Handle properties = access_properties();
  H5Pset_libver_bounds(properties, H5F_LIBVER_V110, H5F_LIBVER_LATEST);  // start_growing needs it
  // A process that is killed stops writing between two pages of memory: with the file in pages, no block of the index
  // of up to a page's size lies across two of them, so each is there old or new, never torn.
  const Handle layout = creation_properties(H5P_FILE_CREATE);
  H5Pset_file_space_strategy(layout, H5F_FSPACE_STRATEGY_PAGE, false, 1);
  H5Pset_file_space_page_size(layout, static_cast<hsize_t>(sysconf(_SC_PAGESIZE)));
  const hid_t id = H5Fcreate(path.c_str(), H5F_ACC_EXCL, layout, properties);
  if (id < 0) fail_to_write(path, "can't be made");
  return {path, id};
}

Hdf5File::Hdf5File(Hdf5File&& other) noexcept
    : path_(std::move(other.path_)),
      handle_(std::exchange(other.handle_, -1)),
      checked_(std::move(other.checked_)),
      growing_(std::move(other.growing_)),
      chunk_places_(std::move(other.chunk_places_)),
      has_failed_(other.has_failed_) {}

Hdf5File& Hdf5File::operator=(Hdf5File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(handle_, other.handle_);
  std::swap(checked_, other.checked_);
  std::swap(growing_, other.growing_);
  std::swap(chunk_places_, other.chunk_places_);
  std::swap(has_failed_, other.has_failed_);
  return *this;
}

Hdf5File::~Hdf5File() {
  if (handle_ >= 0 && !has_failed_) H5Fclose(handle_);
}

bool Hdf5File::has(const std::string& name) const {
  silence();
  // H5Lexists asks for one link of the path at a time.
  for (std::size_t end = name.find('/', 1);; end = name.find('/', end + 1)) {
    const std::string prefix = name.substr(0, end);
    const htri_t found = prefix == "/" ? 1 : H5Lexists(handle_, prefix.c_str(), H5P_DEFAULT);
    if (found == 0) return false;
    if (found < 0 || H5Oexists_by_name(handle_, prefix.c_str(), H5P_DEFAULT) <= 0)
      refuse(path_, fmt::format("it can't be told whether it has {}: {}; the file is damaged: copy it again or make it "
                                "again",
                                name, last_error()));
    if (end == std::string::npos) return true;
  }
}

std::vector<std::int64_t> Hdf5File::shape(const std::string& dataset) const {
  const Handle set = open_dataset(path_, handle_, dataset);
  const Handle space(H5Dget_space(set), H5Sclose);
  const auto dimensions = extents(space);
  return {dimensions.begin(), dimensions.end()};
}

template <class Value>
bool Hdf5File::read_checked(std::int64_t set, std::int64_t type, std::int64_t first_value, std::int64_t count,
                            const CheckedFile::Take& take) const {
  if (!checked_ || count == 0) return false;
  const haddr_t offset = H5Dget_offset(set);
  if (offset == HADDR_UNDEF || !checked_->is_bulk(static_cast<std::int64_t>(offset))) return false;
  if (H5Tget_size(type) != sizeof(Value))
    refuse(path_, "a bulk array has numbers of another size; make the file again");
  const auto bytes = static_cast<std::int64_t>(sizeof(Value));
  const auto begin = static_cast<std::int64_t>(offset) + first_value * bytes;
  const CheckedFile::Range range{begin, begin + count * bytes};
  const bool is_ours = H5Tequal(type, memory_type<Value>()) > 0;
  checked_->read(
      std::span(&range, 1), is_ours ? take : [](auto&&...) {});
  return is_ours;
}

template <class Value>
bool Hdf5File::read_checked(std::int64_t set, std::int64_t type, std::int64_t first_value,
                            std::vector<Value>& values) const {
  const auto bytes = std::as_writable_bytes(std::span(values));
  return read_checked<Value>(set, type, first_value, std::ssize(values),
                             [&](std::size_t /*range*/, std::int64_t done, std::span<const std::byte> some) {
                               std::memcpy(bytes.data() + done, some.data(), some.size());
                             });
}

template <class Value>
std::vector<Value> Hdf5File::read(const std::string& dataset) const {
  const Handle set = open_dataset(path_, handle_, dataset);
  const Handle type(H5Dget_type(set), H5Tclose), space(H5Dget_space(set), H5Sclose);
  check_type<Value>(path_, "dataset " + dataset, type);
  auto values = room_for<Value>(path_, "dataset " + dataset, extents(space));
  if (read_checked(set, type, 0, values)) return values;
  if (!values.empty() && H5Dread(set, memory_type<Value>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    refuse(path_,
           fmt::format("dataset {} can't be read: {}; copy the file again or make it again", dataset, last_error()));
  return values;
}

namespace {

/// A dataset of which some rows are to be read.
template <class Value>
struct Rows {
  Handle set, type, space;
  std::vector<hsize_t> dimensions, start;  // of what is to be read

  Rows(const std::string& path, hid_t file, const std::string& dataset, std::int64_t begin, std::int64_t count)
      : set(open_dataset(path, file, dataset)), type(H5Dget_type(set), H5Tclose), space(H5Dget_space(set), H5Sclose) {
    check_type<Value>(path, "dataset " + dataset, type);
    dimensions = extents(space);
    if (dimensions.empty() || begin < 0 || count < 0 || begin + count > static_cast<std::int64_t>(dimensions[0]))
      refuse(path, fmt::format("dataset {} has {} rows, expected rows {} to {}; the file is incomplete", dataset,
                               dimensions.empty() ? 0 : dimensions[0], begin, begin + count));
    start.assign(dimensions.size(), 0);
    start[0] = static_cast<hsize_t>(begin);
    dimensions[0] = static_cast<hsize_t>(count);
  }

  std::int64_t values_of_row() const { return static_cast<std::int64_t>(product(dimensions, 1)); }

  /// Reads the selected rows by HDF5.
  void read(const std::string& path, const std::string& dataset, std::vector<Value>& values) const {
    const Handle memory(H5Screate_simple(static_cast<int>(dimensions.size()), dimensions.data(), nullptr), H5Sclose);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, dimensions.data(), nullptr);
    if (H5Dread(set, memory_type<Value>(), memory, space, H5P_DEFAULT, values.data()) < 0)
      refuse(path, fmt::format("rows {} to {} of dataset {} can't be read: {}; copy the file again or make it again",
                               start[0], start[0] + dimensions[0], dataset, last_error()));
  }
};

}  // namespace

template <class Value>
std::vector<Value> Hdf5File::read_rows(const std::string& dataset, std::int64_t begin, std::int64_t count) const {
  const Rows<Value> rows(path_, handle_, dataset, begin, count);
  auto values = room_for<Value>(path_, "dataset " + dataset, rows.dimensions);
  if (values.empty() || read_checked(rows.set, rows.type, begin * rows.values_of_row(), values)) return values;
  rows.read(path_, dataset, values);
  return values;
}

template <class Value>
void Hdf5File::for_rows(const std::string& dataset, std::int64_t begin, std::int64_t count,
                        const std::function<void(std::span<const std::byte>)>& take) const {
  const Rows<Value> rows(path_, handle_, dataset, begin, count);
  const auto in_row = rows.values_of_row();
  if (count * in_row == 0 || read_checked<Value>(rows.set, rows.type, begin * in_row, count * in_row,
                                                 [&](auto, auto, std::span<const std::byte> some) { take(some); }))
    return;
  auto values = room_for<Value>(path_, "dataset " + dataset, rows.dimensions);
  rows.read(path_, dataset, values);
  take(std::as_bytes(std::span(values)));
}

std::vector<std::string> Hdf5File::read_text(const std::string& dataset) const {
  const Handle set = open_dataset(path_, handle_, dataset);
  const Handle type(H5Dget_type(set), H5Tclose), space(H5Dget_space(set), H5Sclose);
  if (H5Tget_class(type) != H5T_STRING) refuse(path_, fmt::format("dataset {} holds no text, expected text", dataset));
  const auto n = room_for<char>(path_, "dataset " + dataset, extents(space)).size();
  auto values = texts(type, space, [&](hid_t memory, void* buffer) {
    return H5Dread(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer);
  });
  if (values.size() != n) refuse(path_, fmt::format("dataset {} can't be read: {}", dataset, last_error()));
  return values;
}

bool Hdf5File::has_attribute(const std::string& object, const std::string& name) const {
  silence();
  const htri_t found = H5Aexists_by_name(handle_, object.c_str(), name.c_str(), H5P_DEFAULT);
  if (found < 0)
    refuse(path_, fmt::format("it can't be told whether {} has an attribute {}: {}; the file is damaged", object, name,
                              last_error()));
  return found > 0;
}

template <class Value>
std::vector<Value> Hdf5File::attribute(const std::string& object, const std::string& name) const {
  silence();
  const Handle id(H5Aopen_by_name(handle_, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!id.is_valid())
    refuse(path_, fmt::format("{} has no attribute {}; the file is incomplete or of another kind", object, name));
  const Handle type(H5Aget_type(id), H5Tclose), space(H5Aget_space(id), H5Sclose);
  check_type<Value>(path_, fmt::format("attribute {} of {}", name, object), type);
  auto values = room_for<Value>(path_, fmt::format("attribute {} of {}", name, object), extents(space));
  if (!values.empty() && H5Aread(id, memory_type<Value>(), values.data()) < 0)
    refuse(path_, fmt::format("attribute {} of {} can't be read: {}", name, object, last_error()));
  return values;
}

std::string Hdf5File::text_attribute(const std::string& object, const std::string& name) const {
  silence();
  const Handle id(H5Aopen_by_name(handle_, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!id.is_valid())
    refuse(path_, fmt::format("{} has no attribute {}; the file is incomplete or of another kind", object, name));
  const Handle type(H5Aget_type(id), H5Tclose), space(H5Aget_space(id), H5Sclose);
  if (H5Tget_class(type) != H5T_STRING) refuse(path_, fmt::format("attribute {} of {} is no text", name, object));
  const auto values = texts(type, space, [&](hid_t memory, void* buffer) { return H5Aread(id, memory, buffer); });
  return values.empty() ? "" : values.front();
}

void Hdf5File::make_group(const std::string& group) {
  if (group.empty() || has(group)) return;
  make_group(parent_of(group));
  const Handle links = link_properties(), properties = creation_properties(H5P_GROUP_CREATE);
  const Handle id(H5Gcreate2(handle_, group.c_str(), links, properties, H5P_DEFAULT), H5Gclose);
  if (!id.is_valid()) fail_write(fmt::format("group {} can't be made", group));
}

template <class Value>
void Hdf5File::write(const std::string& dataset, std::span<const Value> values,
                     const std::vector<std::int64_t>& shape) {
  make_group(parent_of(dataset));
  const Handle links = link_properties(), properties = creation_properties(H5P_DATASET_CREATE);
  const auto dimensions = sizes(shape);
  TESSERA_CHECK(product(dimensions) == values.size());
  const Handle space(dimensions.empty()
                         ? H5Screate(H5S_SCALAR)
                         : H5Screate_simple(static_cast<int>(dimensions.size()), dimensions.data(), nullptr),
                     H5Sclose);
  const Handle set(H5Dcreate2(handle_, dataset.c_str(), memory_type<Value>(), space, links, properties, H5P_DEFAULT),
                   H5Dclose);
  if (!set.is_valid() ||
      (!values.empty() && H5Dwrite(set, memory_type<Value>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0))
    fail_write(fmt::format("dataset {} can't be written", dataset));
}

void Hdf5File::write_text(const std::string& dataset, const std::vector<std::string>& values) {
  make_group(parent_of(dataset));
  const Handle links = link_properties(), properties = creation_properties(H5P_DATASET_CREATE);
  const hsize_t n = values.size();
  const Handle space(H5Screate_simple(1, &n, nullptr), H5Sclose), type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  std::vector<const char*> pointers;
  for (const auto& value : values) pointers.push_back(value.c_str());
  const Handle set(H5Dcreate2(handle_, dataset.c_str(), type, space, links, properties, H5P_DEFAULT), H5Dclose);
  if (!set.is_valid() ||
      (n > 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, static_cast<const void*>(pointers.data())) < 0))
    fail_write(fmt::format("dataset {} can't be written", dataset));
}

void Hdf5File::link(const std::string& existing, const std::string& name) {
  silence();
  make_group(parent_of(name));
  const Handle links = link_properties();
  if (H5Lcreate_hard(handle_, existing.c_str(), handle_, name.c_str(), links, H5P_DEFAULT) < 0)
    fail_write(fmt::format("link {} can't be made", name));
}

template <class Value>
void Hdf5File::write_attribute(const std::string& object, const std::string& name, std::span<const Value> values) {
  silence();
  const hsize_t n = values.size();
  const Handle space(n == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, nullptr), H5Sclose);
  const Handle id(H5Acreate_by_name(handle_, object.c_str(), name.c_str(), memory_type<Value>(), space, H5P_DEFAULT,
                                    H5P_DEFAULT, H5P_DEFAULT),
                  H5Aclose);
  if (!id.is_valid() || H5Awrite(id, memory_type<Value>(), values.data()) < 0)
    fail_write(fmt::format("attribute {} of {} can't be written", name, object));
}

void Hdf5File::write_text_attribute(const std::string& object, const std::string& name, const std::string& value) {
  write_texts(path_, handle_, object, name, {value}, H5S_SCALAR);
}

void Hdf5File::write_text_attribute(const std::string& object, const std::string& name,
                                    const std::vector<std::string>& values) {
  write_texts(path_, handle_, object, name, values, H5S_SIMPLE);
}

#define TESSERA_INSTANTIATE(Value)                                                                                    \
  template std::vector<Value> Hdf5File::read<Value>(const std::string&) const;                                        \
  template std::vector<Value> Hdf5File::read_rows<Value>(const std::string&, std::int64_t, std::int64_t) const;       \
  template void Hdf5File::for_rows<Value>(const std::string&, std::int64_t, std::int64_t,                             \
                                          const std::function<void(std::span<const std::byte>)>&) const;              \
  template std::vector<Value> Hdf5File::attribute<Value>(const std::string&, const std::string&) const;               \
  template void Hdf5File::write<Value>(const std::string&, std::span<const Value>, const std::vector<std::int64_t>&); \
  template void Hdf5File::write_attribute<Value>(const std::string&, const std::string&, std::span<const Value>);
TESSERA_INSTANTIATE(double)
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(std::int32_t)
TESSERA_INSTANTIATE(std::int64_t)
TESSERA_INSTANTIATE(std::uint8_t)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::io
