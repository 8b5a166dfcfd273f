#include "tessera/io/write/new_file.h"

namespace tessera::io::write {

NewFile::NewFile(WriteJob& job) : job_(job) {
  if (job.is_part_of_file()) {
    temporary_ = job.path();
    return;
  }
  if (job.comm().is_root())
    job.attempt([&] {
      file_.emplace(job.path());
      temporary_ = file_->file().path();
    });
  job.agree();
  comm::broadcast_resized(job.comm(), temporary_);
}

void NewFile::commit() {
  job_.agree();
  if (file_) job_.attempt([&] { file_->commit(); });
  job_.agree();
}

}  // namespace tessera::io::write
