// An open file of the operating system, with errors that say what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tessera {

constexpr std::int64_t page_bytes = 4096;  // of memory and disks, as direct I/O wants both
/// Rounds a number of bytes up to whole pages.
constexpr std::int64_t whole_pages(std::int64_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

class Descriptor {
 public:
  /// Throws RunError naming the file and the reason, like everything here.
  static Descriptor create(const std::string& path);  // nothing may have the name, not even a link
  /// Opens a file that must exist. Messages call it `shown` where that is given, as a temporary is named after the file
  /// that it will become.
  static Descriptor open_to_change(const std::string& path, const std::string& shown = "");
  static Descriptor open_to_read(const std::string& path);  // throws InputError
  /// Creates a file as create() does, but returns nothing where something has the name. Messages name the file `shown`.
  static std::optional<Descriptor> create_if_absent(const std::string& path, const std::string& shown);
  /// Returns a second handle of a file that another library has open.
  static Descriptor duplicate(const std::string& path, int handle);
  /// Returns a second handle of this file for direct I/O, which moves bytes between the disk and the caller's memory
  /// without a copy in the system's. Offsets, numbers of bytes and addresses must be multiples of page_bytes. Returns
  /// nothing where the file is on no disk of this host, or where direct I/O does not work or would be slow
  /// (docs/design/files.md#direct-io).
  std::optional<Descriptor> direct() const;

  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  const std::string& path() const { return path_; }
  /// Returns whether the path still names this file, which is false once it was removed, moved or replaced.
  bool is_in_place() const;
  std::int64_t size() const;
  /// Returns the number of bytes read, which is smaller than `bytes` at the end of the file.
  std::size_t read_at(void* data, std::size_t bytes, std::int64_t offset) const;
  std::string read_all() const;
  /// Returns whether the system has these bytes in memory; also true where it doesn't tell. They begin at a page.
  bool is_in_memory(std::int64_t offset, std::int64_t bytes) const;
  void write_at(const void* data, std::size_t bytes, std::int64_t offset) const;
  void truncate(std::int64_t bytes) const;
  /// Takes room on the disk for so many bytes, to whose end the file is long; does nothing where the file system
  /// can't.
  void reserve(std::int64_t offset, std::int64_t bytes) const;
  /// Starts to write these bytes to the disk, where the system can; it does not wait.
  void start_synchronizing(std::int64_t offset, std::int64_t bytes) const;
  /// Waits until everything written is on the disk.
  void synchronize() const;

 private:
  Descriptor(std::string path, int handle) : path_(std::move(path)), handle_(handle) {}

  const std::string& shown() const { return shown_.empty() ? path_ : shown_; }

  std::string path_, shown_;
  int handle_ = -1;
};

/// Describes an errno and how to mend it: "No space left on device: free some, or write elsewhere".
std::string system_error_text(int error);

}  // namespace tessera
