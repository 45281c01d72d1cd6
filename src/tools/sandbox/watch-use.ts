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
import { measureProcesses, processesBelow } from './measure-processes.ts'
import { socketBytes } from './measure-sockets.ts'
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
