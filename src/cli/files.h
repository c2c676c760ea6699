// Source files as commands take them: read whole, with the entry that holds the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tritogen {

// Text of a file. Throws UserError naming the file when it is missing, a folder, unreadable, empty or over 4
// MiB.
std::string ReadSource(const std::string& path);

// What is written should not take the place of what the same command reads or writes elsewhere: throws
// UserError when the path is that of one of `others`.
void RequireUnlike(const std::string& path, const std::vector<std::string>& others);

// What is written at the end should not fail there: throws UserError when a file at that path cannot be made,
// or is one of `others`. An empty path asks for no file.
void RequireWritable(const std::string& path, const std::vector<std::string>& others = {});

// A seed that nobody can guess.
uint64_t SecretSeed();

}  // namespace tritogen
