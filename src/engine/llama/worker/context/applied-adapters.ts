import type { LoadOptions } from '../../channel/ipc.ts'

type LoadedAdapters = NonNullable<LoadOptions['adapters']>

/** The adapters that change what the model computes. Those of scale 0 are for requests that name them, which this engine refuses. */
export function appliedAdapters(adapters: LoadedAdapters): LoadedAdapters {
  return adapters.filter(({ scale }) => scale !== 0)
}
