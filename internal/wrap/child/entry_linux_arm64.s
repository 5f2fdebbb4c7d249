#include "textflag.h"

// clewx_entry is the program's entry point; see the other architecture's.
TEXT clewx_entry(SB),NOSPLIT|NOFRAME,$0
	MOVD $0, R19 // descriptor
	MOVD $0, R20 // the closed ones
	MOVD $1, R21
descriptor:
	MOVD R19, R0
	MOVD $1, R1  // F_GETFD
	MOVD $25, R8 // fcntl
	SVC
	CMP $0, R0
	BGE open
	LSL R19, R21, R3
	ORR R3, R20, R20
open:
	ADD $1, R19, R19
	CMP $3, R19
	BLT descriptor
	MOVD R20, ·closedAtStart(SB)

	MOVD $0, R19 // signal less one
	MOVD $0, R20 // the ignored ones
	MOVD RSP, R22
	SUB $128, R22, R22 // room for a struct sigaction; nobody else uses the stack yet
signal:
	ADD $1, R19, R0
	MOVD $0, R1
	MOVD R22, R2
	MOVD $8, R3
	MOVD $134, R8 // rt_sigaction
	SVC
	CMP $0, R0
	BNE next
	MOVD (R22), R4
	CMP $1, R4 // SIG_IGN
	BNE next
	LSL R19, R21, R3
	ORR R3, R20, R20
next:
	ADD $1, R19, R19
	CMP $64, R19
	BLT signal
	MOVD R20, ·ignoredAtStart(SB)
	JMP _rt0_arm64_linux(SB)
