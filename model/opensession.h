#pragma once
// What can be opened as a session: a session file, and a session around a model directory, a GGUF or TorchScript file,
// or a recording.
// Errors: Error naming the file, what it is and what can be opened. Thread: any.

#include "model/session.h"

namespace counterpoint::model {

/// Whatever kind of file it is; warnings of a session file are appended.
Session openSession(const std::filesystem::path& file, std::vector<std::string>& warnings);
/// Whether a rack can take it as one source: a folder with a configuration, or a model's file by its name or its content;
/// what is in it is read when it is loaded. Error where a file is not what its name promises.
bool isModel(const std::filesystem::path& path);
/// A session around one model directory, GGUF or TorchScript file.
Session sessionForModel(const std::filesystem::path& path);
/// Every source of a recording: its base, the others as specialists at weight 1, scored over its own tokens.
Session sessionForRecording(const std::filesystem::path& file);
/// SPEC.md 2: one sentence for each file of a used source that runs code when it is opened.
std::vector<std::string> codeNotices(const Session& session);
/// What a file adds to a rack: the model of a directory or file, or what of a recording is not in the rack yet. Names are new.
std::vector<SourceEntry> specialistsFrom(const std::filesystem::path& file, const Session& session);

}  // namespace counterpoint::model
