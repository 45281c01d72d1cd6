/** The control of a run from outside. */
export type RunControl = {
  readonly cancelled: () => boolean
  /** While the reader is slow, a promise that resolves when it has caught up. */
  readonly paused: () => Promise<void> | undefined
}
