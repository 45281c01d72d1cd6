/** The limits of one run of a program, and of what a session keeps. */
export type SandboxLimits = {
  /** The memory of all processes of a run together. */
  readonly memoryBytes: number
  /** The size of all files of a session together. */
  readonly diskBytes: number
  readonly fileBytes: number
  /** The CPU time of each process. */
  readonly cpuSeconds: number
  /** Processes and threads of a run. */
  readonly processes: number
}

/** Files and folders of a session. */
export const maxFiles = 10_000
/** Folders within folders. */
export const maxDepth = 64
/** The output after which a run is ended: nobody reads more. */
export const maxOutputBytes = 4 * 2 ** 20
/** A run that writes this many times its disk limit, by overwriting or into deleted files, is ended. */
export const writtenPerDisk = 4
/** The size of `/tmp` and of shared memory, each of which is memory. */
export const temporaryBytes = 64 * 2 ** 20
export const openFiles = 256
/** The address space that programs may reserve without using it. */
export const addressSpaceBytes = 64 * 2 ** 30
/** When the machine has less free memory, runs end, however little they use themselves. */
export const machineMemoryFloorBytes = 256 * 2 ** 20
export const machineDiskFloorBytes = 512 * 2 ** 20
/** How many consecutive looks a program may have files where the server cannot measure them. */
export const maxPartialLooks = 10

/** An amount in the form that models read. */
export const megabytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MB`
