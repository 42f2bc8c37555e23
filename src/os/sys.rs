//! The system calls that std has no safe function for, each behind a small safe one.
//!
//! The only file of the program with `unsafe` in it. Nothing in here decides anything.

#![allow(unsafe_code, reason = "std has no safe function for what is called here")]

use std::ffi::CString;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use std::sync::atomic::{AtomicU64, Ordering};

use libc::{c_int, c_void};

/// A child that ended and has not been reaped yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// Which.
    pub(super) pid: i32,
    /// How.
    pub(super) how: How,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

/// Reads what is there. Whether that may block is the descriptor's own flag.
pub(super) fn read(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length are those of one exclusively borrowed slice, and the
    // descriptor is open for as long as it is borrowed.
    size(unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) })
}

/// Writes what fits. Whether that may block is the descriptor's own flag.
pub(super) fn write(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length are those of one borrowed slice, and the descriptor is
    // open for as long as it is borrowed.
    size(unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) })
}

/// Reads from a socket without blocking, whatever flags are set on it.
pub(super) fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: as in `read`.
    size(unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) })
}

/// Writes to a socket without blocking, whatever flags are set on it, and without SIGPIPE.
pub(super) fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: as in `write`.
    size(unsafe { libc::send(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) })
}

/// Lets a pipe hold so many bytes, if the system allows it.
pub(super) fn widen_pipe(fd: BorrowedFd<'_>, size: c_int) {
    // SAFETY: the call takes an open descriptor and a number.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETPIPE_SZ, size) };
}

/// Whether a read (or a write, with `writing`) would come back at once: with data, with room, or
/// with the news that the other side is gone.
pub(super) fn is_ready(fd: BorrowedFd<'_>, writing: bool) -> bool {
    let events = if writing { libc::POLLOUT } else { libc::POLLIN };
    let mut entry = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
    // SAFETY: one entry is announced and one is there, exclusively borrowed.
    unsafe { libc::poll(&mut entry, 1, 0) == 1 }
}

/// The type of a socket (`SOCK_…`).
pub(super) fn socket_type(fd: BorrowedFd<'_>) -> io::Result<c_int> {
    let mut kind: c_int = 0;
    let mut length = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which is the size of what the pointer
    // points to, and any bytes are a valid number.
    check(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TYPE,
            (&raw mut kind).cast::<c_void>(),
            &mut length,
        )
    })?;
    Ok(kind)
}

/// Whether a socket is one that others can connect to.
pub(super) fn is_listening(fd: &OwnedFd) -> io::Result<bool> {
    let mut answer: c_int = 0;
    let mut length = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: as in `socket_type`.
    check(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ACCEPTCONN,
            (&raw mut answer).cast::<c_void>(),
            &mut length,
        )
    })?;
    Ok(answer != 0)
}

/// Another descriptor of what an inherited one is of; from now on no child inherits either.
pub(super) fn duplicate_inherited(number: c_int) -> io::Result<OwnedFd> {
    // SAFETY: both calls take plain numbers and fail for those that are not descriptors. The one
    // that is returned is new, and so nobody else's.
    unsafe {
        check(libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC))?;
        Ok(OwnedFd::from_raw_fd(check(libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0))?))
    }
}

/// The user who is at the other end of a connected unix socket.
pub(super) fn peer_uid(fd: BorrowedFd<'_>) -> io::Result<u32> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which is the size of what the pointer
    // points to, and any bytes are a valid `ucred`.
    check(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast::<c_void>(),
            &mut length,
        )
    })?;
    Ok(credentials.uid)
}

/// The number of the kind of file system that a path is on.
pub(super) fn file_system(path: &Path) -> io::Result<u32> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: all bytes zero is a valid `statfs`, the kernel writes at most one through a pointer
    // to one, and the path ends with a zero byte and outlives the call.
    unsafe {
        let mut about: libc::statfs = mem::zeroed();
        check(libc::statfs(path.as_ptr(), &mut about))?;
        // The field's type differs between systems; the numbers have 32 bits.
        Ok(about.f_type as u32)
    }
}

/// The monotonic clock in microseconds, as a service manager on this machine reads it.
pub(super) fn monotonic_micros() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one `timespec` through a pointer to one.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or_default();
    seconds * 1_000_000 + nanoseconds / 1000
}

/// The user we are.
pub(super) fn own_uid() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// Blocks the signals that we want to hear of and returns a non-blocking descriptor that reads
/// them as `signalfd_siginfo`s. Must be called before any thread starts, since a thread inherits
/// the mask. SIGPIPE is ignored, so that a lost reader is an error of the write.
///
/// INT and HUP stay out when they were ignored at our start: that is how `nohup` and shells
/// without job control say that we shall live on.
pub(super) fn signals() -> io::Result<OwnedFd> {
    // SAFETY: all bytes zero is a valid set, which `sigemptyset` then makes an empty one. The
    // set outlives the calls; `signal` only gets SIG_IGN and SIG_DFL; `sigaction` with a null
    // action only reads into a valid struct. The descriptor that `signalfd` returns is nobody
    // else's.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        // An inherited SIG_IGN would make the kernel reap our children behind our back.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let mut set: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGCHLD, libc::SIGUSR1] {
            let mut action: libc::sigaction = mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut action);
            let may_be_ignored = matches!(signal, libc::SIGINT | libc::SIGHUP);
            if !(may_be_ignored && action.sa_sigaction == libc::SIG_IGN) {
                libc::sigaddset(&mut set, signal);
            }
        }
        check(libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()))?;
        let fd = check(libc::signalfd(-1, &set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// How many files our children may open, where we raised our own bound; 0 where we did not.
static FILES_OF_CHILDREN: AtomicU64 = AtomicU64::new(0);

/// Lets us open so many files, or as many as the system allows, and returns how many. Children
/// start with the bound that we were started with: some programs go by it.
pub(super) fn raise_open_files(wanted: u64) -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel fills one `rlimit` through a pointer to one.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    if limit.rlim_cur >= wanted {
        return Ok(limit.rlim_cur);
    }
    let before = limit.rlim_cur;
    limit.rlim_cur = wanted.min(limit.rlim_max);
    // SAFETY: the kernel reads one `rlimit` through a pointer to one.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) })?;
    FILES_OF_CHILDREN.store(before, Ordering::Relaxed);
    Ok(limit.rlim_cur)
}

/// Orphans among our descendants become our children instead of init's, so that none escapes.
/// Best effort: without it only those are missed that left their process group.
pub(super) fn adopt_orphans() {
    // SAFETY: takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Makes the command's process die with us, and start with a clean signal mask and the default
/// dispositions instead of ours.
pub(super) fn tie_to_us(command: &mut Command) {
    let parent = std::process::id().cast_signed();
    let files = FILES_OF_CHILDREN.load(Ordering::Relaxed);
    let at_exec = move || {
        // SAFETY: between fork and exec only calls that are safe in a signal handler are made:
        // `prctl`, `getppid`, `getrlimit`, `setrlimit`, `signal`, `sigemptyset` and `sigprocmask`,
        // on plain numbers, and on a set and a limit that live on this stack.
        unsafe {
            if files > 0 {
                let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                check(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit))?;
                limit.rlim_cur = files;
                check(libc::setrlimit(libc::RLIMIT_NOFILE, &limit))?;
            }
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0))?;
            if libc::getppid() != parent {
                // We died between fork and prctl.
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            // KILL and STOP refuse, which is no harm.
            for signal in 1..32 {
                libc::signal(signal, libc::SIG_DFL);
            }
            let mut set: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&mut set);
            check(libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut()))?;
        }
        Ok(())
    };
    // SAFETY: the closure allocates nothing, takes no lock and makes only async-signal-safe calls.
    unsafe { command.pre_exec(at_exec) };
}

/// Sends a signal to one process. That it is gone already is no error.
pub(super) fn kill(pid: i32, signal: i32) {
    if pid > 0 {
        // SAFETY: takes plain numbers.
        unsafe { libc::kill(pid, signal) };
    }
}

/// Sends a signal to a process group. That it is gone already is no error.
pub(super) fn kill_group(leader: i32, signal: i32) {
    // 0 and 1 would mean our own group, and everybody.
    if leader > 1 {
        // SAFETY: takes plain numbers.
        unsafe { libc::kill(-leader, signal) };
    }
}

/// A child (any, or this one) that ended, without reaping it: until then its pid and its group
/// cannot become somebody else's.
pub(super) fn peek_ended(pid: Option<i32>) -> Option<Ended> {
    let (which, id) = match pid {
        Some(pid) => (libc::P_PID, pid.cast_unsigned()),
        None => (libc::P_ALL, 0),
    };
    // SAFETY: all bytes zero is a valid `siginfo_t`, the kernel fills it, and after a success
    // with a pid other than zero the fields of SIGCHLD are the ones that are set.
    unsafe {
        let mut info: libc::siginfo_t = mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        while libc::waitid(which, id, &mut info, options) != 0 {
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return None;
            }
        }
        let how = match info.si_code {
            libc::CLD_EXITED => How::Exited(info.si_status()),
            _ => How::Killed(info.si_status()),
        };
        (info.si_pid() != 0).then(|| Ended { pid: info.si_pid(), how })
    }
}

/// Reaps a child that [`peek_ended`] returned. False if it was no child of ours.
pub(super) fn reap(pid: i32) -> bool {
    // SAFETY: a null status is allowed, the rest are plain numbers.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) == pid }
}

fn size(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs::{File, OpenOptions};
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;

    /// A pair of sockets that keep apart what is written at once.
    pub(in crate::os) fn packet_sockets() -> [OwnedFd; 2] {
        let mut pair: [c_int; 2] = [0; 2];
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        // SAFETY: two numbers are written to a pointer to two, and the descriptors are nobody
        // else's.
        unsafe {
            check(libc::socketpair(libc::AF_UNIX, kind, 0, pair.as_mut_ptr())).unwrap();
            pair.map(|fd| OwnedFd::from_raw_fd(fd))
        }
    }

    /// The slave of a terminal's master, if this system has one.
    pub(in crate::os) fn terminal_of(master: &File) -> Option<File> {
        let mut unlocked: c_int = 0;
        let mut number: c_int = 0;
        // SAFETY: both requests take a pointer to one int, which outlives the call.
        unsafe {
            check(libc::ioctl(master.as_raw_fd(), libc::TIOCSPTLCK, &raw mut unlocked)).ok()?;
            check(libc::ioctl(master.as_raw_fd(), libc::TIOCGPTN, &raw mut number)).ok()?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NOCTTY);
        options.open(format!("/dev/pts/{number}")).ok()
    }
}

/// The allocator of the static binary: dlmalloc for small blocks, the kernel itself for large
/// ones. dlmalloc keeps what is freed in the middle of its heap; a large payload shall be given
/// back when it is done with, and grow without being copied.
#[cfg(target_env = "musl")]
#[derive(Debug)]
pub struct Allocator;

#[cfg(target_env = "musl")]
mod allocator {
    use std::alloc::{GlobalAlloc, Layout};
    use std::ptr;

    use dlmalloc::GlobalDlmalloc;

    use super::Allocator;
    use crate::limits::MAPPED_MIN;

    /// The least alignment of a mapping: a page, which is 4 KiB or a multiple of it.
    const PAGE: usize = 4096;

    fn is_mapped(layout: Layout) -> bool {
        layout.size() >= MAPPED_MIN && layout.align() <= PAGE
    }

    fn map(size: usize) -> *mut u8 {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping touches nothing that exists.
        let block = unsafe { libc::mmap(ptr::null_mut(), size, protection, flags, -1, 0) };
        if block == libc::MAP_FAILED {
            return ptr::null_mut();
        }
        // A hint: fewer and larger pages are faster to have.
        // SAFETY: the range is the new mapping, and the advice does not change what it holds.
        unsafe { libc::madvise(block, size, libc::MADV_HUGEPAGE) };
        block.cast()
    }

    // SAFETY: every block comes from dlmalloc or from a mapping of its own, which one is told by
    // its layout alone, and it goes back where it came from.
    unsafe impl GlobalAlloc for Allocator {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if is_mapped(layout) {
                return map(layout.size());
            }
            // SAFETY: the caller's promises are the same.
            unsafe { GlobalDlmalloc.alloc(layout) }
        }

        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            if is_mapped(layout) {
                // The kernel's pages are zero.
                return map(layout.size());
            }
            // SAFETY: the caller's promises are the same.
            unsafe { GlobalDlmalloc.alloc_zeroed(layout) }
        }

        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            if is_mapped(layout) {
                // SAFETY: the block is a whole mapping of this size, and nobody uses it any more.
                unsafe { libc::munmap(block.cast(), layout.size()) };
                return;
            }
            // SAFETY: the caller's promises are the same, and the block is dlmalloc's.
            unsafe { GlobalDlmalloc.dealloc(block, layout) }
        }

        unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            // SAFETY: the caller promises that the size is not 0 and does not overflow with this
            // alignment.
            let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
            match (is_mapped(layout), is_mapped(wanted)) {
                // SAFETY: the caller's promises are the same, and the block is dlmalloc's.
                (false, false) => unsafe { GlobalDlmalloc.realloc(block, layout, size) },
                (true, true) => {
                    // SAFETY: the block is a whole mapping of the old size; nobody uses it but by
                    // what is returned here.
                    let moved =
                        unsafe { libc::mremap(block.cast(), layout.size(), size, libc::MREMAP_MAYMOVE) };
                    if moved == libc::MAP_FAILED { ptr::null_mut() } else { moved.cast() }
                }
                _ => {
                    // SAFETY: the layout is a good one, see above.
                    let moved = unsafe { self.alloc(wanted) };
                    if !moved.is_null() {
                        // SAFETY: both blocks are at least this long, and they are different ones.
                        unsafe { ptr::copy_nonoverlapping(block, moved, layout.size().min(size)) };
                        // SAFETY: the caller's promises for the old block are those of `dealloc`.
                        unsafe { self.dealloc(block, layout) };
                    }
                    moved
                }
            }
        }
    }
}
