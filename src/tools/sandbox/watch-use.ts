import { statfs } from 'node:fs/promises'
import { messageOf } from '../../contract/errors.ts'
import { availableBytes } from './available-memory.ts'
import {
  machineDiskFloorBytes,
  machineMemoryFloorBytes,
  maxPartialLooks,
  megabytes,
  type SandboxLimits,
  writtenPerDisk,
} from './limits.ts'
import { measureDeleted } from './measure-deleted.ts'
import { measureFolder } from './measure-folder.ts'
import { measureProcesses, processesBelow, readText } from './measure-processes.ts'
import type { ProgramWatch } from './run-program.ts'

const everyMs = 100
/** The disk rests for this many times the duration of a measurement. */
const pausePerMeasurement = 3

/**
 * Watches limits that the system does not apply to several processes together: memory and disk. It looks ten times a second, so a run can
 * briefly exceed them.
 */
export function watchUse(folder: string, { memoryBytes, diskBytes, fileBytes }: SandboxLimits): ProgramWatch {
  let measureAgainAtMs = 0
  let partialLooks = 0
  const tooMuchMemory = (pid: number, pids: readonly number[]) => {
    const { bytes, writtenBytes } = measureProcesses(pids)
    if (bytes + socketBytes(pid) > memoryBytes) return `used more than ${megabytes(memoryBytes)} of memory`
    const most = writtenPerDisk * diskBytes
    if (writtenBytes > most) return `wrote more than ${megabytes(most)} to the disk`
    return availableBytes() < machineMemoryFloorBytes ? 'ran when the machine had too little memory' : undefined
  }
  const tooMuchDisk = async (pids: readonly number[]) => {
    const startedMs = performance.now()
    if (startedMs < measureAgainAtMs) return undefined
    const { bavail, bsize } = await statfs(folder)
    if (bavail * bsize < machineDiskFloorBytes) return 'ran when the disk was almost full'
    const { bytes, tooMuch } = await measureFolder(folder, diskBytes)
    if (tooMuch !== undefined) return tooMuch
    const deleted = await measureDeleted(pids, fileBytes)
    if (bytes + deleted.bytes > diskBytes) return `kept more than ${megabytes(diskBytes)} in files, deleted ones included`
    partialLooks = deleted.isPartial ? partialLooks + 1 : 0
    if (partialLooks >= maxPartialLooks)
      return 'kept files where they cannot be measured: sent and not received, or in a process that hides'
    const now = performance.now()
    measureAgainAtMs = now + pausePerMeasurement * (now - startedMs)
    return undefined
  }
  return {
    everyMs,
    tooMuch: (pid) => {
      const pids = pid === undefined ? [] : processesBelow(pid)
      return (
        (pid === undefined ? undefined : tooMuchMemory(pid, pids)) ??
        tooMuchDisk(pids).catch((error: unknown) => `ran in a folder that cannot be measured: ${messageOf(error)}`)
      )
    },
  }
}

/** The kernel's memory for an internet socket besides its queues. */
const eachBytes = 4096
/** Queued data of a TCP socket takes up to twice its size. */
const perQueuedByte = 2
/** The most datagrams queued for a socket in a new network namespace (`net.unix.max_dgram_qlen`), and one more. */
const maxDatagrams = 11
const datagram = '0002'
const timeWait = '06'
const listening = '0A'

/**
 * The most memory that the sockets in a process's namespace may take. No process is charged for it, even after all have closed the socket.
 * The kernel reports the queues of TCP and UDP sockets. It reports only the existence of UNIX sockets, so each counts as full: programs
 * cannot enlarge their queues (SO_SNDBUF, in seccomp.ts).
 */
function socketBytes(pid: number): number {
  const tables = (names: readonly string[]) => names.map((name) => readText(`/proc/${pid}/net/${name}`)).join('')
  return unixBytes(tables(['unix'])) + tcpBytes(tables(['tcp', 'tcp6'])) + udpBytes(tables(['udp', 'udp6']))
}

function unixBytes(table: string): number {
  const sendBytes = Number(readText('/proc/sys/net/core/wmem_default'))
  const types = [...table.matchAll(/^\S+: \S+ \S+ \S+ (\d{4}) /gm)].map(([, type]) => type)
  return types.reduce((sum, type) => sum + (type === datagram ? maxDatagrams : 1) * sendBytes, 0)
}

/** For a listening socket, these numbers count connections instead of bytes. */
function tcpBytes(table: string): number {
  const queues = internetQueues(table).filter(({ state }) => state !== timeWait && state !== listening)
  return queues.reduce((sum, { bytes }) => sum + eachBytes + perQueuedByte * bytes, 0)
}

function udpBytes(table: string): number {
  return internetQueues(table).reduce((sum, { bytes }) => sum + eachBytes + bytes, 0)
}

/** The state of each socket, and the bytes queued for sending and receiving. */
function internetQueues(table: string): readonly { readonly state: string; readonly bytes: number }[] {
  const rows = table.matchAll(/^ *\d+: \S+ \S+ ([\dA-F]{2}) ([\dA-F]{8}):([\dA-F]{8}) /gm)
  return [...rows].map(([, state = '', toSend = '', toRead = '']) => ({
    state,
    bytes: Number.parseInt(toSend, 16) + Number.parseInt(toRead, 16),
  }))
}
