/*
 * LD_PRELOAD for Debian's user-mode-linux on processors with a large XSAVE area (AVX-512, AMX).
 *
 * The kernel hands PTRACE_SETREGSET a buffer of the size that it was built for. Newer kernels below it want
 * the processor's whole area and refuse less, and the guest dies in put_fp_registers. So the buffer is padded;
 * the kernel clamps the length to what there is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define NT_X86_XSTATE 0x202

static char area[16384] __attribute__((aligned(64)));

long ptrace(enum __ptrace_request request, ...)
{
	va_list arguments;
	va_start(arguments, request);
	pid_t pid = va_arg(arguments, pid_t);
	void *address = va_arg(arguments, void *);
	void *data = va_arg(arguments, void *);
	va_end(arguments);

	struct iovec padded;
	if (request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE) {
		const struct iovec *given = data;
		if (given->iov_len < sizeof area) {
			memcpy(area, given->iov_base, given->iov_len);
			padded.iov_base = area;
			padded.iov_len = sizeof area;
			data = &padded;
		}
	}
	if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
		/* As in libc: the word read is the result, and errno tells it from an error. */
		long word;
		long result = syscall(SYS_ptrace, request, pid, address, &word);
		if (result >= 0) {
			errno = 0;
			return word;
		}
		return result;
	}
	return syscall(SYS_ptrace, request, pid, address, data);
}
