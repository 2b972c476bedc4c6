#pragma once
// What a file is, by its content: its first bytes and, of a zip archive, the names in the table at its end. Nothing is
// executed and no tensor is read. Errors: Error naming a file that cannot be read. Thread: any.

#include <filesystem>

#include "compute/export.h"

namespace counterpoint::compute {

enum class FileKind {
    Unknown,  ///< none of these: a recording, a session, something else
    Gguf,
    TorchScript,  ///< a zip archive with code beside the pickle
    Pickle,       ///< a saved model or state dict, zipped or not
    Exported,     ///< torch.export's archive
    OtherZip,
    CutZip,  ///< begins as a zip archive and has no table at its end
};

COUNTERPOINT_API FileKind fileKind(const std::filesystem::path& file);
/// Whether opening it executes what is in it; false too for what is no file or cannot be read.
COUNTERPOINT_API bool runsCode(const std::filesystem::path& file);

/// Errors: Error where a content that is known is of no kind that opens, or not what the file's name promises.
COUNTERPOINT_API void requireOpens(const std::filesystem::path& file, FileKind kind);

}  // namespace counterpoint::compute
