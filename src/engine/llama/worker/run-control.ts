import type { Command } from '../channel/ipc.ts'

export type RunCommand = Extract<Command, { type: 'run' }>

/** How a run is steered from outside while it goes on. */
export type RunControl = {
  readonly cancelled: () => boolean
  /** While the reader is behind: resolves when it has caught up. */
  readonly whenWanted: () => Promise<void> | undefined
}
