// The commands of the program, one file each.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace tritogen {

// What the launcher tells the program through environment variables; read in main.cc only.
struct Environment {
  std::string root;    // the checkout: worker/ is there
  std::string python;  // interpreter with torch and Triton
};

struct Command {
  const char* name;
  const char* summary;
  int (*run)(int argc, char** argv, const Environment& environment);  // argv[0] is the command's name
};

std::span<const Command> Commands();
void PrintUsage(std::FILE* out);
// Says on stderr that there is no such command.
void RefuseCommand(std::string_view name);

int RunConvert(int argc, char** argv, const Environment& environment);
int RunVerify(int argc, char** argv, const Environment& environment);
int RunProgram(int argc, char** argv, const Environment& environment);
int RunSynth(int argc, char** argv, const Environment& environment);
int RunData(int argc, char** argv, const Environment& environment);
int RunEval(int argc, char** argv, const Environment& environment);
int RunBench(int argc, char** argv, const Environment& environment);
int RunNewModel(int argc, char** argv, const Environment& environment);
int RunGenerate(int argc, char** argv, const Environment& environment);
int RunSft(int argc, char** argv, const Environment& environment);
int RunServe(int argc, char** argv, const Environment& environment);
int RunDoctor(int argc, char** argv, const Environment& environment);

}  // namespace tritogen
