/** System calls that programs may not make: the number on x86-64 and on 64-bit ARM; `null` where it does not exist. */
const refused: readonly (readonly [number | null, number | null, string])[] = [
  // Other processes.
  [101, 117, 'ptrace'],
  [310, 270, 'process_vm_readv'],
  [311, 271, 'process_vm_writev'],
  [440, 440, 'process_madvise'],
  [312, 272, 'kcmp'],
  [438, 438, 'pidfd_getfd'],
  // Other views of the file system, other namespaces.
  [165, 40, 'mount'],
  [166, 39, 'umount2'],
  [155, 41, 'pivot_root'],
  [161, 51, 'chroot'],
  [430, 430, 'fsopen'],
  [431, 431, 'fsconfig'],
  [432, 432, 'fsmount'],
  [433, 433, 'fspick'],
  [429, 429, 'move_mount'],
  [428, 428, 'open_tree'],
  [442, 442, 'mount_setattr'],
  [308, 268, 'setns'],
  [272, 97, 'unshare'],
  [304, 265, 'open_by_handle_at'],
  [303, 264, 'name_to_handle_at'],
  [300, 262, 'fanotify_init'],
  // Keyrings do not belong to a namespace.
  [248, 217, 'add_key'],
  [249, 218, 'request_key'],
  [250, 219, 'keyctl'],
  // Large parts of the kernel that programs rarely need, and where most of its vulnerabilities were found.
  [321, 280, 'bpf'],
  [298, 241, 'perf_event_open'],
  [323, 282, 'userfaultfd'],
  [425, 425, 'io_uring_setup'],
  [426, 426, 'io_uring_enter'],
  [427, 427, 'io_uring_register'],
  // Memory that belongs to no process, so that measuring processes misses it.
  [319, 279, 'memfd_create'],
  [447, 447, 'memfd_secret'],
  [29, 194, 'shmget'],
  [64, 190, 'semget'],
  [68, 186, 'msgget'],
  [240, 180, 'mq_open'],
  [278, 75, 'vmsplice'],
  // The machine.
  [246, 104, 'kexec_load'],
  [320, 294, 'kexec_file_load'],
  [175, 105, 'init_module'],
  [313, 273, 'finit_module'],
  [176, 106, 'delete_module'],
  [169, 142, 'reboot'],
  [167, 224, 'swapon'],
  [168, 225, 'swapoff'],
  [163, 89, 'acct'],
  [179, 60, 'quotactl'],
  [443, 443, 'quotactl_fd'],
  [103, 116, 'syslog'],
  [164, 170, 'settimeofday'],
  [227, 112, 'clock_settime'],
  [159, 171, 'adjtimex'],
  [305, 266, 'clock_adjtime'],
  [170, 161, 'sethostname'],
  [171, 162, 'setdomainname'],
  [172, null, 'iopl'],
  [173, null, 'ioperm'],
  [154, null, 'modify_ldt'],
  [153, 58, 'vhangup'],
  [212, 18, 'lookup_dcookie'],
]

type Machine = {
  readonly column: 0 | 1
  /** AUDIT_ARCH_… of linux/audit.h. */
  readonly auditArch: number
  readonly clone: number
  readonly ioctl: number
  readonly socket: number
  readonly socketpair: number
  readonly setsockopt: number
  readonly fallocate: number
}

const machines: Readonly<Record<string, Machine>> = {
  x64: { column: 0, auditArch: 0xc000003e, clone: 56, ioctl: 16, socket: 41, socketpair: 53, setsockopt: 54, fallocate: 285 },
  arm64: {
    column: 1,
    auditArch: 0xc00000b7,
    clone: 220,
    ioctl: 29,
    socket: 198,
    socketpair: 199,
    setsockopt: 208,
    fallocate: 47,
  },
}
const clone3 = 435
/** The bit of x86-64's x32 calls, which would pass a filter of the other numbers. */
const x32 = 0x40000000
/** CLONE_NEWNS, -CGROUP, -UTS, -IPC, -USER, -PID and -NET. */
const newNamespaces = 0x7e020000
const terminalInput = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c }
/** AF_UNIX, AF_INET and AF_INET6; packets, virtual machines and the kernel's own services are left out. */
const families = [1, 2, 10]
/** The usual protocol of a family, TCP and UDP: the queues of others, such as MPTCP, appear in no table. */
const protocols = [0, 1, 6, 17]
const socketOption = { SOL_SOCKET: 1, SO_SNDBUF: 7 }
const errno = { EPERM: 1, ENOSYS: 38, EPROTONOSUPPORT: 93, EOPNOTSUPP: 95, EAFNOSUPPORT: 97 }

// From linux/bpf_common.h and linux/seccomp.h.
const load = 0x20
const jumpEqual = 0x15
const jumpAtLeast = 0x35
const jumpAnyBit = 0x45
const giveBack = 0x06
const allow = 0x7fff0000
const killProcess = 0x80000000
const fail = (code: number) => 0x00050000 | code
const succeedWithoutEffect = fail(0)
const dataOffset = { number: 0, arch: 4, firstArgument: 16, secondArgument: 24, thirdArgument: 32 }

/** An instruction. Jumps say how many instructions to skip if the condition holds, and if not. */
type Instruction = readonly [code: number, value: number, ifTrue?: number, ifFalse?: number]

/**
 * A filter of system calls in the kernel's form, for programs that work with files, loopback and each other. A refused call fails with an
 * error, as on systems without it. Undefined for processors whose numbers are not in the table.
 */
export function systemCallFilter(architecture: string): Buffer | undefined {
  const machine = machines[architecture]
  if (machine === undefined) return undefined
  const { column, auditArch, clone, ioctl, socket, socketpair, setsockopt, fallocate } = machine
  const numbers = refused.flatMap((row) => row[column] ?? [])
  const program: Instruction[] = [
    [load, dataOffset.arch],
    [jumpEqual, auditArch, 1, 0],
    [giveBack, killProcess],
    [load, dataOffset.number],
    [jumpAtLeast, x32, 0, 1],
    [giveBack, fail(errno.ENOSYS)],
    // Refused, because its flags cannot be read; the C library falls back to clone.
    [jumpEqual, clone3, 0, 1],
    [giveBack, fail(errno.ENOSYS)],
    [jumpEqual, clone, 0, 4],
    [load, dataOffset.firstArgument],
    [jumpAnyBit, newNamespaces, 0, 1],
    [giveBack, fail(errno.EPERM)],
    [giveBack, allow],
    [jumpEqual, ioctl, 0, 5],
    [load, dataOffset.secondArgument],
    [jumpEqual, terminalInput.TIOCSTI, 1, 0],
    [jumpEqual, terminalInput.TIOCLINUX, 0, 1],
    [giveBack, fail(errno.EPERM)],
    [giveBack, allow],
    [jumpEqual, socket, 1, 0],
    [jumpEqual, socketpair, 0, families.length + protocols.length + 5],
    [load, dataOffset.firstArgument],
    ...families.map((family, index): Instruction => [jumpEqual, family, families.length - index, 0]),
    [giveBack, fail(errno.EAFNOSUPPORT)],
    [load, dataOffset.thirdArgument],
    ...protocols.map((protocol, index): Instruction => [jumpEqual, protocol, protocols.length - index, 0]),
    [giveBack, fail(errno.EPROTONOSUPPORT)],
    [giveBack, allow],
    // Keeps the machine's limit for the queue of a UNIX socket.
    [jumpEqual, setsockopt, 0, 6],
    [load, dataOffset.secondArgument],
    [jumpEqual, socketOption.SOL_SOCKET, 0, 3],
    [load, dataOffset.thirdArgument],
    [jumpEqual, socketOption.SO_SNDBUF, 0, 1],
    [giveBack, succeedWithoutEffect],
    [giveBack, allow],
    // Room beyond the end of a file does not count in its size, which is limited.
    [jumpEqual, fallocate, 0, 4],
    [load, dataOffset.secondArgument],
    [jumpEqual, 0, 1, 0],
    [giveBack, fail(errno.EOPNOTSUPP)],
    [giveBack, allow],
    // Each refused call jumps past the remaining ones and the permission.
    ...numbers.map((number, index): Instruction => [jumpEqual, number, numbers.length - index, 0]),
    [giveBack, allow],
    [giveBack, fail(errno.EPERM)],
  ]
  const bytes = Buffer.alloc(program.length * 8)
  program.forEach(([code, value, ifTrue = 0, ifFalse = 0], index) => {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(ifTrue, index * 8 + 2)
    bytes.writeUInt8(ifFalse, index * 8 + 3)
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4)
  })
  return bytes
}
