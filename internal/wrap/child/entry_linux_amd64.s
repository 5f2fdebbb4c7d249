#include "textflag.h"

// clewx_entry is the program's entry point. It asks the kernel for what the runtime will change, and goes on to the
// runtime's own entry with the stack as it found it.
TEXT clewx_entry(SB),NOSPLIT|NOFRAME,$0
	XORL R12, R12 // descriptor
	XORL R13, R13 // the closed ones
descriptor:
	MOVL $72, AX // fcntl
	MOVQ R12, DI
	MOVL $1, SI // F_GETFD
	SYSCALL
	TESTQ AX, AX
	JGE open
	BTSQ R12, R13
open:
	INCQ R12
	CMPQ R12, $3
	JLT descriptor
	MOVQ R13, ·closedAtStart(SB)

	XORL R12, R12 // signal less one
	XORL R13, R13 // the ignored ones
	MOVQ SP, BX
	SUBQ $128, BX // room for a struct sigaction; nobody else uses the stack yet
signal:
	MOVL $13, AX // rt_sigaction
	LEAQ 1(R12), DI
	XORL SI, SI
	MOVQ BX, DX
	MOVL $8, R10
	SYSCALL
	TESTQ AX, AX
	JNE next
	CMPQ 0(BX), $1 // SIG_IGN
	JNE next
	BTSQ R12, R13
next:
	INCQ R12
	CMPQ R12, $64
	JLT signal
	MOVQ R13, ·ignoredAtStart(SB)
	JMP _rt0_amd64_linux(SB)
