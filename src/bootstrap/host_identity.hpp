// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace heddle {

/// Names what the calling process can share directly. Two processes with equal identities can reach
/// each other's abstract Unix sockets, pass descriptors (memfds) over them, and hold process
/// handles (pidfds) of each other. It is made of
///  - the boot id: one running kernel; a host name says less (containers choose, clones agree);
///  - the network namespace: abstract socket names live in it;
///  - the pid namespace: a pid means the same process to both only inside one.
/// The IPC namespace is not part of it: it separates System V and POSIX queues, which heddle does
/// not use; nor is the mount namespace: nothing that is shared has a path.
///
/// Letters, digits, '.', '-' only. Throws HEDDLE_ERROR_SYSTEM when /proc cannot be read.
std::string host_identity();

/// Of an identity, of an imitated host's too, the boot id: the processors and the memory of one
/// machine are shared by all that has the same, in whatever container.
std::string_view machine_of(std::string_view host);

}  // namespace heddle
