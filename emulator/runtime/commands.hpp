/// @file
/// When commands of streams are carried out.
///
/// A command waits until somebody waits for it: a program that looks at a result without waiting for it finds the old
/// contents, in every run. (On a GPU it would find them in some.) CUDA_EMULATOR_ORDER other than 0 carries some
/// commands out at once, as the number decides.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace cuda_emulator {

/// Something that a device does, once, after the commands that it depends on.
class Command {
public:
    Command(std::function<void()> work, std::vector<std::shared_ptr<Command>> after)
        : work_(std::move(work)), after_(std::move(after)) {}

private:
    friend class Schedule;
    enum class State { waiting, running, done } state_ = State::waiting;
    bool taken_ = false; // a helper will carry it out
    std::function<void()> work_;
    std::vector<std::shared_ptr<Command>> after_;
};

using CommandPtr = std::shared_ptr<Command>;

/// All commands of the process that are not done.
class Schedule {
public:
    /// Adds a command. @param after may contain nullptr
    static CommandPtr add(std::function<void()> work, std::vector<CommandPtr> after);

    /// To be called behind add(), without a lock: carries out the command where the order says so, and an old one where
    /// the host got far ahead.
    static void after_add(const CommandPtr& command);

    /// Carries out a command and what it depends on, or waits for the thread that does. nullptr is done.
    static void finish(const CommandPtr& command);

    static bool is_done(const CommandPtr& command);

    /// Carries out all that waits, in threads beside this one: for kernels and hosts that wait for what other streams
    /// do.
    static void help();

    /// Carries out everything.
    static void finish_all();

private:
    static CommandPtr next_ready();
};

} // namespace cuda_emulator
