/** What one run of a program may use, and what a session may keep. */
export type SandboxLimits = {
  /** Of all processes of a run together. */
  readonly memoryBytes: number
  /** Of all files of a session together. */
  readonly diskBytes: number
  readonly fileBytes: number
  /** Of each process. */
  readonly cpuSeconds: number
  /** Processes and threads of a run. */
  readonly processes: number
}

/** Files and folders of a session. */
export const maxFiles = 10_000
/** Folders within folders. */
export const maxDepth = 64
/** Of a run, before it is ended: nobody reads so much. */
export const maxOutputBytes = 4 * 2 ** 20
/** A run that writes more, over and over or into files that it has deleted, is ended. */
export const writtenPerDisk = 4
/** Of `/tmp`, and of shared memory: they are memory. */
export const temporaryBytes = 64 * 2 ** 20
export const openFiles = 256
/** What programs may reserve without using it. */
export const addressSpaceBytes = 64 * 2 ** 30
/** When the machine has less, runs end, however little they use themselves. */
export const machineMemoryFloorBytes = 256 * 2 ** 20
export const machineDiskFloorBytes = 512 * 2 ** 20
/** So many looks in a row, a program may have files where the server cannot measure them. */
export const maxPartialLooks = 10

/** An amount as a model reads it. */
export const megabytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MB`
